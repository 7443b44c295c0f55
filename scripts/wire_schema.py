"""The JSON form of our dataclasses as a JSON Schema, for programs that read `joey run --json`.

The annotations are the schema, as for `joey.wire`: what `encode` writes is what this describes. Every field is
required, since `encode` writes defaults too; more fields may come with a later Joey, so readers must not mind those.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from joey.wire import JsonObject, tag

_SCALARS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}


def lines_schema(classes: Iterable[type], version: int) -> JsonObject:
    """What one line of `joey run --json` may be, if these are the events there are."""
    definitions: dict[str, JsonObject] = {}
    kinds = [_reference(cls, definitions) for cls in classes]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of `joey run --json`",
        "type": "object",
        "required": ["task", "type"],
        "properties": {
            "task": {"type": "string", "description": "the id of the task that the event belongs to"},
            "schema": {"const": version, "description": "the version of this format; in the first line alone"},
        },
        "oneOf": kinds,
        "$defs": dict(sorted(definitions.items())),
    }


def _reference(cls: type, definitions: dict[str, JsonObject]) -> JsonObject:
    name = tag(cls)
    if name not in definitions:
        definitions[name] = {}  # its place is taken, should it hold itself
        definitions[name] = _object(cls, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(cls: Any, definitions: dict[str, JsonObject]) -> JsonObject:
    hints = typing.get_type_hints(cls)
    fields = {field.name: _value(hints[field.name], definitions) for field in dataclasses.fields(cls)}
    return {
        "description": " ".join((cls.__doc__ or "").split()),
        "type": "object",
        "required": ["type", *fields],
        "properties": {"type": {"const": tag(cls)}, **fields},
    }


def _value(annotation: Any, definitions: dict[str, JsonObject]) -> JsonObject:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return {}
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_value(each, definitions) for each in args]}
    if origin is tuple:
        return {"type": "array", "items": _value(args[0], definitions)}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object"}
    return _reference(annotation, definitions)
