"""JSON, TOML and YAML that somebody else wrote, read within bounds.

Each reader takes text whose size is already bounded (`joey.bounded.files`) and raises FormatError, a ValueError with a
line, for whatever is wrong with it: not only for bad syntax, but also for what the standard readers answer with
RecursionError, with minutes of work or with gigabytes. A module each, so that nobody pays for a reader not used.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_DEPTH = 100
"""Levels of nesting. What people write has a handful."""


class FormatError(ValueError):
    """The text cannot be read as what it is supposed to be."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def too_deep(line: int = 1) -> FormatError:
    return FormatError(f"it is nested more than {MAX_DEPTH} levels deep; make it flatter", line)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file, and where."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"
