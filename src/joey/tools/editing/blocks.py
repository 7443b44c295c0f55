"""The SEARCH/REPLACE grammar of `apply_diff`.

    <<<<<<< SEARCH          a `>` may follow
    :start_line:12          optional, as are brackets around the number
    :end_line:15            optional, and ignored: the search lines say how many there are
    -------                 optional
    lines to find
    =======
    lines to put there
    >>>>>>> REPLACE

Markers stand at the beginning of a line; white space after them does not count. What is before, between and after
blocks is talk. A line of the file that looks like a marker (or begins with `<<<<<<<` or `>>>>>>>`) has a backslash
put before it; one backslash is taken away from every such line, so a line that has backslashes of its own there
gets one more. `escaped` does it.

The states are: outside a block, in SEARCH, in REPLACE. A marker that does not belong where it stands ends the
reading with an error; no block of such a diff is applied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

ErrorKind = Literal[
    "special_marker_unescaped", "malformed_block", "line_marker_in_replace", "unexpected_end", "invalid_format"
]

_SEARCH = re.compile(r"<<<<<<< SEARCH>?\s*$")
_SEPARATOR = re.compile(r"=======\s*$")
_REPLACE = re.compile(r">>>>>>> REPLACE\s*$")
_OTHER_MARKER = re.compile(r"<<<<<<<|>>>>>>>")
_LINE_MARKER = re.compile(r":(start|end)_line:\s*\[?\s*(\d+)\s*\]?\s*$")
_LINE_MARKER_START = re.compile(r"\s*(:start_line:|:end_line:)")
_RULE = re.compile(r"-------\s*$")
_LOOK = r"<<<<<<<|=======|>>>>>>>|-------|\s*:start_line:|\s*:end_line:"
_ESCAPED = re.compile(rf"\\+(?:{_LOOK})")
_LOOKS_LIKE_MARKER = re.compile(rf"\\*(?:{_LOOK})")

SHAPE = """<<<<<<< SEARCH
:start_line:12
-------
the lines as they are in the file
=======
the lines as they should be
>>>>>>> REPLACE"""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines to find and lines to put there. A line may end in a carriage return: then its end is `\\r\\n`."""

    search: tuple[str, ...]
    replace: tuple[str, ...]
    start_line: int | None = None
    """Where the search lines are said to begin, from 1."""


@dataclass(frozen=True, slots=True)
class BlockError:
    """Why a diff cannot be read, at which of its lines (from 1), and what to do about it."""

    kind: ErrorKind
    line: int
    message: str


def read_blocks(diff: str) -> tuple[Block, ...] | BlockError:
    """The blocks of a diff in their order, or the first thing that is wrong with it."""
    lines = diff.split("\n")
    # A diff that came with \r\n throughout has them from its transport: they say nothing about the file.
    if any(line.endswith("\r") for line in lines if _SEARCH.match(line)):
        lines = [line.removesuffix("\r") for line in lines]
    reader = _Reader(lines)
    for number, line in enumerate(lines, 1):
        error = reader.take(number, line)
        if error is not None:
            return error
    return reader.finish()


def escaped(line: str) -> str:
    """A line of a file as it goes into a block."""
    return "\\" + line if _LOOKS_LIKE_MARKER.match(line) else line


def format_block(block: Block) -> str:
    """A block as text, for whoever makes diffs rather than reads them."""
    pin = [] if block.start_line is None else [f":start_line:{block.start_line}", "-------"]
    body = [*pin, *map(escaped, block.search), "=======", *map(escaped, block.replace)]
    return "\n".join(["<<<<<<< SEARCH", *body, ">>>>>>> REPLACE"])


