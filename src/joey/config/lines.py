"""Where each setting stands in a TOML file. TOML readers keep no lines, so they are found here by the names on them.

Only what is written on lines of its own is found: a header, or a key left of `=`. A setting inside an inline table is
reported at the line of its table, or the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
"""The parts of a dotted name: `prices."gpt-5.2"` has two."""

_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that names something: a table, or a key with the table it is in. Counted from 0."""

    number: int
    path: Path
    is_header: bool


class Lines:
    """The lines of a TOML file that name something, found in one pass."""

    def __init__(self, text: str) -> None:
        self.texts = text.splitlines()
        self._named: list[Line] = []
        self._first: dict[Path, int] = {}
        table: Path = ()
        for number, line in enumerate(self.texts):
            if line.lstrip().startswith("#"):
                continue
            header = _HEADER.match(line)
            path = _parts(header[1]) if header else (*table, *_parts(left_of_equals(line)))
            table = path if header else table
            if header or path != table:
                self._note(Line(number, path, is_header=bool(header)))

    def _note(self, line: Line) -> None:
        self._named.append(line)
        for length in range(1, len(line.path) + 1):
            self._first.setdefault(line.path[:length], line.number)

    def number_of(self, path: Path) -> int:
        """The line that a setting is on, counted from 1 as people do."""
        return self._first.get(path, self._first.get(path[:1], 0)) + 1

    def key(self, path: Path) -> int | None:
        """The line with this key left of `=`."""
        return next((line.number for line in self._named if line.path == path and not line.is_header), None)

    def table(self, path: Path) -> tuple[int, int] | None:
        """The lines of a table without its header, or those before the first header."""
        headers = [line for line in self._named if line.is_header]
        starts = [0] if not path else [line.number + 1 for line in headers if line.path == path]
        if not starts:
            return None
        return starts[0], next((line.number for line in headers if line.number >= starts[0]), len(self.texts))


def left_of_equals(line: str) -> str:
    left, equals, _ = line.partition("=")
    return left if equals else ""


def _parts(written: str) -> Path:
    return tuple(first or second or third for first, second, third in _PART.findall(written))
