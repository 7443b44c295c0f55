"""A text as lines and the ends between them.

Ends separate lines, they do not close them: `"a\n"` is the two lines `a` and the empty one, `"a"` is one line. So
the last line never has an end, a missing final newline is nothing special, and an edit that adds or removes it can
be written down like any other (by naming the empty last line).

A line end is `\r\n` or `\n`, or `\r` in a text that has no `\n`. Other characters that Unicode calls line breaks are
text. Each end is remembered, so that in a file with mixed ends every line outside an edit keeps its own; inside an
edit, a line that stays keeps its end and a new one takes that of its neighbour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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
        return Counter(self.ends).most_common(1)[0][0] if self.ends else "\n"

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

    def line_at(self, offset: int) -> int:
        """The index of the line in which this offset of `plain` lies."""
        return self._position(offset)[0]

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
        matcher = SequenceMatcher(None, self.lines[first:last], lines, autojunk=False)
        for _tag, old_start, old_stop, new_start, new_stop in matcher.get_opcodes():
            for index in range(new_stop - new_start):
                old = first + old_start + index
                if old < first + old_stop and old < len(self.ends):
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
