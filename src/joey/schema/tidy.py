"""A schema that pydantic wrote, as a language model should read it.

What pydantic writes is correct and noisy: titles, `$defs`, `anyOf` with null for every optional field. Models read
(and providers' strict modes accept) something plainer, so here references are inlined, titles go, an optional field
is its own type and simply not required, a constant is an enum of one, `oneOf` is `anyOf`, and every object is closed.
A model that contains itself cannot be inlined; its references stay.
"""

from __future__ import annotations

from typing import Any

from joey.schema.references import follow, rebuilt, without
from joey.wire import JsonObject

_ORDER = ("type", "description", "enum", "items", "anyOf", "properties", "required", "additionalProperties")


def tidy(schema: JsonObject) -> JsonObject:
    """The schema of a tool's arguments, as a closed object."""
    definitions = schema.get("$defs", {})
    result: dict[str, Any] = _Tidy(schema).schema(without(schema, "$defs"), ())
    result.pop("description", None)  # the model class's docstring; the tool has words of its own
    result = _in_reading_order({"properties": {}, **result, "additionalProperties": False})
    if recursive := {name: _Tidy({}).schema(each, ()) for name, each in definitions.items() if _refers(result, name)}:
        result["$defs"] = recursive
    return result


class _Tidy:
    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def schema(self, schema: Any, inside: tuple[str, ...]) -> Any:
        """One schema, tidied. `inside` are the references being inlined, to stop at recursion."""
        if not isinstance(schema, dict):
            return schema
        schema, inside = self._inlined(schema, inside)
        schema = _without_null(schema)
        schema, inside = self._inlined(schema, inside)
        result = {
            "anyOf" if key == "oneOf" else key: rebuilt(key, value, lambda each, _: self.schema(each, inside))
            for key, value in schema.items()
            if key not in ("title", "discriminator")
        }
        if "const" in result:
            result["enum"] = [result.pop("const")]
        if result.get("default", ...) is None:
            del result["default"]
        if result.get("properties"):
            result.setdefault("additionalProperties", False)
        return _in_reading_order(result)

    def _inlined(self, schema: dict[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        if len(schema.get("allOf", ())) == 1:
            schema = {**schema["allOf"][0], **without(schema, "allOf")}
        reference = schema.get("$ref", "")
        if reference in inside or not (target := follow(reference, self._root)):
            return schema, inside
        return {**target, **without(schema, "$ref")}, (*inside, reference)


def _in_reading_order(schema: dict[str, Any]) -> dict[str, Any]:
    """What a thing is, before what is in it."""
    return {
        key: schema[key] for key in sorted(schema, key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER))
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An optional field as its own type: leaving it out says the same as null."""
    options = schema.get("anyOf")
    if not options or {"type": "null"} not in options:
        return schema
    others = [option for option in options if option != {"type": "null"}]
    outer = without(schema, "anyOf")
    return {**others[0], **outer} if len(others) == 1 else {**outer, "anyOf": others}


def _refers(schema: Any, name: str) -> bool:
    if isinstance(schema, dict):
        return schema.get("$ref") == f"#/$defs/{name}" or any(_refers(value, name) for value in schema.values())
    return isinstance(schema, list) and any(_refers(value, name) for value in schema)
