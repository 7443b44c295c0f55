"""What a schema wants, and what was given, in the words of an error message: `an integer, at least 1`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from joey.schema.kinds import kinds_of
from joey.schema.references import Schema, members, resolve
from joey.wire import JsonObject, JsonValue

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
