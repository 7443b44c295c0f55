"""Values that are written as text, typed by the schema.

A string stays as it stands: never null, never unquoted, never trimmed. For every other type JSON is read, and the
Python literals that several official templates write (`True`, `None`, `{'a': 1}`). What cannot be read as the schema
asks stays text: saying what is wrong with it is the validator's business. A union is tried in the order null, integer,
number, boolean, object, array, string.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence

from joey.protocols.dialects.literals import read_literal
from joey.schema.kinds import kinds_of
from joey.schema.references import properties
from joey.wire import JsonObject, JsonValue

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+([eE][+-]?[0-9]+)?")
_ORDER = ("null", "integer", "number", "boolean", "object", "array")


def parameter_kinds(schema: JsonObject, name: str) -> tuple[str, ...]:
    """The kinds that a parameter may have; none if nothing is known about it."""
    known = properties(schema)
    return kinds_of(known[name], schema) if name in known else ()


def is_text(kinds: Sequence[str]) -> bool:
    """Whether a value of these kinds is a string as it stands."""
    return not kinds or set(kinds) == {"string"}


def typed(text: str, kinds: Sequence[str], *, python: bool = False) -> JsonValue:
    """The value that a text stands for. `python`: the template writes None for null."""
    if is_text(kinds):
        return text
    for kind in _ORDER:
        if kind in kinds:
            found, value = _READERS[kind](text)
            if found:
                return value
    if text.strip() == "None" and (python or "string" not in kinds):
        return None
    found, value = _json(text) if "string" not in kinds else (False, None)
    return value if found else text


def any_value(text: str) -> JsonValue:
    """The value of a text that is stated to be no string: JSON, or else the text."""
    found, value = _json(text)
    return value if found else text


def _null(text: str) -> tuple[bool, JsonValue]:
    return text.strip() == "null", None


def _number(text: str) -> tuple[bool, JsonValue]:
    text = text.strip()
    match = _NUMBER.fullmatch(text)
    if not match:
        return False, None
    try:
        value: JsonValue = float(text) if set(".eE") & set(text) else int(text)
    except ValueError:  # Python refuses to read thousands of digits
        return False, None
    return not (isinstance(value, float) and math.isinf(value)), value


def _boolean(text: str) -> tuple[bool, JsonValue]:
    word = text.strip().lower()
    return word in ("true", "false"), word == "true"


def _json(text: str) -> tuple[bool, JsonValue]:
    try:
        return True, json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False, None


def _no_constant(word: str) -> JsonValue:
    raise ValueError(word)


def _container(kind: type) -> Callable[[str], tuple[bool, JsonValue]]:
    def read(text: str) -> tuple[bool, JsonValue]:
        found, value = _json(text)
        if not found:
            found, value = read_literal(text.strip())
        return found and isinstance(value, kind), value

    return read


_READERS: dict[str, Callable[[str], tuple[bool, JsonValue]]] = {
    "null": _null,
    "integer": _number,
    "number": _number,
    "boolean": _boolean,
    "object": _container(dict),
    "array": _container(list),
}
