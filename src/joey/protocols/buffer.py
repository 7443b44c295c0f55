"""A text buffer that never gives away half a tag and never scans a character twice.

`TagScanner` is fed text and asked for the next of a set of literal tags. It answers with the text before the tag
as soon as that text cannot be part of a tag, and holds back only a suffix that is a true prefix of one.

How: a tag begins with its first character (`<` for most). The scanner looks for the next such character, compares
what follows with the tags, and remembers how far it has come. What was released is dropped at once, so the buffer
never holds more than the longest tag plus one chunk.

Deliberately not handled: attributes, white space inside tags, case. A protocol that allows them scans for the
opening character alone and reads the rest itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """`before` is plain text that may be given away; `tag` the tag that follows it, or None if none is complete yet."""

    before: str
    tag: str | None


class TagScanner:
    """Finds literal tags in text that comes in pieces. `scanned` counts the characters looked at, for the tests."""

    __slots__ = ("_pattern", "_prefixes", "_tags", "_text", "scanned")

    def __init__(self, tags: Iterable[str]) -> None:
        self._text = ""
        self.scanned = 0
        self.watch(tags)

    def watch(self, tags: Iterable[str]) -> None:
        """Look for these tags from here on. Of two that match at one place the longer wins."""
        self._tags = tuple(sorted(set(tags), key=len, reverse=True))
        if not all(self._tags):
            raise ValueError("an empty tag matches everywhere")
        self._pattern = re.compile("|".join(map(re.escape, self._tags)) or r"(?!)")
        self._prefixes = {tag[:end] for tag in self._tags for end in range(1, len(tag))}

    def feed(self, text: str) -> None:
        self._text = self._text + text if self._text else text

    def next(self) -> Found:
        """The next stretch of text and the tag that ends it. Call until `tag` is None, then feed more."""
        text = self._text
        match = self._pattern.search(text)
        if match:
            self._text = text[match.end() :]
            self.scanned += match.end()
            return Found(text[: match.start()], match.group())
        keep = self._partial_tag(text)
        self.scanned += len(text)
        self._text = text[keep:]
        return Found(text[:keep], None)

    def rest(self) -> str:
        """What is still held back; the buffer is empty afterwards."""
        text, self._text = self._text, ""
        return text

    def _partial_tag(self, text: str) -> int:
        """Where the longest suffix begins that could grow into a tag."""
        longest = len(self._tags[0]) if self._tags else 0
        for start in range(max(0, len(text) - longest + 1), len(text)):
            if text[start:] in self._prefixes:
                return start
        return len(text)


class Pieces:
    """A long text that comes in small pieces, kept without a million small strings and joined only when asked for."""

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
