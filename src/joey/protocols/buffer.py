"""A text buffer that never gives away half a tag and never scans a character twice.

`TagScanner` gets text and finds the next of a set of literal tags. It answers with the text before the tag
as soon as that text cannot be part of a tag, and holds back only a suffix that is a true prefix of one.

How: a tag begins with its first character (`<` for most), so a piece without such a character goes through at once.
Otherwise the leftmost complete tag is looked for, and the leftmost suffix that could still grow into a tag. If that
suffix begins no later than the tag, the scanner waits: the next characters may turn it into an earlier tag, or into
a longer one at the same place (`<a>` and `<a>b`). So the answer does not depend on how the text is cut. What was
released is dropped at once: the buffer never holds more than the longest tag plus one chunk, and no character is
looked at more often than the longest tag is long.

Deliberately not handled: attributes, white space inside tags, case. A protocol that allows them scans for the
opening character alone and reads the rest itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Scanned(NamedTuple):
    """`before` is plain text that may be given away; `tag` the tag that follows it, or None if none is complete yet."""

    before: str
    tag: str | None


class TagScanner:
    """Finds literal tags in text that comes in pieces. `scanned` counts the characters looked at, for the tests."""

    __slots__ = ("_at", "_first", "_firsts", "_max_length", "_pattern", "_prefixes", "_text", "scanned")

    def __init__(self, tags: Iterable[str]) -> None:
        self._text = ""
        self._at = 0  # what lies before was given away
        self.scanned = 0
        self.watch(tags)

    def watch(self, tags: Iterable[str]) -> None:
        """Look for these tags from here on. Of two that match at one place the longer wins."""
        ordered = sorted(set(tags), key=len, reverse=True)
        if not all(ordered):
            raise ValueError("an empty tag matches everywhere")
        self._max_length = len(ordered[0]) if ordered else 0
        self._pattern = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
        self._prefixes = {tag[:end] for tag in ordered for end in range(1, len(tag))}
        firsts = "".join(sorted({tag[0] for tag in ordered}))
        self._firsts = re.compile(f"[{re.escape(firsts)}]" if firsts else r"(?!)")
        self._first = firsts if len(firsts) == 1 else None

    def feed(self, text: str) -> None:
        held = self.rest()
        self._text = held + text if held else text

    def is_plain(self, text: str) -> bool:
        """Whether this piece, if it came next, would go through whole. The quick way; needs no `feed`."""
        if self._text:
            return False
        self.scanned += len(text)
        return self._first not in text if self._first is not None else self._firsts.search(text) is None

    def next(self, *, last: bool = False) -> Scanned:
        """The next stretch of text and the tag that ends it. Call until `tag` is None, then feed more.

        With `last`, nothing more will come: nothing is held back.
        """
        text, start = self._text, self._at
        keep = len(text) if last else self._partial_tag(text)
        match = self._pattern.search(text, start)
        if match and match.start() < keep:
            self._at = match.end()
            self.scanned += match.end() - start
            return Scanned(text[start : match.start()], match.group())
        self.scanned += len(text) - start
        self._text, self._at = text[keep:], 0
        return Scanned(text[start:keep], None)

    def rest(self) -> str:
        """What is still held back; the buffer is empty afterwards."""
        text, self._text = self._text[self._at :], ""
        self._at = 0
        return text

    def _partial_tag(self, text: str) -> int:
        """Where the longest suffix begins that could grow into a tag, or a tag into a longer one."""
        for first in self._firsts.finditer(text, max(self._at, len(text) - self._max_length + 1)):
            if text[first.start() :] in self._prefixes:
                return first.start()
        return len(text)


def partial_suffix(text: str, tag: str) -> str:
    """The longest proper prefix of the tag that the text ends with."""
    start = text.find(tag[0], max(0, len(text) - len(tag) + 1))
    while start != -1:
        if tag.startswith(text[start:]):
            return text[start:]
        start = text.find(tag[0], start + 1)
    return ""


class Pieces:
    """A long text that comes in small pieces, kept without a million small strings and joined only on demand."""

    __slots__ = ("_blocks", "_fresh", "length")

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._fresh: list[str] = []
        self.length = 0

    def add(self, piece: str) -> None:
        self._fresh.append(piece)
        self.length += len(piece)
        if len(self._fresh) >= 512:
            self._blocks.append("".join(self._fresh))
            self._fresh.clear()

    def text(self) -> str:
        return "".join(self._blocks) + "".join(self._fresh)
