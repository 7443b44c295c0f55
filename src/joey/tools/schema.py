"""A pydantic model as the JSON Schema a language model reads.

What pydantic writes is correct and noisy: titles, `$defs`, `anyOf` with null for every optional field. Models read
(and providers' strict modes accept) something plainer, so here references are inlined, titles go, an optional field
is its own type and simply not required, a constant is an enum of one, `oneOf` is `anyOf`, and every object is closed.
A model that contains itself cannot be inlined; its references stay.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from joey.wire import JsonObject

_ORDER = ("type", "description", "enum", "items", "anyOf", "properties", "required", "additionalProperties")
_MAPS_OF_SCHEMAS = ("properties", "patternProperties")


def tool_schema(model: type[BaseModel]) -> JsonObject:
    """The arguments of a tool as a closed JSON Schema object."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    tidy: dict[str, Any] = _Tidy(definitions).schema(schema, ())
    tidy.pop("description", None)  # the model class's docstring; the tool has words of its own
    tidy.setdefault("properties", {})
    tidy["additionalProperties"] = False
    tidy = _in_reading_order(tidy)
    if recursive := {name: _Tidy({}).schema(each, ()) for name, each in definitions.items() if _refers(tidy, name)}:
        tidy["$defs"] = recursive
    return tidy


class _Tidy:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions

    def schema(self, schema: Any, inside: tuple[str, ...]) -> Any:
        """One schema, tidied. `inside` names the definitions being inlined, to stop at recursion."""
        if not isinstance(schema, dict):
            return schema
        schema, inside = self._inlined(schema, inside)
        schema = _without_null(schema)
        schema, inside = self._inlined(schema, inside)
        tidy = {
            "anyOf" if key == "oneOf" else key: self._value(key, value, inside)
            for key, value in schema.items()
            if key not in ("title", "discriminator")
        }
        if "const" in tidy:
            tidy["enum"] = [tidy.pop("const")]
        if tidy.get("default", ...) is None:
            del tidy["default"]
        if tidy.get("properties"):
            tidy.setdefault("additionalProperties", False)
        return _in_reading_order(tidy)

    def _inlined(self, schema: dict[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        if len(schema.get("allOf", ())) == 1:
            schema = {**schema["allOf"][0], **{key: value for key, value in schema.items() if key != "allOf"}}
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name in self._definitions and name not in inside:
            own = {key: value for key, value in schema.items() if key != "$ref"}
            return {**self._definitions[name], **own}, (*inside, name)
        return schema, inside

    def _value(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:
        if key in _MAPS_OF_SCHEMAS:
            return {name: self.schema(each, inside) for name, each in value.items()}
        if key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            return [self.schema(each, inside) for each in value]
        if key in ("items", "additionalProperties", "not"):
            return self.schema(value, inside)
        return value


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
    outer = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**others[0], **outer} if len(others) == 1 else {**outer, "anyOf": others}


def _refers(schema: Any, name: str) -> bool:
    if isinstance(schema, dict):
        return schema.get("$ref") == f"#/$defs/{name}" or any(_refers(value, name) for value in schema.values())
    return isinstance(schema, list) and any(_refers(value, name) for value in schema)
