"""The JSON types: which of them a schema allows, and of which a value is. Here they are called kinds."""

from __future__ import annotations

from collections.abc import Mapping

from joey.schema.references import Schema, members, resolve
from joey.wire import JsonValue

KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")

_MAX_LEVELS = 6
_PREFERRED = ("object", "array", "boolean", "number", "integer", "string")


def kind_of(value: JsonValue) -> str:
    """The kind of a value; a whole number is an integer."""
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {str: "string", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "array" if isinstance(value, (list, tuple)) else "object")


def is_a(value: JsonValue, kind: str) -> bool:
    """Whether a value is of a kind: an integer is a number too."""
    return kind_of(value) == kind or (kind == "number" and kind_of(value) == "integer")


def type_of(schema: Schema) -> str | None:
    """The one kind that a resolved schema itself stands for, None when it names none."""
    named = named_kinds(schema)
    return named[0] if len(named) == 1 else next((kind for kind in _PREFERRED if kind in named), None)


def named_kinds(schema: Schema) -> tuple[str, ...]:
    """The kinds that a resolved schema names by `type`, or else by keywords that only one of them has."""
    if not isinstance(schema, Mapping):
        return ()
    kind = schema.get("type")
    if isinstance(kind, (str, list)):
        return (kind,) if isinstance(kind, str) else tuple(each for each in kind if isinstance(each, str))
    for implied, keywords in _IMPLIED.items():
        if any(schema.get(each) not in (None, False) for each in keywords):
            return (implied,)
    return ()


_IMPLIED = {"object": ("properties", "additionalProperties"), "array": ("items", "prefixItems")}


def kinds_of(schema: Schema, root: Schema, levels: int = _MAX_LEVELS) -> tuple[str, ...]:
    """The kinds that a schema allows, in its order. None if it does not say, or only after many unions in unions."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping) or levels < 0:
        return ()
    if "type" in schema:
        return named_kinds(schema)
    if options := members(schema):
        found = [kinds_of(each, root, levels - 1) for each in options]
        return tuple(dict.fromkeys(kind for each in found for kind in each)) if all(found) else ()
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        return tuple(dict.fromkeys(map(kind_of, values)))
    return named_kinds(schema)
