"""Values to what a JSON Schema asks for.

What a model writes as text (`<days>3</days>`, `{"days": "3"}`) reaches a tool as the number its schema names. `coerce`
changes a value only where the schema says what it should be and the value can be read that way without losing
anything; every other value comes back as it was, and validation says what is wrong with it.

How a string is read, by the schema that applies:

    none at all      true, false, numbers and JSON objects or arrays become what they look like
    untyped, null    untouched ({}, true, const alone, a union with a member that takes strings)
    string           untouched, apart from enum values with stray quotes or spacing
    number, integer  -?digits, fraction, exponent; nothing else (+5, .5, 0x10, 1e999 stay strings)
    boolean          true or false in any case
    a union          null, if a member takes null and none takes strings; else as the first member that fits
                     (what is no string: as the first that it fits as it is)
    object           JSON, relaxed or not
    array            the same, then its lines or comma-separated parts; a scalar becomes the only element

Arrays also take what XML makes of them: `{"item": [...]}`, `{"anything": [...]}`, `{"0": ..., "1": ...}`, a single
object. A strict object (`additionalProperties: false`) takes one misspelt key (`filePath` for `file_path`).
`$ref` is followed within the schema, also in circles; a union takes the first member the result fits. What the parts of
an `allOf` want is left to `repair`, as in the system whose recorded answers the tests compare with.

Deliberately not done: dropping unknown keys, rounding, rejecting anything.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from joey.schema.kinds import is_a, named_kinds, type_of
from joey.schema.references import Schema, members, properties, required, resolve
from joey.wire import JsonValue

ReadJson: TypeAlias = Callable[[str], JsonValue]
"""Reads a text that is nearly JSON. Raises a ValueError when it is not even that."""

MAX_DEPTH = 200
"""Values nested deeper than this are left as they are: no tool asks for them, and Python's stack is not endless."""
MAX_TRIES = 200_000
"""How often members of unions are tried for one value: unions of unions have no end."""

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_INDEX = re.compile(r"[0-9]{1,9}\Z")


class _NoSchema:
    """Stands for "there is no schema here", which is not the same as a schema that says nothing."""


NO_SCHEMA: Schema = _NoSchema()


def coerce(value: JsonValue, schema: Schema = NO_SCHEMA, read: ReadJson = json.loads) -> JsonValue:
    """The value as the schema wants it, or unchanged where it cannot be read that way. Never raises.

    `read` reads what is written for an object or an array and is no JSON, if anything does."""
    return _Coercion(schema, read).apply(value, schema, 0)


