"""Values in brackets and quotes: `{lat: 1.5, tags: [a, "b c"]}`. JSON is such a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from joey.wire import JsonValue

_SPACE = re.compile(r"\s*")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_PLAIN = re.compile(r"(?:[^\s,\[\]{}:#]|:(?![\s,\[\]{}]|$)|(?<=\S)#|[ \t]+(?![\s,\[\]{}:#]))+")
_FOLD = re.compile(r"[ \t]*\n\s*")
MAX_DEPTH = 60


class FlowError(ValueError):
    """The text is no such value. `unfinished`: it may be the beginning of one."""

    def __init__(self, message: str, *, unfinished: bool = False) -> None:
        super().__init__(message)
        self.unfinished = unfinished


def read_flow(text: str, scalar: Callable[[str], JsonValue]) -> tuple[JsonValue, int]:
    """The value that a text begins with, and where it ends. `scalar` reads plain words."""
    return _Flow(text, scalar).value(0, 0)


class _Flow:
    def __init__(self, text: str, scalar: Callable[[str], JsonValue]) -> None:
        self._text, self._scalar = text, scalar

    def value(self, at: int, depth: int) -> tuple[JsonValue, int]:
        at = self._space(at)
        sign = self._text[at : at + 1]
        if depth > MAX_DEPTH:
            raise FlowError(f"it is nested deeper than {MAX_DEPTH} levels")
        if not sign:
            raise FlowError("a value is missing", unfinished=True)
        if sign == "{":
            return self._mapping(at + 1, depth)
        if sign == "[":
            return self._list(at + 1, depth)
        if sign in "\"'":
            return self._quoted(at)
        plain = _PLAIN.match(self._text, at)
        if not plain:
            raise FlowError(f"expected a value, got {sign!r}")
        return self._scalar(plain.group().strip()), plain.end()

    def _space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _quoted(self, at: int) -> tuple[str, int]:
        double = self._text[at] == '"'
        found = (_DOUBLE if double else _SINGLE).match(self._text, at)
        if not found:
            raise FlowError("a string does not end", unfinished=True)
        if not double:
            return _FOLD.sub(" ", found[1].replace("''", "'")), found.end()
        try:
            return str(json.loads(f'"{_FOLD.sub(" ", found[1])}"', strict=False)), found.end()
        except ValueError:
            raise FlowError(f"an escape cannot be read in {found[1][:40]!r}") from None

    def _list(self, at: int, depth: int) -> tuple[JsonValue, int]:
        items: list[JsonValue] = []
        while True:
            at = self._space(at)
            if self._text[at : at + 1] == "]":
                return items, at + 1
            item, at = self.value(at, depth + 1)
            items.append(item)
            at = self._separator(at, "]")

    def _mapping(self, at: int, depth: int) -> tuple[JsonValue, int]:
        found: dict[str, JsonValue] = {}
        while True:
            at = self._space(at)
            if self._text[at : at + 1] == "}":
                return found, at + 1
            key, at = self._key(at)
            at = self._space(at)
            if self._text[at : at + 1] != ":":
                raise FlowError(f"expected a colon behind {key!r}", unfinished=at >= len(self._text))
            if key in found:
                raise FlowError(f"the key {key!r} is given twice")
            found[key], at = self.value(at + 1, depth + 1)
            at = self._separator(at, "}")

    def _key(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] in ('"', "'"):
            return self._quoted(at)
        plain = _PLAIN.match(self._text, at)
        if not plain:
            raise FlowError("expected a key", unfinished=at >= len(self._text))
        return plain.group().strip(), plain.end()

    def _separator(self, at: int, closing: str) -> int:
        at = self._space(at)
        sign = self._text[at : at + 1]
        if sign == ",":
            return at + 1
        if sign != closing:
            raise FlowError(f"expected ',' or {closing!r}, got {sign!r}", unfinished=not sign)
        return at
