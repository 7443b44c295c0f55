"""Regular expressions as GBNF, for text that stands inside a JSON string: a line break is written `\\n` there.

Understood: characters and escapes, `.`, classes, groups, alternatives, and `* + ? {m,n}`, greedy or not, which is the
same for a grammar. Anchors at the ends say nothing new. Anything else (look-around, back references, flags) is an
UnsupportedError: a grammar that admits something else would be worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from joey.protocols.grammar.gbnf import literal, none_of, one_of

_CONTROLS = "".join(map(chr, range(32)))
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_SPACES, _DIGITS = " \t\n\r\f\v", "0123456789"
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_SETS = {"s": _SPACES, "d": _DIGITS, "w": _WORD}
_BOUNDS = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")
_MAX_COPIES = 30


class UnsupportedError(ValueError):
    """This cannot be said as a grammar; the text says what."""


def text_in_json(text: str) -> str:
    """Exactly this text, as it stands inside a JSON string."""
    return literal(json.dumps(text, ensure_ascii=False)[1:-1]) if text else '""'


def any_of(chars: Iterable[str], *, negated: bool = False) -> str:
    """One of these characters, or one that is none of them, as it stands inside a JSON string."""
    named = set(chars)
    escapes = [literal(written) for char, written in _ESCAPED.items() if (char in named) != negated]
    if negated:
        plain = none_of("".join(sorted({*named, *_CONTROLS, '"', "\\"})))
    else:
        kept = sorted(named - set(_CONTROLS) - {'"', "\\"})
        plain = one_of("".join(kept)) if kept else ""
    parts = [each for each in (plain, *escapes) if each]
    if not parts:
        raise UnsupportedError("a class without a character that can be written")
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"


def regex_in_json(pattern: str) -> str:
    """What matches the whole pattern, as it stands inside a JSON string."""
    reader = _Reader(pattern)
    found = reader.alternatives()
    if not reader.done:
        raise UnsupportedError(f"a {reader.peek!r} that closes nothing in /{pattern}/")
    return found


class _Reader:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._pattern)

    @property
    def peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        if self.done:
            raise UnsupportedError(f"/{self._pattern}/ ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def alternatives(self) -> str:
        found = [self._sequence()]
        while self.peek == "|":
            self._next()
            found.append(self._sequence())
        return found[0] if len(found) == 1 else f"({' | '.join(found)})"

    def _sequence(self) -> str:
        parts: list[str] = []
        while not self.done and self.peek not in "|)":
            if self.peek in "^$":
                self._next()  # the whole text is matched anyway
            else:
                parts.append(self._repeated(self._atom()))
        return " ".join(parts) or '""'

    def _repeated(self, atom: str) -> str:
        if self.peek and self.peek in "*+?":
            sign = self._next()
        elif bounds := _BOUNDS.match(self._pattern, self._at):
            self._at = bounds.end()
            sign = _bounded(bounds)
        else:
            return atom
        if self.peek in ("?", "+"):  # lazy, or possessive
            self._next()
        return f"{atom}{sign}"

    def _atom(self) -> str:
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return any_of("\n", negated=True)
            case "\\":
                chars, negated = self._escape()
                return any_of(chars, negated=negated)
            case "*" | "+" | "?" | "{":
                raise UnsupportedError(f"a {char!r} that repeats nothing in /{self._pattern}/")
        return any_of(char)

    def _group(self) -> str:
        if self.peek == "?":
            self._next()
            if self._next() != ":":
                raise UnsupportedError(f"a special group in /{self._pattern}/")
        inner = self.alternatives()
        if self._next() != ")":
            raise UnsupportedError(f"an open group in /{self._pattern}/")
        return inner if inner.startswith("(") and inner.endswith(")") and "(" not in inner[1:] else f"({inner})"

    def _escape(self) -> tuple[str, bool]:
        char = self._next()
        if char.lower() in _SETS:
            return _SETS[char.lower()], char.isupper()
        if char in _NAMED:
            return _NAMED[char], False
        if char in ("x", "u"):
            digits = self._pattern[self._at : self._at + (2 if char == "x" else 4)]
            self._at += len(digits)
            return chr(int(digits, 16)), False
        if char.isalnum():
            raise UnsupportedError(f"\\{char} in /{self._pattern}/")
        return char, False

    def _class(self) -> str:
        negated = self.peek == "^"
        if negated:
            self._next()
        found: set[str] = set()
        everything = False
        first = True
        while first or self.peek != "]":
            first = False
            chars, outside = self._member()
            if outside:  # \S beside \s is everything; alone it is a negated class
                if negated or (found and not set(chars) <= found):
                    raise UnsupportedError(f"a mixed class in /{self._pattern}/")
                if not found:
                    found, negated = set(chars), True
                else:
                    everything = True
            elif negated and chars and everything is False and found and set(chars) == found:
                everything = True  # \S, then \s
            else:
                found |= set(chars)
        self._next()
        return any_of("", negated=True) if everything else any_of(found, negated=negated)

    def _member(self) -> tuple[str, bool]:
        char = self._next()
        chars, outside = self._escape() if char == "\\" else (char, False)
        following = self._pattern[self._at + 1 : self._at + 2]
        if self.peek != "-" or following in ("]", "") or outside or len(chars) != 1:
            return chars, outside
        self._next()
        end = self._next()
        last = self._escape()[0] if end == "\\" else end
        if ord(last) < ord(chars) or ord(last) - ord(chars) > 0x3000:
            raise UnsupportedError(f"the range {chars}-{last} in /{self._pattern}/")
        return "".join(map(chr, range(ord(chars), ord(last) + 1))), False


def _bounded(bounds: re.Match[str]) -> str:
    low, comma, high = int(bounds[1]), bounds[2], bounds[3]
    if comma and not high:
        return f"{{{min(low, _MAX_COPIES)},}}"
    bound = int(high) if comma else low
    return f"{{{low},{bound}}}" if bound <= _MAX_COPIES else f"{{{min(low, _MAX_COPIES)},}}"
