"""Values that are written as text, typed by the schema.

A string stays as it stands: never null, never unquoted, never trimmed. For every other type JSON is read, and the
Python literals that several official templates write (`True`, `None`, `{'a': 1}`). What cannot be read as the schema
asks stays text: saying what is wrong with it is the validator's business. A union is tried in the order null, integer,
number, boolean, object, array, string. The table says where a dialect is read otherwise (`Reading`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from joey.protocols.dialects.literals import read_literal
from joey.protocols.dialects.spec import Reading
from joey.schema.kinds import kinds_of
from joey.schema.references import properties
from joey.wire import JsonObject, JsonValue

USUAL = Reading()
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+([eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"[+-]?[0-9]+")
_ORDER = ("null", "integer", "number", "boolean", "object", "array")
_Found: TypeAlias = tuple[bool, JsonValue]
_NOTHING: _Found = (False, None)


def parameter_kinds(schema: JsonObject, name: str) -> tuple[str, ...]:
    """The kinds that a parameter may have; none if nothing is known about it."""
    known = properties(schema)
    return kinds_of(known[name], schema) if name in known else ()


def is_text(kinds: Sequence[str]) -> bool:
    """Whether a value of these kinds is a string as it stands."""
    return not kinds or set(kinds) == {"string"}


def typed(text: str, kinds: Sequence[str], reading: Reading = USUAL, *, python: bool = False) -> JsonValue:
    """The value that a text stands for. `python`: the template writes None for null."""
    if is_text(kinds):
        return text
    takes_text = "string" in kinds
    for kind in _ORDER:
        if kind in kinds:
            found, value = _READERS[kind](text, reading)
            if found:
                return value
    if text.strip() == "None" and (python or not takes_text):
        return None
    found, value = _other(text, reading) if not takes_text or reading.literal else _NOTHING
    return value if found else text


def any_value(text: str) -> JsonValue:
    """The value of a text that is stated to be no string: JSON, or else the text."""
    found, value = _json(text)
    return value if found else text


def _other(text: str, reading: Reading) -> _Found:
    """A value of another kind than the schema allows."""
    found, value = _json(text)
    kept = (isinstance(value, str) and not reading.quotes) or (isinstance(value, float) and reading.whole)
    return _NOTHING if kept else (found, value)


def _null(text: str, reading: Reading) -> _Found:
    word = text.strip()
    return (word.lower() if reading.any_null else word) == "null", None


def _integer(text: str, reading: Reading) -> _Found:
    return _number(text, reading) if not reading.whole or _DIGITS.fullmatch(text.strip()) else _NOTHING


def _number(text: str, reading: Reading) -> _Found:
    text = text.strip()
    if reading.literal:
        found, value = _json(text)
        return found and isinstance(value, (int, float)) and not isinstance(value, bool), value
    if not _NUMBER.fullmatch(text):
        return _NOTHING
    try:
        value = float(text) if set(".eE") & set(text) else int(text)
    except ValueError:  # Python refuses to read thousands of digits
        return _NOTHING
    return not (isinstance(value, float) and math.isinf(value)), value


def _boolean(text: str, reading: Reading) -> _Found:
    word = text.strip()
    if reading.literal:
        words = ("true", "false", "True", "False") if reading.python else ("true", "false")
        return word in words, word.lower() == "true"
    if reading.bits and word in ("1", "0"):
        return True, word == "1"
    return word.lower() in ("true", "false"), word.lower() == "true"


def _json(text: str) -> _Found:
    try:
        return True, json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _NOTHING


def _no_constant(word: str) -> JsonValue:
    raise ValueError(word)


def _container(kind: type) -> Callable[[str, Reading], _Found]:
    def read(text: str, reading: Reading) -> _Found:
        found, value = _json(text)
        if not found and reading.python:
            found, value = read_literal(text.strip())
        return found and isinstance(value, kind), value

    return read


_READERS: dict[str, Callable[[str, Reading], _Found]] = {
    "null": _null,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "object": _container(dict),
    "array": _container(list),
}
