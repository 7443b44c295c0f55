"""A model's arguments, corrected where a tool's JSON Schema wants something else and nothing is lost by it.

Models write numbers, booleans and whole objects as strings, give null for what they leave out, and use another name for
an argument. `ArgumentRepair` corrects exactly that:

* a string that spells an integer, a number, true or false becomes one, where the schema wants one;
* a string that is the JSON of an array or object becomes it, where the schema wants that and no string;
* 5.0 is the integer 5;
* null, or an empty string where no string is wanted, is an optional argument left out;
* a word of an enum in other letter case, or with white space around it, is that word.

Nothing is guessed: a number is not a string, 1 is not true, "5 lines" is not 5, one item is not a list. What is still
wrong is for the validation to report, in the words of `expected` and `got`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from joey.schema.kinds import KINDS, is_a, kinds_of, type_of
from joey.schema.references import Schema, members, properties, required, resolve
from joey.wire import JsonObject, JsonValue

_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NO_CHANGE = object()


class ArgumentRepair:
    """Corrects one call's arguments; `repairs` says what was changed."""

    def __init__(self, schema: JsonObject) -> None:
        self._root = schema
        self._known: dict[int, Schema] = {}
        self.repairs: list[str] = []

    def arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._object(dict(arguments), self._resolve(self._root), "")
        except RecursionError:  # a schema that refers to itself, or a value nested without end
            return dict(arguments)

    def _resolve(self, schema: Schema) -> Schema:
        """Remembered: a list has many items of one schema."""
        if id(schema) not in self._known:
            self._known[id(schema)] = resolve(schema, self._root)
        return self._known[id(schema)]

    def _value(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        schema = self._resolve(schema)
        if type_of(schema) is None and (options := members(schema)):
            return self._one_of(value, options, where)
        if not self._is_kind(value, schema):
            repaired = self._repaired(value, schema)
            if repaired is _NO_CHANGE:
                return value
            self.repairs.append(f"{where}: read {got(value)} as {short(repaired)}")
            value = repaired
        if isinstance(value, dict):
            return self._object(value, schema, where)
        if isinstance(value, list) and isinstance(schema, Mapping) and "items" in schema:
            return [self._value(item, schema["items"], f"{where}[{i}]") for i, item in enumerate(value)]
        return value

    def _one_of(self, value: JsonValue, options: list[Schema], where: str) -> JsonValue:
        """A value that already is one of the kinds stays as it is; otherwise the first kind it can become."""
        options = [self._resolve(option) for option in options]
        for option in options:
            if self._is_kind(value, option):
                return self._value(value, option, where)
        for option in options:
            if self._repaired(value, option) is not _NO_CHANGE:
                return self._value(value, option, where)
        return value

    def _object(self, value: dict[str, Any], schema: Schema, where: str) -> dict[str, Any]:
        known, needed = properties(schema), required(schema)
        others = schema.get("additionalProperties") if isinstance(schema, Mapping) else None
        result: dict[str, Any] = {}
        for key, item in value.items():
            place = f"{where}.{key}" if where else key
            if key not in known:
                result[key] = self._value(item, others, place) if isinstance(others, Mapping) else item
            elif key not in needed and self._says_nothing(item, known[key]):
                self.repairs.append(f"{place}: took {got(item)} as left out")
            else:
                result[key] = self._value(item, known[key], place)
        return result

    def _is_kind(self, value: JsonValue, schema: Schema) -> bool:
        if isinstance(schema, Mapping) and "enum" in schema:
            return any(value == each and type(value) is type(each) for each in schema["enum"])
        kinds = kinds_of(schema, self._root)
        return not kinds or any(is_a(value, kind) or kind not in KINDS for kind in kinds)

    def _says_nothing(self, value: JsonValue, schema: Schema) -> bool:
        if value is not None and not (isinstance(value, str) and not value.strip()):
            return False
        kinds = kinds_of(schema, self._root)
        return bool(kinds) and ("null" if value is None else "string") not in kinds

    def _repaired(self, value: JsonValue, schema: Schema) -> JsonValue:
        if isinstance(schema, Mapping) and "enum" in schema and isinstance(value, str):
            near = [each for each in schema["enum"] if str(each).casefold() == value.strip().casefold()]
            return near[0] if len(near) == 1 else _NO_CHANGE
        for kind in kinds_of(schema, self._root):
            repaired = _READERS[kind](value) if kind in _READERS else _NO_CHANGE
            if repaired is not _NO_CHANGE:
                return repaired
        return _NO_CHANGE


def _to_integer(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return _parsed(lambda: int(value.strip().partition(".")[0]))
    return _NO_CHANGE


def _to_number(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return _NO_CHANGE
    text = value.strip()
    return _parsed(lambda: int(text) if _INTEGER.fullmatch(text) and "." not in text else float(text))


def _to_boolean(value: JsonValue) -> JsonValue:
    words: dict[str, bool] = {"true": True, "false": False}
    return words.get(value.strip().lower(), _NO_CHANGE) if isinstance(value, str) else _NO_CHANGE


def _to_json(kind: type) -> Callable[[JsonValue], JsonValue]:
    def read(value: JsonValue) -> JsonValue:
        parsed = _parsed(lambda: json.loads(value)) if isinstance(value, str) else _NO_CHANGE
        return parsed if isinstance(parsed, kind) else _NO_CHANGE

    return read


def _parsed(read: Callable[[], JsonValue]) -> JsonValue:
    try:
        return read()
    except (ValueError, RecursionError):
        return _NO_CHANGE


_READERS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "array": _to_json(list),
    "object": _to_json(dict),
}


_MAX_LEVELS, _MAX_OPTIONS = 4, 20
_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "a {}",
}


def expected(schema: Schema, root: JsonObject, levels: int = _MAX_LEVELS) -> str:
    """What a schema asks for: `an integer, at least 1`. Unions in unions are named up to a few levels."""
    if not levels:
        return "a JSON value"
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return "a JSON value"
    if "enum" in schema:
        words = [json.dumps(each, ensure_ascii=False) for each in schema["enum"]]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if "type" not in schema and (options := members(schema)):
        return " or ".join(dict.fromkeys(expected(option, root, levels - 1) for option in options[:_MAX_OPTIONS]))
    if schema.get("minLength") == 1 and "maxLength" not in schema:
        return "a string that is not empty"
    kinds = kinds_of(schema, root)
    noun = " or ".join(_NOUNS.get(kind, kind) for kind in kinds) or "a JSON value"
    if "items" in schema and kinds == ("array",):
        noun += f" (each item {expected(schema['items'], root, levels - 1)})"
    limits = [_counted(words.format(schema[key])) for key, words in _LIMITS.items() if key in schema]
    return ", ".join([noun, *limits])


def _counted(words: str) -> str:
    return words[:-1] if re.search(r" 1 (?:items|characters)$", words) else words


def got(value: JsonValue) -> str:
    """What came: `the string "abc"`."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the string {short(value)}" if value else "an empty string"
    if isinstance(value, (int, float)):
        return f"the number {value!r}"
    kind = "an array" if isinstance(value, (list, tuple)) else "an object"
    return f"{kind} {short(value)}"


def short(value: JsonValue) -> str:
    """A value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
