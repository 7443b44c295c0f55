"""Which lines of a file to show: a run of them, or the block around one of them, found by its indentation.

The block grows from an anchor line, one line up and one line down in turn. How deep a line is counts in steps of four
columns (a tab is one step); an empty line is as deep as the line before it. With `max_levels` n the block may come out
n steps above the anchor, with 0 all the way to the margin. Lines at that outermost depth are where neighbours begin,
so unless siblings are wanted only the first of them is taken on either side: the header above, the closing bracket or
the next header below. Comments that stand above the header come along if the header's company is wanted.

An excerpt is what the model reads: the lines with their numbers, and above them what is not shown. A model that does
not know that there is more takes the excerpt for the whole, so the note says exactly which lines these are, how many
there are, and how to get the next ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import overload

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


_STEP = 4
_STRETCH = 16 * 1024
_MAX_BLANK = 1_000
_COMMENTS = ("#", "//", "--", "/*", "*", "'''", '"""')


def split_lines(text: str) -> list[str]:
    """The lines of a text without their endings; a final line ending opens no further line.

    Lines end in LF or CRLF; a lone CR ends a line only where no LF is used at all. Nothing else does, form feeds and
    U+2028 included, so that line numbers agree with those of git, compilers and editors.
    """
    if "\n" not in text and "\r" in text:
        lines = text.split("\r")
    else:
        lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


class TextLines(Sequence[str]):
    """The lines of a text as `split_lines` has them, cut out when they are looked at.

    A list of all lines would take thirty times the memory of the text. Instead the line ends are counted once, by
    stretches of the text, so that any line is found by looking through one stretch.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = "\r" if "\n" not in text and "\r" in text else "\n"
        counts = (text.count(self._end, at, at + _STRETCH) for at in range(0, len(text), _STRETCH))
        self._before = [0, *accumulate(counts)]
        """Line ends before each stretch."""
        last = text[text.rfind(self._end) + 1 :] if self._before[-1] else text
        self._length = self._before[-1] + (last not in ("", "\r"))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, int):
            at = range(self._length)[index]
            return self[at : at + 1][0]
        first, last, step = index.indices(self._length)
        if first >= last or step != 1:
            return [self[at] for at in range(first, last, step)]
        text = self._text[self._start(first) : self._start(last) - 1 if last <= self._before[-1] else None]
        return [line.removesuffix("\r") for line in text.split(self._end)[: last - first]]

    def _start(self, line: int) -> int:
        """Where in the text a line begins: behind the line end before it."""
        if not line:
            return 0
        stretch = bisect_left(self._before, line) - 1
        at = stretch * _STRETCH
        for _ in range(line - self._before[stretch]):
            at = self._text.index(self._end, at) + 1
        return at


def line_endings(text: str) -> str:
    """How the lines end, if that is worth a word: "" for LF."""
    pairs = text.count("\r\n")
    counts = {"CRLF": pairs, "LF": text.count("\n") - pairs, "CR": text.count("\r") - pairs}
    used = [name for name, count in counts.items() if count]
    if len(used) > 1:
        return f"mixed ({', '.join(f'{counts[name]:,} {name}' for name in used)})"
    return "" if used == ["LF"] else "".join(used)


@dataclass(frozen=True, slots=True)
class Span:
    """Lines first to last, counted from 1 and both included. `cut` says that the limit ended it, not the file."""

    first: int
    last: int
    cut: bool

    def of(self, lines: Sequence[str]) -> Sequence[str]:
        return lines[self.first - 1 : self.last]


def slice_lines(total: int, offset: int, limit: int) -> Span | None:
    """`limit` lines from line `offset` on; None if the file ends before that."""
    if not 1 <= offset <= total:
        return None
    last = min(total, offset + limit - 1)
    return Span(offset, last, last < total)


def depth_of(line: str) -> int:
    """How many steps the line is indented."""
    margin = line[: len(line) - len(line.lstrip())]
    return sum(_STEP if character == "\t" else 1 for character in margin) // _STEP


def effective_depths(lines: Sequence[str]) -> list[int]:
    """How deep each line is, empty ones as deep as the line before them."""
    depths, depth = [], 0
    for line in lines:
        depth = depth_of(line) if line.strip() else depth
        depths.append(depth)
    return depths


@dataclass(frozen=True, slots=True)
class BlockOptions:
    """How much of the neighbourhood belongs to a block."""

    max_levels: int = 0
    include_siblings: bool = False
    include_header: bool = True


def block_around(lines: Sequence[str], anchor: int, limit: int, options: BlockOptions) -> Span | None:
    """The block around line `anchor`, at most `limit` lines; None if the file has no such line."""
    if not 1 <= anchor <= len(lines):
        return None
    if limit <= 1:
        return Span(anchor, anchor, len(lines) > 1)
    first = _window_start(lines, max(0, anchor - 1 - limit))
    growth = _Growth(lines[first : anchor + limit], anchor - 1 - first, options)
    span = growth.span(min(limit, len(lines)))
    return Span(span.first + first, span.last + first, span.cut)


def _window_start(lines: Sequence[str], first: int) -> int:
    """A line before which nothing matters: an empty line is as deep as the last one above it that is not empty."""
    for _ in range(_MAX_BLANK):
        if not first or lines[first].strip():
            break
        first -= 1
    return first


class _Growth:
    def __init__(self, lines: Sequence[str], anchor: int, options: BlockOptions) -> None:
        self._lines = lines
        self._depths = effective_depths(lines)
        self._options = options
        self._floor = max(0, self._depths[anchor] - options.max_levels) if options.max_levels else 0
        self._up, self._down = anchor - 1, anchor + 1
        self._up_open = self._down_open = True
        self._outermost_above = self._outermost_below = 0

    def span(self, limit: int) -> Span:
        while self._size < limit and (self._up_open or self._down_open):
            self._grow_up()
            if self._size < limit:
                self._grow_down()
        cut = self._size >= limit and (self._may_grow_up() or self._may_grow_down())
        return self._without_blank_edges(cut)

    @property
    def _size(self) -> int:
        return self._down - self._up - 1

    def _grow_up(self) -> None:
        self._up_open = self._up_open and self._may_grow_up()
        if self._up_open:
            self._outermost_above += self._depths[self._up] == self._floor
            self._up -= 1

    def _grow_down(self) -> None:
        self._down_open = self._down_open and self._may_grow_down()
        if self._down_open:
            self._outermost_below += self._depths[self._down] == self._floor
            self._down += 1

    def _may_grow_up(self) -> bool:
        if self._up < 0 or self._depths[self._up] < self._floor:
            return False
        if self._depths[self._up] > self._floor or self._options.include_siblings or not self._outermost_above:
            return True
        return self._options.include_header and self._lines[self._up].lstrip().startswith(_COMMENTS)

    def _may_grow_down(self) -> bool:
        if self._down >= len(self._lines) or self._depths[self._down] < self._floor:
            return False
        return self._depths[self._down] > self._floor or self._options.include_siblings or not self._outermost_below

    def _without_blank_edges(self, cut: bool) -> Span:
        first, last = self._up + 1, self._down - 1
        while first < last and not self._lines[first].strip():
            first += 1
        while last > first and not self._lines[last].strip():
            last -= 1
        return Span(first + 1, last + 1, cut)


MAX_CHARACTERS = 200_000
"""A whole excerpt ends before it gets larger, at the end of a line: 2,000 long lines would fill a model's context."""
_NAMED_LINES = 10


