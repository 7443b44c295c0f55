"""The examples that a prompt shows, made from JSON Schemas."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from joey.schema.example import example_arguments


def _tool(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or []}


def test_required_properties_are_shown_and_optional_ones_left_out() -> None:
    schema = _tool(["path"], path={"type": "string"}, limit={"type": "integer"})
    assert example_arguments(schema) == {"path": "src/main.py"}


def test_all_properties_are_shown_where_none_is_required() -> None:
    assert list(example_arguments(_tool(b={"type": "string"}, a={"type": "boolean"}))) == ["b", "a"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["fast", "slow"]}, "fast"),
        ({"type": "string", "enum": ["fast", "slow"], "default": "slow"}, "slow"),
        ({"type": "string", "default": "here"}, "here"),
        ({"type": "string", "examples": ["shown"], "default": "here"}, "shown"),
        ({"const": 7}, 7),
        ({"type": ["null", "integer"], "minimum": 3}, 3),
        ({"type": "number", "exclusiveMinimum": 0}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"$ref": "#/$defs/Colour"}, "red"),
        ({"type": "array", "items": {"type": "string", "format": "uuid"}}, ["123e4567-e89b-12d3-a456-426614174000"]),
        ({"allOf": [{"type": "object", "properties": {"x": {"const": 1}}}, {"required": ["x"]}]}, {"x": 1}),
        (True, "field"),
    ],
)
def test_an_example_uses_what_the_schema_offers(schema: Any, value: Any) -> None:
    root = _tool(["field"], field=schema) | {"$defs": {"Colour": {"enum": ["red"]}}}
    assert example_arguments(root) == {"field": value}


def test_an_example_satisfies_its_own_schema() -> None:
    file = _tool(["path", "ranges"], path={"type": "string"}, ranges={"type": "array", "items": {"type": "integer"}})
    schema = _tool(["files", "mode"], files={"type": "array", "items": file, "minItems": 2}, mode={"type": "string"})
    jsonschema.validate(example_arguments(schema), schema)


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = _tool(["child"], child={"$ref": "#/$defs/Node"})
    assert "child" in example_arguments(node | {"$defs": {"Node": node}})


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"type": "object", "properties": {"a": None}}])
def test_a_poor_schema_gives_an_example_all_the_same(schema: Any) -> None:
    assert isinstance(example_arguments(schema), dict)
