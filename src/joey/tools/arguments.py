"""A model's arguments, made to fit a tool's JSON Schema where that loses nothing, and described where they do not fit.

Models write numbers, booleans and whole objects as strings, give null for what they mean to leave out, and use
another name for an argument. `fit` mends exactly that:

* a string that spells an integer, a number, true or false becomes one, where the schema wants one;
* a string that is the JSON of an array or object becomes it, where the schema wants that and no string;
* 5.0 is the integer 5;
* null, or an empty string where no string is wanted, is an optional argument left out;
* a word of an enum in other letter case, or with white space around it, is that word.

Nothing is guessed: a number is not a string, 1 is not true, "5 lines" is not 5, one item is not a list. What still
does not fit is for the validation to report, in the words of `expected` and `got`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from joey.wire import JsonObject, JsonValue

_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
_NO_CHANGE = object()
_MOST_LEVELS, _MOST_OPTIONS = 4, 20


class Fitting:
    """Fits one call's arguments; `repairs` says what was changed."""

    def __init__(self, schema: JsonObject) -> None:
        self._root = schema
        self.repairs: list[str] = []

    def arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._object(dict(arguments), self._root, "")
        except RecursionError:  # a schema that refers to itself, or a value nested without end
            return dict(arguments)

    def _value(self, value: JsonValue, schema: JsonObject, where: str) -> JsonValue:
        schema = resolved(schema, self._root)
        if "anyOf" in schema:
            return self._one_of(value, schema["anyOf"], where)
        if not _is_kind(value, schema):
            mended = _mended(value, schema)
            if mended is _NO_CHANGE:
                return value
            self.repairs.append(f"{where}: read {got(value)} as {_short(mended)}")
            value = mended
        if isinstance(value, dict):
            return self._object(value, schema, where)
        if isinstance(value, list) and "items" in schema:
            return [self._value(item, schema["items"], f"{where}[{i}]") for i, item in enumerate(value)]
        return value

    def _one_of(self, value: JsonValue, options: list[JsonObject], where: str) -> JsonValue:
        """A value that already is one of the kinds stays as it is; otherwise the first kind it can become."""
        options = [resolved(option, self._root) for option in options]
        for option in options:
            if _is_kind(value, option):
                return self._value(value, option, where)
        for option in options:
            if _mended(value, option) is not _NO_CHANGE:
                return self._value(value, option, where)
        return value

    def _object(self, value: dict[str, Any], schema: JsonObject, where: str) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        others = schema.get("additionalProperties")
        fitted: dict[str, Any] = {}
        for key, item in value.items():
            place = f"{where}.{key}" if where else key
            if key not in properties:
                fitted[key] = self._value(item, others, place) if isinstance(others, dict) else item
            elif key not in required and _says_nothing(item, resolved(properties[key], self._root)):
                self.repairs.append(f"{place}: took {got(item)} as left out")
            else:
                fitted[key] = self._value(item, properties[key], place)
        return fitted


def resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    """The schema a reference stands for."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target: Any = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
        return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _kinds(schema: JsonObject) -> tuple[str, ...]:
    if "anyOf" in schema:
        return tuple(kind for option in schema["anyOf"] for kind in _kinds(option))
    kind = schema.get("type", ())
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _is_kind(value: JsonValue, schema: JsonObject) -> bool:
    kinds = _kinds(schema)
    if "enum" in schema:
        return any(value == each and type(value) is type(each) for each in schema["enum"])
    if isinstance(value, bool):
        return not kinds or "boolean" in kinds
    return not kinds or any(isinstance(value, _KINDS.get(kind, (object,))) for kind in kinds)


def _says_nothing(value: JsonValue, schema: JsonObject) -> bool:
    kinds = _kinds(schema)
    if value is None:
        return bool(kinds) and "null" not in kinds
    return isinstance(value, str) and not value.strip() and bool(kinds) and "string" not in kinds


def _mended(value: JsonValue, schema: JsonObject) -> JsonValue:
    if "enum" in schema and isinstance(value, str):
        near = [each for each in schema["enum"] if str(each).casefold() == value.strip().casefold()]
        return near[0] if len(near) == 1 else _NO_CHANGE
    for kind in _kinds(schema):
        mended = _MENDERS[kind](value) if kind in _MENDERS else _NO_CHANGE
        if mended is not _NO_CHANGE:
            return mended
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


_MENDERS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "array": _to_json(list),
    "object": _to_json(dict),
}


# What was expected and what came, in a reader's words

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


def expected(schema: JsonObject, root: JsonObject, levels: int = _MOST_LEVELS) -> str:
    """What a schema asks for: `an integer, at least 1`. Unions in unions are named up to a few levels."""
    if not levels:
        return "a JSON value"
    schema = resolved(schema, root)
    if "enum" in schema:
        words = [json.dumps(each, ensure_ascii=False) for each in schema["enum"]]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(expected(option, root, levels - 1) for option in schema["anyOf"][:_MOST_OPTIONS])
        )
    if schema.get("minLength") == 1 and "maxLength" not in schema:
        return "a string that is not empty"
    noun = " or ".join(_NOUNS.get(kind, kind) for kind in _kinds(schema)) or "a JSON value"
    if "items" in schema and _kinds(schema) == ("array",):
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
        return f"the string {_short(value)}" if value else "an empty string"
    if isinstance(value, (int, float)):
        return f"the number {value!r}"
    kind = "an array" if isinstance(value, (list, tuple)) else "an object"
    return f"{kind} {_short(value)}"


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
