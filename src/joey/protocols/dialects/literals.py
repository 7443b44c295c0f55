"""Literals as Python, JSON and Gemma write them, read as they come.

    [1, 2.5, True, null, 'it\\'s', {"a": None}]        Python and JSON, mixed as models mix them
    {k:<|"|>text<|"|>,l:[1,2],o:{a:true}}             Gemma: keys without quotes, strings between tokens

A reader is given a `Source` and reports each piece with its path. Strings grow as they come. What is no literal raises
LiteralError: the caller knows what that means where it stands.

Strings between tokens (`raw`) have no escapes, so that a token in the text is told from the closing one by what
follows: a comma, a closing bracket, or the next key. A whole call that is quoted in such a string is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from joey.protocols.dialects.source import Markers, Source, Wait
from joey.wire import ArgumentPath, JsonValue

MAX_DEPTH = 100
MAX_WORD = 4096
"""Characters of a name or number; Python reads no number of more than 4,300 digits."""
Piece: TypeAlias = Callable[[ArgumentPath, str, str, bool], None]

_WORD = re.compile(r"[^\s,\])}:=(\[{]*")
_BARE = re.compile(r"[^,\]}]*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_RUN = {quote: re.compile(rf"[^{quote}\\]*") for quote in "'\""}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "\n": ""}
_CODES = {"x": 2, "u": 4, "U": 8}
_AFTER_COMMA = re.compile(r"\s*(?::|,\s*(?:[A-Za-z_\"'\[{<]|-?[0-9])|[}\])]|[A-Za-z_]\w*\s*[:=])")


class LiteralError(Exception):
    """The text is no literal of the language."""


class LiteralReader:
    """Reads values. `raw`: tokens between which strings stand without escapes; `nesting` opens and closes a call."""

    def __init__(
        self,
        source: Source,
        piece: Piece,
        raw: Sequence[str] = (),
        nesting: tuple[Sequence[str], Sequence[str]] = ((), ()),
        grow: Callable[[ArgumentPath, str], None] | None = None,
    ) -> None:
        self._source, self._piece = source, piece
        self._raw = Markers(raw)
        self._tokens = tuple(raw)
        self._inside = Markers((*raw, *nesting[0], *nesting[1]))
        self._nesting = nesting
        self._depth = 0
        self._grow_quickly = grow

    def value(self, path: ArgumentPath) -> Wait[JsonValue]:
        yield from self.space()
        if self._tokens and (yield from self._source.here(self._raw)):
            return (yield from self.raw_string(path))
        first = yield from self._source.peek(1)
        if first == '"' or (first == "'" and not self._tokens):
            return (yield from self._strings(path))
        if first in ("r", "R") and not self._tokens and (yield from self._source.peek(2))[1:] in ("'", '"'):
            self.skip(1)
            return (yield from self.string(path, escapes=False))
        if first in ("[", "(", "{"):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise LiteralError(f"it is nested deeper than {MAX_DEPTH} levels")
            found = yield from (self._object(path) if first == "{" else self._list(path))
            self._depth -= 1
            return found
        return (yield from self._scalar(path))

    def space(self) -> Wait[None]:
        end = yield from self._source.space()
        self.skip(end)

    def skip(self, length: int) -> str:
        """Take characters that are mere markup."""
        taken = self._source.take(length)
        if taken:
            self._piece((), "", taken, False)
        return taken

    # Containers

    def _list(self, path: ArgumentPath) -> Wait[JsonValue]:
        closing = "]" if self.skip(1) == "[" else ")"
        items: list[JsonValue] = []
        while True:
            yield from self.space()
            if (yield from self._source.peek(1)) == closing:
                self.skip(1)
                return items
            items.append((yield from self.value((*path, len(items)))))
            yield from self._separator(closing)

    def _object(self, path: ArgumentPath) -> Wait[JsonValue]:
        self.skip(1)
        return (yield from self.members(path, "}", ":"))

    def members(self, path: ArgumentPath, closing: str, equals: str) -> Wait[dict[str, JsonValue]]:
        """Keys and values up to the closing bracket, which is taken."""
        found: dict[str, JsonValue] = {}
        while True:
            yield from self.space()
            if (yield from self._source.peek(1)) == closing:
                self.skip(1)
                return found
            key = yield from self._key()
            yield from self.space()
            sign = yield from self._source.peek(1)
            if sign not in (":", "=") or (sign != equals and closing == "}" and not self._tokens):
                raise LiteralError(f"expected {equals!r} after {key!r}, got {sign!r}")
            self.skip(1)
            found[key] = yield from self.value((*path, key))
            yield from self._separator(closing)

    def _separator(self, closing: str) -> Wait[None]:
        yield from self.space()
        sign = yield from self._source.peek(1)
        if sign == ",":
            self.skip(1)
        elif sign != closing and not (self._tokens and sign.isidentifier()):
            raise LiteralError(f"expected ',' or {closing!r}, got {sign!r}")

    def _key(self) -> Wait[str]:
        if self._tokens and (yield from self._source.here(self._raw)):
            return str((yield from self.raw_string(())))
        first = yield from self._source.peek(1)
        if first in ("'", '"'):
            return str((yield from self.string(())))
        word = yield from self._run(_WORD)
        if not word:
            raise LiteralError(f"expected a name, got {first!r}")
        return word

    def _run(self, pattern: re.Pattern[str], limit: int = MAX_WORD) -> Wait[str]:
        """The text that a pattern takes here, which ends before the text does; taken."""
        source = self._source
        while True:
            match = pattern.match(source.text, source.at)
            end = match.end() if match else source.at
            if end < len(source.text) or end - source.at > limit or not (yield from source.more()):
                break
        if end - source.at > limit:
            raise LiteralError("a name or number is too long")
        return self.skip(end - source.at)

    # Scalars

    def _scalar(self, path: ArgumentPath) -> Wait[JsonValue]:
        source = self._source
        word = ""
        while True:  # looked at, and taken only when it is known what it is
            match = (_BARE if self._tokens else _WORD).match(source.text, source.at)
            word = match.group() if match else ""
            if source.at + len(word) < len(source.text) or len(word) > MAX_WORD or not (yield from source.more()):
                break
        if len(word) > MAX_WORD:
            raise LiteralError("a name or number is too long")
        plain = word.strip()
        value: JsonValue
        if plain in _CONSTANTS:
            value = _CONSTANTS[plain]
        elif _NUMBER.fullmatch(plain):
            value = number(plain)
        elif self._tokens and plain:
            source.at += len(word)
            self._piece(path, plain, word, False)
            return plain
        else:
            raise LiteralError(f"expected a value, got {plain[:40]!r}")
        source.at += len(word)
        self._piece(path, _json_scalar(value), word, True)
        return value

    def _strings(self, path: ArgumentPath) -> Wait[str]:
        """A string, or several that stand beside each other, as Python joins them."""
        text = yield from self.string(path)
        while not self._tokens:
            start = yield from self._source.space()
            if (yield from self._source.peek(1, start)) not in ("'", '"'):
                break
            self.skip(start)
            text += yield from self.string(path)
        return text

    def string(self, path: ArgumentPath, *, escapes: bool = True) -> Wait[str]:
        """A string in quotes."""
        source = self._source
        quote = yield from source.peek(1)
        if (yield from source.peek(3)) == quote * 3:
            return (yield from self._long_string(path, quote * 3))
        self._piece(path, "", source.take(1), False)
        parts: list[str] = []

        grow = self._grow_quickly or (lambda path, piece: self._piece(path, piece, piece, False))

        def quick(piece: str) -> bool:
            if quote in piece or "\\" in piece:
                return False
            source.scanned += len(piece)
            parts.append(piece)
            grow(path, piece)
            return True

        while True:
            match = _RUN[quote].match(source.text, source.at)
            stop = match.end() if match else source.at
            self._grow(path, stop, parts)
            if source.at == len(source.text):
                if not (yield from source.more(quick)):
                    raise LiteralError("a string does not end")
            elif source.text[source.at] == quote:
                self.skip(1)
                return _joined(parts)
            else:
                raw, decoded = yield from self._escape()
                decoded = decoded if escapes else raw
                parts.append(decoded)
                self._piece(path, decoded, raw, False)

    def _long_string(self, path: ArgumentPath, quotes: str) -> Wait[str]:
        self._piece(path, "", self._source.take(3), False)
        parts: list[str] = []

        def give(text: str) -> None:
            parts.append(text)
            self._piece(path, text, text, False)

        ends = Markers((quotes, "\\"))
        while True:
            found = yield from self._source.until(ends, give)
            if found is None:
                raise LiteralError("a string does not end")
            if found == quotes:
                self._piece((), "", found, False)
                return _joined(parts)
            self._source.unread("\\")
            raw, decoded = yield from self._escape()
            parts.append(decoded)
            self._piece(path, decoded, raw, False)

    def _grow(self, path: ArgumentPath, stop: int, parts: list[str]) -> None:
        text = self._source.take(stop - self._source.at)
        if text:
            parts.append(text)
            self._piece(path, text, text, False)

    def _escape(self) -> Wait[tuple[str, str]]:
        """An escape: as it is written, and what it means. Halves of a surrogate pair are read together."""
        source = self._source
        two = yield from source.peek(2)
        if len(two) < 2:
            raise LiteralError("a string does not end")
        digits = _CODES.get(two[1], 0)
        code = (yield from source.peek(digits, 2)) if digits else ""
        if digits and len(code) == digits and all(char in "0123456789abcdefABCDEF" for char in code):
            number_ = int(code, 16)
            if two[1] == "u" and 0xD800 <= number_ < 0xDC00:
                low = yield from source.peek(6, 6)
                if re.fullmatch(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", low):
                    pair = 0x10000 + ((number_ - 0xD800) << 10) + (int(low.removeprefix("\\u"), 16) - 0xDC00)
                    return source.take(12), chr(pair)
            return source.take(2 + digits), chr(number_) if number_ < 0x110000 else "\ufffd"
        raw = source.take(2)
        known = two[1] in _ESCAPES or two[1] in "\\'\"/"
        return raw, _ESCAPES.get(two[1], two[1]) if known else raw

    def raw_string(self, path: ArgumentPath) -> Wait[str]:
        """A string between two tokens."""
        source = self._source
        opening = yield from source.here(self._raw)
        assert opening is not None
        self._piece(path, "", source.take(len(opening)), False)
        parts: list[str] = []

        def give(text: str) -> None:
            parts.append(text)
            self._piece(path, text, text, False)

        nested = 0
        while True:
            found = yield from source.until(self._inside, give)
            if found is None:
                raise LiteralError("a string does not end")
            if found in self._nesting[0]:
                nested += yield from self._quotes_call()
            elif found in self._nesting[1]:
                nested -= nested > 0
            elif not nested and (yield from self._ends_here()):
                self._piece((), "", found, False)
                return "".join(parts)
            give(found)

    def _quotes_call(self) -> Wait[bool]:
        ahead = yield from self._source.peek(80)
        return re.match(r"(?:call:)?[\w.:-]+\{", ahead) is not None

    def _ends_here(self) -> Wait[bool]:
        start = yield from self._source.space()
        ahead = yield from self._source.peek(64, start)
        return _AFTER_COMMA.match(ahead) is not None or not ahead


def number(text: str) -> JsonValue:
    """A number, whole if it is written so."""
    if not set(".eE") & set(text):
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise LiteralError(f"the number {text[:40]} is too large")
    return value


def _json_scalar(value: JsonValue) -> str:
    return (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else repr(value)
    )


def _joined(parts: list[str]) -> str:
    return "".join(parts)


def _unheard(*_: object) -> None:
    """Where nobody wants the pieces."""


def read_literal(text: str) -> tuple[bool, JsonValue]:
    """A whole text as one literal of Python or JSON; whether it is one, and its value."""
    source = Source()
    source.feed(text)
    source.end()
    reader = LiteralReader(source, _unheard)
    steps = _whole(reader, source)
    try:
        next(steps)
    except StopIteration as done:
        found: tuple[bool, JsonValue] = done.value
        return found
    return False, None


def _whole(reader: LiteralReader, source: Source) -> Wait[tuple[bool, JsonValue]]:
    try:
        value = yield from reader.value(())
        rest = yield from source.space()
    except (LiteralError, ValueError, OverflowError):
        return False, None
    return source.at + rest == len(source.text), value