def excerpt(lines: Sequence[str], span: Span, limit: int) -> str:
    """The lines of the span under a note, if there is something to note."""
    shown = span.of(lines)
    last = _last_shown(shown, span)
    shown = shown[: last - span.first + 1]
    notes = [
        *_more(span.first, last, len(lines), limit, cut=span.cut or last < span.last),
        *_cut_lines(shown, span.first),
    ]
    return "\n".join([*notes, *([""] if notes else []), number_lines(shown, span.first, max_length=MAX_LINE)])


def _last_shown(shown: Sequence[str], span: Span) -> int:
    room = MAX_CHARACTERS
    for number, line in enumerate(shown, span.first):
        room -= min(len(line), MAX_LINE)
        if room < 0:
            return max(span.first, number - 1)
    return span.last


def _more(first: int, last: int, total: int, limit: int, *, cut: bool) -> list[str]:
    if not cut:
        return []
    note = f"Showing lines {first}-{last} of {total} total."
    if last < total:
        note += f" To read more, call read_file with offset={last + 1} and limit={limit}."
    return [note]


def _cut_lines(shown: Sequence[str], first: int) -> list[str]:
    long = [str(number) for number, line in enumerate(shown, first) if len(line) > MAX_LINE]
    if not long:
        return []
    named = ", ".join(long[:_NAMED_LINES]) + (", ..." if len(long) > _NAMED_LINES else "")
    return [f"Lines longer than {MAX_LINE:,} characters are cut and end in `...`: {named}."]