def read_number(text: str) -> int | float | None:
    """The number a string spells, None if it spells none that can be held."""
    text = text.strip()
    if not _NUMBER.match(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    if text.lstrip("-").isdecimal():
        return int(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class _Json(NamedTuple):
    """JSON that was read from a string. A tuple, because null is a value too."""

    value: JsonValue


class _Coercion:
    """One coercion: the schema that references are within, and the rules by type."""

    def __init__(self, root: Schema, read: ReadJson) -> None:
        self._tries = MAX_TRIES
        self._read = read
        self._known: dict[int, Schema] = {}
        self._root = root["jsonSchema"] if isinstance(root, Mapping) and "jsonSchema" in root else root

    def _resolve(self, schema: Schema) -> Schema:
        """Remembered: a list has many items of one schema."""
        if id(schema) not in self._known:
            self._known[id(schema)] = resolve(schema, self._root, join=False)
        return self._known[id(schema)]

    def apply(self, value: JsonValue, schema: Schema, depth: int) -> JsonValue:
        if depth > MAX_DEPTH:
            return value
        if schema is NO_SCHEMA or isinstance(schema, bool):
            return _guess(value)
        schema = self._resolve(schema)
        options = members(schema)
        if options and type_of(schema) is None:
            return self._one_of(value, options, depth)
        match type_of(schema):
            case "object":
                return self._object(value, schema, depth)
            case "array":
                return self._array(value, schema, depth)
            case "string":
                return _string(value, schema)
            case "boolean":
                return _boolean(value)
            case "number" | "integer":
                return number_if_safe(value)
        return value

    def _one_of(self, value: JsonValue, options: list[Schema], depth: int) -> JsonValue:
        """The value as the first member that the result fits. A string stays one if any member takes strings."""
        resolved = [self._resolve(member) for member in options]
        if isinstance(value, str):
            for member in self._flattened(resolved):
                if _takes_strings(member):
                    return _string(value, member)
            if value.strip() == "null" and any(_is_of_type(None, member) for member in resolved):
                return None
        else:  # what fits a member already is not changed for the sake of another
            resolved.sort(key=lambda member: not self._matches_deeply(value, member, depth))
        for member in resolved:
            self._tries -= 1
            if self._tries < 0:  # unions of unions of unions
                return value
            result = self.apply(value, member, depth + 1)
            if self._matches(result, member):
                return result
        return value

    def _flattened(self, options: list[Schema]) -> Iterator[Schema]:
        """The members of a union, and of unions among them, each once."""
        waiting, seen = options[::-1], set[int]()
        while waiting:
            member = self._resolve(waiting.pop())
            if id(member) in seen:
                continue
            seen.add(id(member))
            inner = members(member) if type_of(member) is None else []
            if inner:
                waiting += inner[::-1]
            else:
                yield member

    def _matches(self, value: JsonValue, schema: Schema) -> bool:
        """Whether a coerced value is of the schema's kind: enough to choose between the members of a union."""
        if not self._is_allowed(value, schema):
            return False
        if not isinstance(schema, Mapping):
            return True
        if not _is_of_type(value, schema):
            return False
        return not isinstance(value, dict) or self._matches_object(value, schema)

    def _matches_deeply(self, value: JsonValue, schema: Schema, depth: int) -> bool:
        """Whether a value and all that is in it are of the schema's kind as they are."""
        schema = self._resolve(schema)
        options = members(schema)
        self._tries -= 1
        if depth > MAX_DEPTH or self._tries < 0 or not self._matches(value, schema):
            return False
        if options and not any(self._matches_deeply(value, member, depth + 1) for member in options):
            return False
        if isinstance(value, dict) and isinstance(schema, Mapping):
            known = properties(schema)
            return all(self._matches_deeply(value[key], known[key], depth + 1) for key in value if key in known)
        if isinstance(value, list) and isinstance(schema, Mapping) and "items" in schema:
            return all(self._matches_deeply(item, schema["items"], depth + 1) for item in value)
        return True

    def _matches_object(self, value: dict[str, Any], schema: Mapping[str, Any]) -> bool:
        known = properties(schema)
        if any(key not in value for key in required(schema)):
            return False
        if schema.get("additionalProperties") is False and any(key not in known for key in value):
            return False
        return all(self._is_allowed(value[key], each) for key, each in known.items() if key in value)

    def _is_allowed(self, value: JsonValue, schema: Schema) -> bool:
        """Whether a property has the one value, or one of the values, that tell a union's members apart."""
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return schema is not False
        if "const" in schema and value != schema["const"]:
            return False
        return not isinstance(schema.get("enum"), list) or value in schema["enum"]

    # Objects

    def _object(self, value: JsonValue, schema: Mapping[str, Any], depth: int) -> JsonValue:
        if isinstance(value, str):
            read = _read_json_loosely(value, self._read)
            if not read or not isinstance(read.value, dict):
                return value
            value = read.value
        if not isinstance(value, dict):
            return value
        value = _repair_key(value, schema)
        return {key: self.apply(item, _property_schema(schema, key), depth + 1) for key, item in value.items()}

    # Arrays

    def _array(self, value: JsonValue, schema: Mapping[str, Any], depth: int) -> JsonValue:
        tuple_of = schema.get("prefixItems")
        first = tuple_of if isinstance(tuple_of, list) else []
        if isinstance(value, str):
            value = _list_from_text(value, self._read)
        elif isinstance(value, dict):
            if _is_named_list(value):
                first = []  # the elements have a name: they are a list of one kind, not a tuple
            value = self._list_from_object(value, schema)
        elif not isinstance(value, list):
            value, first = [value], first[:1]
        if first and len(first) == len(value):
            return [self.apply(item, each, depth + 1) for item, each in zip(value, first, strict=True)]
        return [self.apply(item, _item_schema(schema), depth + 1) for item in value]

    def _list_from_object(self, value: dict[str, Any], schema: Mapping[str, Any]) -> list[Any]:
        items = self._resolve(_item_schema(schema))
        if len(value) == 1:
            key, inner = next(iter(value.items()))
            if key == "item":
                return inner if isinstance(inner, list) else [inner]
            if isinstance(inner, list):
                return inner
            if isinstance(inner, dict) and properties(items) and key not in properties(items):
                return [inner]
        if value and all(map(_INDEX.match, value)):
            return [value[key] for key in sorted(value, key=int)]
        return _rows_from_columns(value, items) or [value]


def _is_named_list(value: dict[str, Any]) -> bool:
    return len(value) == 1 and "item" not in value and isinstance(next(iter(value.values())), list)


def _property_schema(schema: Mapping[str, Any], key: str) -> Schema:
    known = properties(schema)
    if key in known:
        return known[key]
    extra = schema.get("additionalProperties")
    return extra if isinstance(extra, Mapping) and extra else NO_SCHEMA


def _item_schema(schema: Mapping[str, Any]) -> Schema:
    return schema.get("items", NO_SCHEMA)


def _is_of_type(value: JsonValue, schema: Mapping[str, Any]) -> bool:
    kinds = named_kinds(schema)
    return not kinds or any(is_a(value, kind) for kind in kinds)


def _takes_strings(schema: Schema) -> bool:
    if schema is True or (isinstance(schema, Mapping) and schema.get("type") is None):
        return not members(schema) and type_of(schema) is None
    return "string" in named_kinds(schema)


# Scalars


def _guess(value: JsonValue) -> JsonValue:
    """What a string without a schema looks like. What is inside objects and arrays is left alone."""
    if not isinstance(value, str):
        return value
    trimmed = value.strip()
    if trimmed[:1] in ("{", "["):
        read = _read_json(trimmed)
        return read.value if read else value
    plain = _boolean(value)
    return number_if_safe(value) if plain is value else plain


def _boolean(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "false"):
            return word == "true"
    return value


def number_if_safe(value: JsonValue) -> JsonValue:
    """The number that a text spells; any other value as it is."""
    number = read_number(value) if isinstance(value, str) else None
    return value if number is None else number


def _string(value: JsonValue, schema: Schema) -> JsonValue:
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    allowed = schema.get("enum") if isinstance(schema, Mapping) else None
    if isinstance(value, str) and isinstance(allowed, list) and value not in allowed:
        return _nearest_choice(value, [each for each in allowed if isinstance(each, str)])
    return value


def _nearest_choice(text: str, choices: list[str]) -> str:
    """The enum value that a text stands for with quotes around it or with other white space, if there is just one."""
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if bare in choices:
        return bare
    squeezed = "".join(bare.split())
    near = [choice for choice in choices if "".join(choice.split()) == squeezed]
    return near[0] if len(near) == 1 else text


# Text that holds objects and arrays


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _read_json(text: str) -> _Json | None:
    try:
        return _Json(json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        return None


def _read_json_loosely(text: str, loosely: ReadJson) -> _Json | None:
    """JSON, or an object or array in relaxed JSON: single quotes, words without quotes, trailing commas."""
    text = text.strip()
    read = _read_json(text)
    if read or text[:1] not in ("{", "["):
        return read
    try:
        return _Json(loosely(text))
    except (ValueError, RecursionError):
        return None


def _list_from_text(text: str, loosely: ReadJson) -> list[Any]:
    """A JSON array, one other JSON value as the only element, else the lines or comma-separated parts of the text."""
    read = _read_json_loosely(text, loosely) if text.lstrip().startswith("[") else _read_json(text)
    if read and isinstance(read.value, list):
        return read.value
    if read:
        return [text if isinstance(read.value, dict) else read.value]
    parts = re.split(r"\n+", text) if "\n" in text else re.split(r",\s*", text)
    return [part.strip() for part in parts if part.strip()]


# Objects that are nearly right


def _repair_key(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A strict object with one required key missing and one unexpected key that is the same word spelt otherwise."""
    if schema.get("additionalProperties") is not False:
        return value
    known = properties(schema)
    missing = [key for key in required(schema) if key not in value]
    extra = [key for key in value if key not in known]
    if len(missing) != 1 or len(extra) != 1:
        return value
    listed = isinstance(value[extra[0]], list) and type_of(known.get(missing[0])) == "array"
    if not _same_word(extra[0], missing[0], plural=listed):
        return value
    return {missing[0] if key == extra[0] else key: item for key, item in value.items()}


def _same_word(written: str, wanted: str, *, plural: bool) -> bool:
    left, right = _bare_word(written), _bare_word(wanted)
    return left == right or (plural and (left + "s" == right or left == right + "s"))


def _bare_word(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _rows_from_columns(value: dict[str, Any], items: Schema) -> list[Any] | None:
    """`{"a": [1, 2], "b": [3, 4]}` as two objects, when the items are strict objects with just such keys."""
    if not isinstance(items, Mapping) or items.get("additionalProperties") is not False:
        return None
    lengths = {len(column) if isinstance(column, list) else 0 for column in value.values()}
    if len(lengths) != 1 or min(lengths) < 2 or not set(value) <= set(properties(items)):
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
