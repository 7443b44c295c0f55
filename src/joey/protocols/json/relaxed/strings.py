"""The tokens of relaxed JSON, and a string of it that comes in pieces, decoded as far as it is certain.

What a later piece may still change waits in `tail`: an escape that is cut in two, or the first half of a surrogate pair
that is written as escapes, at most eleven characters. Whoever reads on puts the tail before the next piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from joey.wire import JsonValue

JSON_SPACE = re.compile(r"[ \t\n\r]*")
SPACES = " \t\n\r\v\f\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
ANY_SPACE = re.compile(f"[{SPACES}]*")
WORD_RUN = re.compile(r"[$A-Za-z0-9_\-+.*?!|&%^#\\]*")  # and the slash, which may begin a comment
ATOM = re.compile(r"true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
JSON_ATOM = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
FENCE_RUN = re.compile(r"[`A-Za-z]*")
LINE_END = re.compile(r"[\r\n]")
CONTROL = re.compile(r"[\x00-\x1f]")

# As much of a string as is certain. The group holds the last escape and what follows it.
_ESCAPED = r"\\(?:u[0-9a-fA-F]{4}|[^u])"
STRING_RUN = {quote: re.compile(rf"[^{quote}\\]*({_ESCAPED}[^{quote}\\]*)*", re.DOTALL) for quote in "\"'"}
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|.)", re.DOTALL)
CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
HIGH_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
PLAIN_ESCAPE = re.compile(r'\\(["\\/bfnrt])')
PLAINLY_ESCAPED = re.compile(r'[^"\\]*(?:\\["\\/bfnrt][^"\\]*)*')
ESCAPES = {"\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def space_without(stops: str | None) -> re.Pattern[str]:
    """The spaces that may be passed over: not those that may begin a tag."""
    if stops is None or not set(stops) & set(SPACES):
        return ANY_SPACE
    return re.compile(f"[{''.join(sorted(set(SPACES) - set(stops)))}]*")


def match_end(pattern: re.Pattern[str], text: str, position: int, end: int) -> int:
    match = pattern.match(text, position, end)
    return match.end() if match else position


def plain_unescape(match: re.Match[str]) -> str:
    return ESCAPES.get(match.group(1), '"')


def atom_value(word: str) -> JsonValue:
    if word in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[word]
    if word.lstrip("-").isdigit():
        try:
            return int(word)
        except ValueError:  # Python refuses to read thousands of digits
            return None
    return float(word)


def copy_of(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: copy_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_of(item) for item in value]
    return value


def shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


class StringReader:
    """Reads one string after another. `note` gets what was repaired, if `repair` allows it; else it is a `fault`."""

    __slots__ = ("_note", "_parts", "_quote", "_repair", "fault", "tail")

    def __init__(self, repair: bool, note: Callable[[str], None]) -> None:
        self.tail = ""
        self.fault: str | None = None
        self._repair, self._note = repair, note
        self._parts: list[str] = []
        self._quote = '"'

    @property
    def text(self) -> str:
        """The string so far."""
        return "".join(self._parts)

    def begin(self, quote: str) -> None:
        """The opening quote was read."""
        self._quote = quote
        self._parts = []

    def take(self, text: str) -> str | None:
        """What a piece without quotes and odd characters adds to the string; None if it must be read with `read`."""
        if self.tail or not text.isprintable():
            return None
        added = text
        if "\\" in text:
            if self._quote != '"' or not PLAINLY_ESCAPED.fullmatch(text):
                return None
            added = PLAIN_ESCAPE.sub(plain_unescape, text)
        elif self._quote in text:
            return None
        self._parts.append(added)
        return added

    def read(self, text: str, position: int, end: int) -> tuple[str, int, bool]:
        """Read on: what it adds to the string, how far it went, and whether the string was closed there."""
        run = STRING_RUN[self._quote].match(text, position, end)
        assert run is not None, "a run may be empty"
        stop = run.end()
        closed = stop < end and text[stop] == self._quote
        certain = stop if closed else self._hold_back(text, stop, end, run.group(1))
        added = self._decode(text[position:certain])
        if closed:
            stop += 1
        elif self.tail:
            stop = end
        elif stop < end:  # a \\u that is no escape
            added += self._odd_escape("u")
            stop += 2
        if added:
            self._parts.append(added)
        return added, stop, closed

    def _hold_back(self, text: str, stop: int, end: int, last: str | None) -> int:
        """Where the certain part of an open string ends; the rest becomes the tail."""
        if stop < end and not CUT_ESCAPE.match(text, stop, end):
            return stop
        certain = stop
        if last is not None and HIGH_HALF.fullmatch(last):
            certain -= len(last)
        self.tail = text[certain:end]
        return certain

    def _decode(self, segment: str) -> str:
        if not segment.isprintable() and CONTROL.search(segment):
            if not self._repair:
                self.fault = "a control character in a string, which must be escaped,"
            self._note("control characters in a string")
        return ESCAPE.sub(self._unescape, segment) if "\\" in segment else segment

    def _unescape(self, match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape in ESCAPES:
            return ESCAPES[escape]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if len(escape) == 11:
            return str(json.loads(f'"\\{escape}"'))
        return escape if escape == self._quote else self._odd_escape(escape)

    def _odd_escape(self, escape: str) -> str:
        """The character itself: the backslash is dropped."""
        if not self._repair:
            what = "four hexadecimal digits are missing after" if escape == "u" else "JSON has no escape"
            self.fault = self.fault or f"{what} {shorten(chr(92) + escape)}"
        self._note("an escape that JSON does not know")
        return escape
