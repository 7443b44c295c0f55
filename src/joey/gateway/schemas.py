"""Schemas of clients, checked where they come in: everything behind relies on the shapes of the keywords it knows.

A keyword that is null is no keyword: some clients send every field they have. A keyword of the wrong shape is refused
with its place, as OpenAI's own server does: a model that is taught half of a schema would make calls that the client
rejects. Keywords that nobody here knows stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joey.gateway.refusal import invalid
from joey.wire import JsonObject

MAX_DEPTH = 100
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMAS = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedProperties"}
)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: _is_text(value) or _are_texts(value), "a string or a list of strings"),
    "required": (_are_texts, "a list of names"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    **dict.fromkeys(("$ref", "description", "format", "pattern", "title"), (_is_text, "a string")),
    **dict.fromkeys(
        ("maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "multipleOf"), (_is_number, "a number")
    ),
}


def checked(schema: Mapping[str, Any], owner: str) -> JsonObject:
    """The schema without keywords that are null. Raises Refusal for one that is no JSON Schema."""
    for place, problem in _flaws(schema, "", 0):
        raise invalid(f"the schema of {owner} is not a JSON Schema: {place or 'it'} must be {problem}")
    return _without_null(schema) if _has_null(schema) else dict(schema)


def _flaws(schema: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(schema, bool) or schema is None:
        return
    if not isinstance(schema, Mapping):
        yield place, "an object"
        return
    if depth > MAX_DEPTH:
        yield place, f"nested less deeply than {MAX_DEPTH} levels"
        return
    for name, value in schema.items():
        if value is None:
            continue
        here = f"{place}.{name}" if place else name
        if name in _SHAPES and not _SHAPES[name][0](value):
            yield here, _SHAPES[name][1]
        elif name in _SCHEMAS_BY_NAME:
            yield from _each(value, here, depth, Mapping, "an object of schemas")
        elif name in _SCHEMA_LISTS or (name == "items" and isinstance(value, list)):
            yield from _each(value, here, depth, list, "a list of schemas")
        elif name in _SCHEMAS:
            yield from _flaws(value, here, depth + 1)


def _each(value: Any, place: str, depth: int, kind: type[Any], shape: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, kind):
        yield place, shape
        return
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, part in parts:
        yield from _flaws(part, f"{place}.{name}", depth + 1)


def _known(name: str) -> bool:
    return name in _SHAPES or name in _SCHEMAS_BY_NAME or name in _SCHEMA_LISTS or name in _SCHEMAS


def _has_null(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return any((value is None and _known(name)) or _has_null(value) for name, value in schema.items())
    return isinstance(schema, list) and any(map(_has_null, schema))


def _without_null(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        kept = {name: value for name, value in schema.items() if value is not None or not _known(name)}
        return {name: value if name in ("const", "default") else _without_null(value) for name, value in kept.items()}
    return list(map(_without_null, schema)) if isinstance(schema, list) else schema
