"""Colours in the output of commands: kept for people, left out for models.

A program selects colours with sequences (`ESC [ 31 m`) that hold until the next one. `Pen` follows them and has one
character for each look that occurred, so that a screen can keep a look for each column. What is painted with it stands
for itself: each stretch begins with all that it needs and ends with a reset, so lines can be left out and counted.
"""

from __future__ import annotations

import re
from copy import copy

COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
PLAIN = "\x00"
_RESET = "\x1b[0m"
_RUNS = re.compile(r"(.)\1*", re.DOTALL)
_SLOTS = {1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "reverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("under",), 27: ("reverse",), 29: ("strike",)}
_ENDS |= {39: ("fg",), 49: ("bg",)}
_MAX_LOOKS = 2_000
_MAX_NUMBERS = 32


def without_colours(text: str) -> str:
    return COLOUR.sub("", text) if "\x1b" in text else text


class Pen:
    """The look that a stream has selected, and those that it had before."""

    def __init__(self) -> None:
        self.look = PLAIN
        self._parts: dict[str, str] = {}
        self._looks = {"": PLAIN}
        self._sequences = {PLAIN: ""}

    def select(self, numbers: str) -> None:
        """Follow a sequence, by the numbers in it."""
        codes = [int(each) if each.isdecimal() and len(each) < 4 else 0 for each in re.split("[;:]", numbers)]
        at = 0
        while at < min(len(codes), _MAX_NUMBERS):
            at += self._take(codes[at:])
        sequence = ";".join(self._parts[name] for name in sorted(self._parts))
        if sequence not in self._looks and len(self._looks) < _MAX_LOOKS:
            self._looks[sequence] = mark = chr(len(self._looks))
            self._sequences[mark] = f"\x1b[{sequence}m"
        self.look = self._looks.get(sequence, PLAIN)

    def _take(self, codes: list[int]) -> int:
        """Follow the first code; how many numbers it took."""
        code = codes[0]
        if code in (38, 48):
            length = {5: 3, 2: 5}.get(codes[1] if len(codes) > 1 else 0, 1)
            if len(codes) >= length > 1:
                self._parts["fg" if code == 38 else "bg"] = ";".join(map(str, codes[:length]))
            return length
        if code == 0:
            self._parts = {}
        elif code in _SLOTS:
            self._parts[_SLOTS[code]] = str(code)
        elif code in _ENDS:
            for name in _ENDS[code]:
                self._parts.pop(name, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self._parts["fg"] = str(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self._parts["bg"] = str(code)
        return 1

    def painted(self, row: str, looks: str) -> str:
        """A row with its colours; `looks` has one character for each of its own, or fewer: the rest is plain."""
        if not looks:
            return row
        parts = []
        for run in _RUNS.finditer(looks):
            text = row[run.start() : run.end()]
            parts.append(f"{self._sequences[run[1]]}{text}{_RESET}" if text and run[1] != PLAIN else text)
        return "".join(parts) + row[len(looks) :]


def index_after(text: str, count: int) -> int:
    """Where so many characters end that are seen: colours do not count."""
    if "\x1b" not in text:
        return min(count, len(text))
    at = 0
    for found in COLOUR.finditer(text):
        if found.start() - at >= count:
            return at + count
        count -= found.start() - at
        at = found.end()
    return min(at + count, len(text))


class ColouredEnds:
    """The two ends of a long text, by the characters that are seen, and how much was between them."""

    def __init__(self, head: int, tail: int) -> None:
        self._room, self._limit = head, tail
        self._head = self._tail = ""
        self._omitted = 0

    def add(self, text: str) -> None:
        cut = index_after(text, self._room) if self._room else 0
        self._room -= len(without_colours(text[:cut]))
        self._head += text[:cut]
        self._tail += text[cut:]
        if len(self._tail) > 2 * self._limit:
            self._trim()

    def _trim(self) -> None:
        surplus = len(without_colours(self._tail)) - self._limit
        if surplus > 0:
            self._tail = self._tail[index_after(self._tail, surplus) :]
            self._omitted += surplus

    def with_end(self, text: str) -> tuple[str, str, int]:
        """The head, the tail, and how many characters are missing between them, if this text came last."""
        ends = copy(self)
        ends.add(text)
        return ends.closed()

    def closed(self) -> tuple[str, str, int]:
        """The head, the tail, and how many characters are missing between them, once no more text comes."""
        self._trim()
        head = self._head + (_RESET if "\x1b" in self._head and self._omitted else "")
        return head, self._tail, self._omitted