@dataclass(slots=True)
class _Reader:
    lines: Sequence[str]
    state: Literal["outside", "search", "replace"] = "outside"
    opened_at: int = 0
    start_line: int | None = None
    head: bool = False
    """Still where line markers may stand."""
    search: list[str] = field(default_factory=list)
    replace: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def take(self, number: int, line: str) -> BlockError | None:
        if _SEARCH.match(line):
            return self._open(number, line)
        if _SEPARATOR.match(line):
            return self._separate(number, line)
        if _REPLACE.match(line):
            return self._close(number, line)
        if _OTHER_MARKER.match(line):
            return self._unescaped(number, line)
        if self.state == "search":
            self._take_search(line)
        elif self.state == "replace":
            if marker := _LINE_MARKER_START.match(line):
                return _line_marker_in_replace(number, marker[1])
            self.replace.append(_unescaped_line(line))
        return None

    def finish(self) -> tuple[Block, ...] | BlockError:
        if self.state != "outside":
            missing = "=======" if self.state == "search" else ">>>>>>> REPLACE"
            return BlockError(
                "unexpected_end",
                len(self.lines),
                f"The diff ends inside the block that begins at its line {self.opened_at}: '{missing}' is missing. "
                f"If the diff was cut off, send fewer blocks at a time. A block looks like this:\n{SHAPE}",
            )
        if not self.blocks:
            return BlockError(
                "invalid_format", 1, f"The diff has no SEARCH/REPLACE block. One looks like this:\n{SHAPE}"
            )
        return tuple(self.blocks)

    def _open(self, number: int, line: str) -> BlockError | None:
        if self.state != "outside":
            expected = "=======" if self.state == "search" else ">>>>>>> REPLACE"
            return self._misplaced(number, line, expected)
        self.state, self.opened_at, self.head, self.start_line = "search", number, True, None
        self.search, self.replace = [], []
        return None

    def _separate(self, number: int, line: str) -> BlockError | None:
        if self.state != "search":
            expected = "<<<<<<< SEARCH" if self.state == "outside" else ">>>>>>> REPLACE"
            return self._misplaced(number, line, expected)
        self.state = "replace"
        return None

    def _close(self, number: int, line: str) -> BlockError | None:
        if self.state != "replace":
            expected = "<<<<<<< SEARCH" if self.state == "outside" else "======="
            return self._misplaced(number, line, expected)
        self.state = "outside"
        self.blocks.append(Block(tuple(self.search), tuple(self.replace), self.start_line))
        return None

    def _take_search(self, line: str) -> None:
        marker = _LINE_MARKER.match(line) if self.head else None
        if marker:
            if marker[1] == "start":
                self.start_line = int(marker[2])
            return
        if self.head and _RULE.match(line):
            self.head = False
            return
        self.head = False
        self.search.append(_unescaped_line(line))

    def _misplaced(self, number: int, line: str, expected: str) -> BlockError:
        """A marker in the wrong place: text of the file that was not escaped, or a block that lacks a part."""
        searches, separators, replaces = (
            sum(1 for each in self.lines if pattern.match(each)) for pattern in (_SEARCH, _SEPARATOR, _REPLACE)
        )
        if searches == replaces and separators >= searches:
            return self._unescaped(number, line)
        return BlockError(
            "malformed_block",
            number,
            f"Line {number} of the diff is '{line.strip()}' where '{expected}' was expected. "
            f"Every block needs its three markers, in this order:\n{SHAPE}",
        )

    def _unescaped(self, number: int, line: str) -> BlockError:
        shown = line.strip()
        return BlockError(
            "special_marker_unescaped",
            number,
            f"Line {number} of the diff, '{shown}', looks like a marker but is none that can stand there. "
            f"If it is text of the file, put a backslash before it: '\\{shown}'. "
            f"If it is meant as a marker, write it exactly as here:\n{SHAPE}",
        )


def _line_marker_in_replace(number: int, marker: str) -> BlockError:
    return BlockError(
        "line_marker_in_replace",
        number,
        f"Line {number} of the diff has '{marker}' in a REPLACE part. Line numbers belong directly below "
        f"'<<<<<<< SEARCH'. If it is text of the file, put a backslash before it: '\\{marker}'.",
    )


def _unescaped_line(line: str) -> str:
    return line[1:] if _ESCAPED.match(line) else line
