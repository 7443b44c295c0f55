"""Text that comes in pieces, for readers that are written as if it were all there.

A reader is a generator. Where the text ends it yields, and it goes on when more has come: `Wait[T]` is the type of such
a step with the answer T. So a grammar reads like a recursive descent parser, and yet every character is reported as
soon as it is certain.

Chunk-independent by construction: a step decides only by characters that it has waited for, never by where a piece
ended. Linear: `at` only moves forward, what lies before it is dropped with the next piece, and what is held back is
bounded (a marker, a header) or white space, whose pieces are only joined when something else comes.

Most pieces of a long text or value hold nothing that a reader looks for. While it waits inside one, `quick` takes such
a piece at once, without waking it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Wait: TypeAlias = Generator[None, None, T]
Give: TypeAlias = Callable[[str], None]

_SPACE = re.compile(r"[ \t\r\n]*")


class Markers:
    """A set of literal markers to look for. Of two at one place the longer wins."""

    __slots__ = ("_first", "_firsts", "_pattern", "_prefixes", "max_length", "words")

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(sorted({word for word in words if word}, key=len, reverse=True))
        self.max_length = len(self.words[0]) if self.words else 0
        self._pattern = re.compile("|".join(map(re.escape, self.words)) or r"(?!)")
        self._firsts = re.compile(
            f"[{re.escape(''.join({word[0] for word in self.words}))}]" if self.words else r"(?!)"
        )
        firsts = {word[0] for word in self.words}
        self._first = firsts.pop() if len(firsts) == 1 else None
        self._prefixes = frozenset(word[:end] for word in self.words for end in range(1, len(word)))

    def is_plain(self, text: str) -> bool:
        """Whether no marker begins in this text."""
        return self._first not in text if self._first is not None else self._firsts.search(text) is None

    def count(self, text: str) -> int:
        """How many markers stand in a text."""
        return sum(1 for _ in self._pattern.finditer(text))

    def find(self, text: str, at: int, last: bool) -> tuple[int, str | None]:
        """How far the text is certainly free of markers, and the marker that begins there, if it is whole."""
        match = self._pattern.search(text, at)
        keep = len(text) if last else self._partial(text, at)
        if match and match.start() < keep:
            return match.start(), match.group()
        return keep, None

    def find_before(self, text: str, at: int, end: int) -> tuple[int, str | None]:
        """The first marker that ends before this place, and where; the place itself if there is none."""
        match = self._pattern.search(text, at, end)
        return (match.start(), match.group()) if match else (end, None)

    def here(self, text: str, at: int, last: bool) -> tuple[str | None, bool]:
        """The marker at this very place, and whether that is certain."""
        match = self._pattern.match(text, at)
        certain = last or len(text) - at >= self.max_length or text[at:] not in self._prefixes
        return (match.group() if match else None), certain and (at < len(text) or last)

    def _partial(self, text: str, at: int) -> int:
        """Where the longest suffix begins that may grow into a marker, or into a longer one."""
        for first in self._firsts.finditer(text, max(at, len(text) - self.max_length + 1)):
            if text[first.start() :] in self._prefixes:
                return first.start()
        return len(text)


class Source:
    """The text of one reply. `scanned` counts the characters that were looked at, again or not, for the tests."""

    __slots__ = ("_before", "_new", "at", "ended", "quick", "scanned", "text")

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.ended = False
        self.scanned = 0
        self._before = 0  # how much came before the text that is kept
        self._new: list[str] = []
        self.quick: Callable[[str], bool] | None = None
        """Takes a piece that the waiting reader would only pass on; False if it must be woken."""

    # What the parser does

    def feed(self, piece: str) -> None:
        self._new.append(piece)

    def end(self) -> None:
        self.ended = True

    # What a reader does

    @property
    def last(self) -> bool:
        """Whether nothing will come after what is there."""
        return self.ended and not self._new

    @property
    def position(self) -> int:
        """How many characters were taken. Readers compare positions; those that `quick` takes count for none."""
        return self._before + self.at

    def more(self, quick: Callable[[str], bool] | None = None) -> Wait[bool]:
        """Wait for more text. False if there is none. `quick` may take pieces while nothing is held back."""
        if not self._new:
            if self.ended:
                return False
            if quick is not None and self.at == len(self.text):
                self.quick = quick
            yield
            self.quick = None
        return self._pull()

    def _pull(self) -> bool:
        if not self._new:
            return False
        self._before += self.at
        self.text = self.text[self.at :] + "".join(self._new)
        self.scanned += len(self.text)
        self.at = 0
        self._new.clear()
        return True

    def take(self, length: int) -> str:
        """The next characters, which are known to be there."""
        taken = self.text[self.at : self.at + length]
        self.at += len(taken)
        return taken

    def unread(self, text: str) -> None:
        """Put back what was taken last."""
        start = self.at - len(text)
        if start >= 0 and self.text.startswith(text, start):
            self.at = start
        else:
            self._before += start
            self.text, self.at = text + self.text[self.at :], 0

    def peek(self, length: int, offset: int = 0) -> Wait[str]:
        """The next characters, or as many of them as there are."""
        while len(self.text) - self.at < offset + length and (yield from self.more()):
            pass
        return self.text[self.at + offset : self.at + offset + length]

    def space(self, offset: int = 0) -> Wait[int]:
        """Where the white space ends that begins at this offset."""
        while True:
            match = _SPACE.match(self.text, self.at + offset)
            end = match.end() if match else self.at + offset
            if end < len(self.text):
                return end - self.at
            while not self.ended and (not self._new or self._new[-1].isspace()):
                yield
            if not self._pull():
                return end - self.at

    def here(self, markers: Markers, offset: int = 0) -> Wait[str | None]:
        """The marker that begins at this offset, not taken."""
        while True:
            found, certain = markers.here(self.text, self.at + offset, self.last)
            if certain or not (yield from self.more()):
                return found

    def after_space(self, markers: Markers, offset: int = 0) -> Wait[tuple[str | None, int]]:
        """The marker behind white space, and where it ends; not taken."""
        start = yield from self.space(offset)
        found = yield from self.here(markers, start)
        return found, start + len(found or "")

    def until(self, markers: Markers, give: Give, cut: Give | None = None) -> Wait[str | None]:
        """Give away the text up to the next marker and take that; None at the end of the text, where `cut` gets what
        may be the beginning of a marker."""

        def quick(piece: str) -> bool:
            plain = markers.is_plain(piece)
            if plain:
                self.scanned += len(piece)
                give(piece)
            return plain

        while True:
            last = self.last
            stop, found = markers.find(self.text, self.at, last)
            if last and found is None and cut is not None:
                stop, _ = markers.find(self.text, self.at, False)
            if stop > self.at:
                give(self.text[self.at : stop])
                self.at = stop
            if found is not None:
                self.at += len(found)
                return found
            if last:
                if self.at < len(self.text) and cut is not None:
                    cut(self.take(len(self.text)))
                return None
            yield from self.more(quick)

    def within(self, ends: Markers, limit: int, offset: int = 0) -> Wait[tuple[str, str | None]]:
        """A short text from an offset up to the first of these markers and that marker, not taken; None if it is not
        within reach."""
        while True:
            last = self.last
            start = self.at + offset
            reach = start + limit + ends.max_length  # what lies beyond is never looked at: markers may stand close by
            if len(self.text) >= reach:
                stop, found = ends.find_before(self.text, start, reach)
            else:
                stop, found = ends.find(self.text, start, last)
            if found is not None and stop - start <= limit:
                return self.text[start:stop], found
            if stop - start > limit or last:
                return "", None
            yield from self.more()
