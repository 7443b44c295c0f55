"""A text as lines and the ends between them.

Ends separate lines, they do not close them: `"a\n"` is the two lines `a` and the empty one, `"a"` is one line. So
the last line never has an end, a missing final newline is nothing special, and an edit that adds or removes it can
be written down like any other (by naming the empty last line).

A line end is `\r\n` or `\n`, or `\r` in a text that has no `\n`. Other characters that Unicode calls line breaks are
text. Each end is remembered, so that in a file with mixed ends every line outside an edit keeps its own; inside an
edit, a line that stays keeps its end and a new one takes that of its neighbour.

Which lines of two texts belong together is found at a cost that stays small for large files. difflib is quadratic in
lines that repeat. An edit mostly leaves a long beginning and a long end as they were, so these are set aside first;
what is left is compared exactly if it is small, and otherwise with difflib's shortcut for lines that are everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal, NamedTuple

_SMALL = 1_000_000
"""As product of the two numbers of lines."""


class DiffPiece(NamedTuple):
    """The old lines from `old` up to `old_end`, and the new lines that stand for them."""

    kind: Literal["equal", "replace", "delete", "insert"]
    old: int
    old_end: int
    new: int
    new_end: int


def line_diff(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffPiece]:
    """The pieces that lead from the old lines to the new ones, in order, the equal ones included."""
    head = common_start(old, new)
    tail = common_start(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield DiffPiece("equal", 0, head, 0, head)
    middle, new_middle = old[head:old_end], new[head:new_end]
    matcher = SequenceMatcher(None, middle, new_middle, autojunk=len(middle) * len(new_middle) > _SMALL)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        yield DiffPiece(kind, first + head, last + head, new_first + head, new_last + head)
    if tail:
        yield DiffPiece("equal", old_end, len(old), new_end, len(new))


def changes(old: Sequence[str], new: Sequence[str]) -> list[DiffPiece]:
    """The pieces that differ."""
    return [piece for piece in line_diff(old, new) if piece.kind != "equal"]


def common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are equal at the beginning."""
    for at, (ours, theirs) in enumerate(zip(old, new, strict=False)):
        if ours != theirs:
            return at
    return min(len(old), len(new))


_END = re.compile(r"(\r\n|\n)")


@dataclass(frozen=True, slots=True)
class Document:
    """There is always one line more than there are ends."""

    lines: tuple[str, ...]
    ends: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Document:
        if "\n" not in text and "\r" in text:
            lines = text.split("\r")
            return cls(tuple(lines), ("\r",) * (len(lines) - 1))
        if "\r\n" not in text:
            lines = text.split("\n")
            return cls(tuple(lines), ("\n",) * (len(lines) - 1))
        pieces = _END.split(text)
        return cls(tuple(pieces[::2]), tuple(pieces[1::2]))

    @property
    def text(self) -> str:
        """The text with its own line ends."""
        return "".join(line + end for line, end in zip(self.lines, (*self.ends, ""), strict=True))

    @property
    def plain(self) -> str:
        """The text with `\n` for every line end."""
        return "\n".join(self.lines)

    @property
    def usual_end(self) -> str:
        """The end most lines have."""
        return max(self.ends, key=Counter(self.ends).__getitem__) if self.ends else "\n"

    def splice(self, first: int, last: int, lines: Sequence[str], ends: Sequence[str | None] | None = None) -> Document:
        """The document with the lines from `first` up to `last` replaced by others, or removed.

        `ends` says what comes after each new line; None stands for what the file uses there. After the last new
        line comes what came after the last old one, unless `ends` says otherwise.
        """
        before, after = self.lines[:first], self.lines[last:]
        if not lines and not after:
            return Document(before or ("",), self.ends[: max(first - 1, 0)])
        inner = self._ends_for(first, last, lines)
        chosen = [given or own for given, own in zip(ends or [None] * len(lines), inner, strict=True)]
        if not after:
            chosen[-1:] = []
        if first == len(self.lines):
            chosen[:0] = [self.usual_end]
        return Document((*before, *lines, *after), (*self.ends[:first], *chosen, *self.ends[last:]))

    def replace(self, start: int, stop: int, new: str, *, literal_ends: bool = False) -> Document:
        """The document with a span of `plain` replaced. Line ends in `new` are the file's unless they are literal."""
        first, column = self._position(start)
        last, last_column = self._position(stop)
        parts = new.split("\n")
        ends: list[str | None] = [None] * len(parts)
        if literal_ends:
            ends[:-1] = ["\r\n" if part.endswith("\r") else "\n" for part in parts[:-1]]
            parts[:-1] = [part.removesuffix("\r") for part in parts[:-1]]
        parts[0] = self.lines[first][:column] + parts[0]
        parts[-1] += self.lines[last][last_column:]
        return self.splice(first, last + 1, parts, ends)

    def replace_each(self, offsets: Sequence[int], length: int, new: str, *, literal_ends: bool = False) -> Document:
        """The document with several spans of one length, in order and apart from each other, replaced alike."""
        if not literal_ends and len(set(self.ends)) <= 1:
            plain, stops = self.plain, [0, *(offset + length for offset in offsets)]
            kept = [plain[stop:offset] for stop, offset in zip(stops, [*offsets, len(plain)], strict=True)]
            lines = new.join(kept).split("\n")
            return Document(tuple(lines), (self.usual_end,) * (len(lines) - 1))
        document = self
        for offset in reversed(offsets):  # so that the offsets before stay true
            document = document.replace(offset, offset + length, new, literal_ends=literal_ends)
        return document

    def lines_at(self, offsets: Iterable[int]) -> list[int]:
        """The indexes of the lines in which these offsets of `plain` lie."""
        starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        return [bisect_right(starts, offset) - 1 for offset in offsets]

    def _position(self, offset: int) -> tuple[int, int]:
        before = self.plain[:offset]
        return before.count("\n"), offset - (before.rfind("\n") + 1)

    def _ends_for(self, first: int, last: int, lines: Sequence[str]) -> list[str]:
        """The end after each new line, from the lines they replace; the last one's is that of the last old line."""
        nearby = self.ends[max(first - 1, 0) : last]
        if not lines:
            return []
        if len(set(nearby)) <= 1:
            return [nearby[0] if nearby else self.usual_end] * len(lines)
        chosen = self._aligned_ends(first, last, lines)
        if last <= len(self.ends):
            chosen[-1] = self.ends[last - 1] if last else self.usual_end
        return chosen

    def _aligned_ends(self, first: int, last: int, lines: Sequence[str]) -> list[str]:
        end = self.ends[first - 1] if first else self.ends[0]
        chosen: list[str] = []
        for piece in line_diff(self.lines[first:last], lines):
            for index in range(piece.new_end - piece.new):
                old = first + piece.old + index
                if old < first + piece.old_end and old < len(self.ends):
                    end = self.ends[old]
                chosen.append(end)
        return chosen


def with_ends_of(old: Document, new_text: str) -> Document:
    """A whole new text for a file: lines that stay keep their ends, others take those of the file.

    A text that names `\r\n` itself is taken as it stands.
    """
    if "\r" in new_text or not old.ends:
        return Document.read(new_text)
    lines = new_text.split("\n")
    if len(set(old.ends)) == 1:
        return Document(tuple(lines), old.ends[:1] * (len(lines) - 1))
    return old.splice(0, len(old.lines), lines)
