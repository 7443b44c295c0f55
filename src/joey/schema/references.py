"""What a schema comes down to, whoever asks: references followed, parts joined.

    $ref          within the root (`#/…`), also in circles; the keywords beside it are added, and win
    allOf         its parts as one schema: properties and required names united, types met; of other keywords the later
                  one wins, and the schema's own win over its parts'
    jsonSchema    a wrapper that some SDKs put around a schema

Unions (`anyOf`, `oneOf`) are choices and stay; `members` lists them. A part that was joined is not joined again, since
that would change nothing: a schema that holds itself ends. One that is made of more than MAX_PARTS says only what the
outer ones say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from joey.wire import JsonValue

Schema: TypeAlias = Any
"""A JSON Schema as it came: an object, true or false, or something that is no schema at all."""

MAX_PARTS = 200

_WRAPPING = frozenset({"$ref", "allOf", "jsonSchema"})
_CHILD_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_CHILD_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_CHILDREN = ("items", "not", "additionalProperties")


def resolve(schema: Schema, root: Schema, *, join: bool = True) -> Schema:
    """The schema out of its wrapping. What is wrapped in nothing is returned as it is, the same object.

    Without `join`, an `allOf` is taken for wrapping only if a single reference is all that is in it."""
    if not isinstance(schema, Mapping) or _WRAPPING.isdisjoint(schema):
        return schema
    telling = [part for part in _parts(schema, root, join) if part not in ({}, True)]
    return telling[0] if len(telling) == 1 else joined(telling)


def _parts(schema: Schema, root: Schema, join: bool) -> list[Schema]:
    """The schemas that hold at once, none of them wrapped, the outermost last."""
    found: list[Schema] = []
    seen: set[int] = set()
    waiting = [schema]
    while waiting and len(seen) < MAX_PARTS:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if not isinstance(each, Mapping):
            found.append(each)
        elif isinstance(each.get("jsonSchema"), Mapping):
            root = each["jsonSchema"]
            waiting.append(root)
        else:
            found.append(without(each, "$ref", "allOf"))
            waiting += [follow(each["$ref"], root)] if isinstance(each.get("$ref"), str) else []
            waiting += (
                each["allOf"] if isinstance(each.get("allOf"), list) and (join or _wraps_one(each["allOf"])) else []
            )
    return found[::-1]


def _wraps_one(parts: list[Schema]) -> bool:
    return len(parts) == 1 and isinstance(parts[0], Mapping) and "$ref" in parts[0]


def follow(reference: str, root: Schema) -> Schema:
    """The schema a `#/…` pointer names; one that says nothing when there is none."""
    here = root if reference.startswith("#") else {}
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, Mapping) or step not in here:
            return {}
        here = here[step]
    return here


def joined(parts: Sequence[Schema]) -> Schema:
    """Schemas that hold at once, as one: false if one of them is."""
    result: dict[str, Any] = {}
    for part in parts:
        if part is False:
            return False
        if isinstance(part, Mapping):
            both = {key: join(result[key], part[key]) for key, join in _JOINS.items() if key in result and key in part}
            result |= {**part, **both}
    return result


def _united(one: Any, other: Any) -> Any:
    """Properties by name, or required names."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **other}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(name for name in other if name not in one)]
    return other


def _met(one: Any, other: Any) -> Any:
    """The types that both allow. Types that exclude each other are the author's mistake: the later one stays."""
    allowed = [one] if isinstance(one, str) else one
    wanted = [other] if isinstance(other, str) else other
    if not isinstance(allowed, list) or not isinstance(wanted, list):
        return other
    common = [kind for kind in wanted if kind in allowed or (kind == "integer" and "number" in allowed)]
    common += ["integer"] if "integer" in allowed and "number" in wanted and "integer" not in common else []
    return common[0] if len(common) == 1 else common or other


_JOINS: dict[str, Callable[[Any, Any], Any]] = {"properties": _united, "required": _united, "type": _met}


def members(schema: Schema) -> list[Schema]:
    """The alternatives of a resolved schema; none if it is no union."""
    lists = [schema.get(key) for key in ("anyOf", "oneOf")] if isinstance(schema, Mapping) else []
    return [member for each in lists if isinstance(each, list) for member in each]


def properties(schema: Schema) -> Mapping[str, Schema]:
    """The properties that a resolved schema names."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def required(schema: Schema) -> list[str]:
    """The names that a resolved schema requires."""
    found = schema.get("required") if isinstance(schema, Mapping) else None
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def without(schema: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The schema without some keywords: itself if it has none of them."""
    if schema.keys().isdisjoint(keys):
        return schema
    return {key: value for key, value in schema.items() if key not in keys}


def rebuilt(keyword: str, value: JsonValue, visit: Callable[[Schema, str], Schema]) -> JsonValue:
    """A keyword's value with `visit` applied to each schema in it, and to the name under which that stands there."""
    if keyword in _CHILD_MAPS and isinstance(value, Mapping):
        return {name: visit(each, name) for name, each in value.items()}
    if keyword in _CHILD_LISTS and isinstance(value, list):
        return [visit(each, "") for each in value]
    return visit(value, keyword) if keyword in _CHILDREN else value
