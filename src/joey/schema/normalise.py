"""JSON Schemas as providers accept them, and as language models should read them.

Schemas of MCP servers and custom tools use all of JSON Schema; providers take a part of it and answer the rest with
an error 400 that loses the whole request. `normalise` rewrites a schema into that part:

* the top is one object: of `anyOf`/`oneOf` at the top the first object variant is taken, `allOf` is merged;
* `type: [a, b]` becomes `anyOf`; an array says what its items are;
* a `format` outside the accepted list is dropped;
* `required` names only properties that exist;
* objects are closed (`additionalProperties: false`), unless the caller wants them left open.

What is lost on the way is reported in notes, each with the place it concerns. References (`$ref`) are left as they are;
what they point to inside the schema is normalised with it.

What pydantic writes is correct and noisy: titles, `$defs`, `anyOf` with null for every optional field. Models read (and
providers' strict modes accept) something plainer, so `tidy` makes it so: references are inlined, titles go, an optional
field is its own type and simply not required, a constant is an enum of one, `oneOf` is `anyOf`, and every object is
closed. A model that contains itself cannot be inlined; its references stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joey.schema.references import follow, joined, rebuilt, without
from joey.wire import JsonObject, JsonValue

FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""The string formats that providers accept."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A schema that providers accept, and what could not be carried over."""

    schema: JsonValue
    notes: tuple[str, ...] = ()


def normalise(schema: JsonValue, *, close_objects: bool = True) -> Normalised:
    """The schema in the form that providers accept. Anything that is no object is not a schema and stays as it is."""
    if not isinstance(schema, Mapping):
        return Normalised(schema)
    work = _Normaliser(close_objects)
    flat = work.flatten_top(schema)
    return Normalised(work.visit(flat, ""), tuple(work.notes))


class _Normaliser:
    def __init__(self, close_objects: bool) -> None:
        self.close_objects = close_objects
        self.notes: list[str] = []

    def note(self, path: str, text: str) -> None:
        self.notes.append(f"{path or 'the schema'}: {text}")

    # The top

    def flatten_top(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), Sequence):
                return self._first_object(schema, keyword)
        if isinstance(schema.get("allOf"), Sequence):
            return self._merged(schema)
        return schema

    def _first_object(self, schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
        rest = without(schema, keyword)
        variants = schema[keyword]
        objects = [variant for variant in variants if _is_object(variant)]
        if not objects:
            if not _is_object(rest):
                self.note("", f"{keyword} at the top has no object among its variants; it now takes no arguments")
            return {"type": "object", "properties": {}, **rest}
        if len(objects) > 1:
            self.note("", f"{keyword} at the top is not accepted; only the first of {len(objects)} objects is kept")
        return dict(joined([rest, objects[0]]))

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        plain = [part for part in schema["allOf"] if isinstance(part, Mapping) and "$ref" not in part]
        for _ in range(len(schema["allOf"]) - len(plain)):
            self.note("", "a part of allOf at the top is no plain object and was dropped")
        return {"type": "object", **joined([without(schema, "allOf"), *plain])}

    # Every level

    def visit(self, schema: JsonValue, path: str) -> JsonValue:
        if not isinstance(schema, Mapping):
            return schema
        result = {key: self._child(key, value, path) for key, value in schema.items()}
        self._split_types(result)
        self._check_format(result, path)
        if result.get("type") == "array":
            result.setdefault("items", {})
        if _is_object(result):
            self._shape_object(result, path)
        return result

    def _child(self, key: str, value: JsonValue, path: str) -> JsonValue:
        if key == "items" and isinstance(value, list):
            self.note(path, "items for each place are not accepted; every item may now be any of them")
            return {"anyOf": [self.visit(each, _at(path, key)) for each in value]}
        return rebuilt(key, value, lambda each, name: self.visit(each, _at(path, name)))

    @staticmethod
    def _split_types(schema: dict[str, Any]) -> None:
        types = schema.get("type")
        if not isinstance(types, list):
            return
        del schema["type"]
        variants: list[dict[str, Any]] = [{"type": each} for each in types]
        for variant in variants:
            if variant["type"] == "array":
                variant["items"] = schema.get("items", {})
        schema.pop("items", None)
        if len(variants) == 1:
            schema.update(variants[0])
        elif "anyOf" in schema:
            schema["allOf"] = [*schema.get("allOf", ()), {"anyOf": variants}]
        else:
            schema["anyOf"] = variants

    def _check_format(self, schema: dict[str, Any], path: str) -> None:
        if isinstance(schema.get("format"), str) and schema["format"] not in FORMATS:
            self.note(path, f"the format {schema.pop('format')!r} is not accepted and was dropped")

    def _shape_object(self, schema: dict[str, Any], path: str) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            properties = schema["properties"] = {}
        if isinstance(schema.get("required"), list):
            unknown = [name for name in schema["required"] if name not in properties]
            if unknown:
                self.note(path, f"required names unknown properties: {', '.join(map(repr, unknown))}")
                schema["required"] = [name for name in schema["required"] if name in properties]
        if self.close_objects:
            if schema.get("additionalProperties"):
                self.note(path, "additionalProperties is not accepted; only the named properties can be given")
            schema["additionalProperties"] = False


def _is_object(schema: JsonValue) -> bool:
    return isinstance(schema, Mapping) and (schema.get("type") == "object" or "properties" in schema)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path and key else path or key


def without_booleans(schema: JsonValue) -> Any:
    """The schema with an object for each true and false that stands in place of a schema: not everybody takes them."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if isinstance(value, bool) and key == "additionalProperties" else rebuilt(key, value, _no_boolean)
        for key, value in schema.items()
    }


def _no_boolean(schema: JsonValue, _name: str) -> JsonValue:
    return without_booleans(schema)


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
