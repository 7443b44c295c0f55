"""Line numbers in front of lines, ` 9 | text`: put there for the model, and taken off again when it copies them."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_LINE = 2_000
"""Longer lines are cut when they are shown."""

_NUMBERED = re.compile(r"\s*\d+\s+\|(?!\|)")
_PREFIX = re.compile(r"\s*\d+\s+\|(?!\|)[^\S\r\n]?")
_LOOSE_PREFIX = re.compile(r"\s*(?:\d+\s)?\|[^\S\r\n]")


def number_lines(lines: Sequence[str], first: int = 1, *, max_length: int | None = None) -> str:
    """The lines with their numbers, right-aligned to the widest."""
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{first + index:>{width}} | {shorten(line, max_length)}" for index, line in enumerate(lines))


def shorten(line: str, max_length: int | None) -> str:
    """The line, cut and ending in `...` if it is longer than allowed."""
    return line if max_length is None or len(line) <= max_length else line[: max_length - 3] + "..."


def add_line_numbers(text: str, first: int = 1) -> str:
    """A text as numbered lines, each ended. An empty text has no lines, unless it stands in the middle of a file."""
    if not text:
        return "" if first == 1 else f"{first} | \n"
    return number_lines(text.removesuffix("\n").split("\n"), first) + "\n"


def has_line_numbers(text: str) -> bool:
    """Whether every line of the text begins with a line number."""
    return all(_NUMBERED.match(line) for line in text.split("\n"))


def strip_line_numbers(text: str, *, loosely: bool = False) -> str:
    """The text without the line numbers its lines begin with; `loosely` also takes a bare `| ` off."""
    prefix = _LOOSE_PREFIX if loosely else _PREFIX
    return "\n".join(_without(prefix, line) for line in text.split("\n"))


def _without(prefix: re.Pattern[str], line: str) -> str:
    found = prefix.match(line)
    return line[found.end() :] if found else line
