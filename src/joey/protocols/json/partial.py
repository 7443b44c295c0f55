"""The value of a JSON text that is not finished yet, as the `partial-json` package reads it.

Complete JSON gives its value. A cut text gives what is certain or nearly so: a cut string its characters so far, a cut
number the digits so far, a cut literal the literal (`t` is true), a cut object its complete members and the growing
one, once its value has begun. What is wrong inside an object or array ends it there; what follows the first value is
ignored. The recorded answers of that package are the specification, down to its habits: a colon is skipped, not
checked, and a missing comma only matters after a number.
"""

from __future__ import annotations

import json
import re
from typing import Any

from joey.wire import JsonValue

JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What JavaScript trims. Python's own strip also takes U+0085 and U+001C to U+001F, and leaves U+FEFF."""

_DEPTH = 200
_SPACE = re.compile(r"[ \n\r\t]*")
_STRING_END = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_NUMBER_END = re.compile(r"[^,\]}]*")
_LITERALS: tuple[tuple[str, JsonValue], ...] = (
    ("null", None),
    ("true", True),
    ("false", False),
    ("Infinity", float("inf")),
    ("-Infinity", float("-inf")),
    ("NaN", float("nan")),
)

_MISSING: Any = object()


class _NotJsonError(ValueError):
    """There is no value here, not even the beginning of one."""


def partial_value(text: str, default: Any = _MISSING) -> JsonValue:
    """The value so far. With nothing that could be one, `default`, or ValueError if there is none."""
    try:
        return _Partial(text.strip(JS_SPACE)).read()
    except ValueError as error:
        if default is _MISSING:
            raise ValueError(str(error) or "there is no value yet") from None
        return default


class _Partial:
    __slots__ = ("_depth", "_pos", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._pos = 0
        self._depth = 0

    def read(self) -> JsonValue:
        if not self._text:
            raise _NotJsonError("the text is empty")
        return self._any()

    def _any(self) -> JsonValue:
        self._skip_space()
        if self._pos >= len(self._text):
            raise _NotJsonError("the text ends where a value should begin")
        char = self._text[self._pos]
        if char == '"':
            return self._string()
        if char in "{[":
            return self._nested(char)
        for word, value in _LITERALS:
            if char == word[0] and self._literal(word):
                return value
        return self._number()

    def _nested(self, char: str) -> JsonValue:
        if self._depth >= _DEPTH:
            raise _NotJsonError(f"it is nested deeper than {_DEPTH} levels")
        self._depth += 1
        value = self._object() if char == "{" else self._array()
        self._depth -= 1
        return value

    def _object(self) -> dict[str, JsonValue]:
        members: dict[str, JsonValue] = {}
        depth = self._depth
        self._pos += 1
        self._skip_space()
        try:
            while self._char() != "}":
                self._skip_space()
                if self._pos >= len(self._text):
                    return members
                key = self._string()
                self._skip_space()
                self._pos += 1
                members[key] = self._any()
                self._skip_space()
                if self._char() == ",":
                    self._pos += 1
        except ValueError:
            self._depth = depth
            return members
        self._pos += 1
        return members

    def _array(self) -> list[JsonValue]:
        items: list[JsonValue] = []
        depth = self._depth
        self._pos += 1
        try:
            while self._char() != "]":
                items.append(self._any())
                self._skip_space()
                if self._char() == ",":
                    self._pos += 1
        except ValueError:
            self._depth = depth
            return items
        self._pos += 1
        return items

    def _string(self) -> str:
        text, start = self._text, self._pos
        # An object's key is read the same way, whatever it begins with.
        match = _STRING_END.match(text, min(start + 1, len(text)))
        assert match is not None
        stop = match.end()
        if stop < len(text) and text[stop] == '"':
            self._pos = stop + 1
            return _loads_string(text[start : stop + 1])
        self._pos = len(text)
        try:
            return _loads_string(text[start:stop] + '"')
        except ValueError:
            cut = text.rfind("\\")
            if cut < start:
                raise
            return _loads_string(text[start:cut] + '"')

    def _literal(self, word: str) -> bool:
        found = self._text[self._pos : self._pos + len(word)]
        rest_is_cut = self._pos + len(found) == len(self._text) and len(found) < len(word)
        # A lone minus may still become a number.
        if found == word or (rest_is_cut and word.startswith(found) and found != "-"):
            self._pos += len(found)
            return True
        return False

    def _number(self) -> JsonValue:
        text, start = self._text, self._pos
        match = _NUMBER_END.match(text, start)
        assert match is not None
        self._pos = stop = len(text) if start == 0 else match.end()
        try:
            return _loads_number(text[start:stop])
        except ValueError:
            if text[start:stop] == "-":
                raise
            cut = text.rfind("e")
            if cut < start:
                raise
            return _loads_number(text[start:cut])

    def _char(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._pos)
        if match:
            self._pos = match.end()


def _loads_string(token: str) -> str:
    value = json.loads(token)
    if not isinstance(value, str):
        raise _NotJsonError("a key must be a string")
    return value


def _loads_number(token: str) -> JsonValue:
    if token[:1] in "NI" or token[:2] == "-I":
        raise _NotJsonError("not a number")
    return json.loads(token)
