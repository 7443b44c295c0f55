from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from joey.schema.normalise import tidy
from joey.tools.base import Params, Tool
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions

EVERY_TOOL = [
    *builtin_tools(),
    *builtin_tools(BuiltinOptions(subtask_needs_todos=True)),
]


class Range(BaseModel):
    """Some lines."""

    first: int = Field(description="First line.")
    last: int | None = Field(None, description="Last line.")


class Example(Params):
    path: str = Field(description="Where.")
    ranges: list[Range] | None = Field(None, description="Which lines.")
    mode: Literal["slice", "whole"] = Field("slice", description="How.")
    kind: Literal["file"] = Field("file", description="What.")


def test_an_optional_field_is_its_own_type_and_not_required() -> None:
    schema = tidy(Example.model_json_schema())
    assert schema["required"] == ["path"]
    assert schema["properties"]["ranges"] == {
        "type": "array",
        "description": "Which lines.",
        "items": {
            "type": "object",
            "description": "Some lines.",
            "properties": {
                "first": {"type": "integer", "description": "First line."},
                "last": {"type": "integer", "description": "Last line."},
            },
            "required": ["first"],
            "additionalProperties": False,
        },
    }


def test_a_constant_is_an_enum_of_one() -> None:
    assert tidy(Example.model_json_schema())["properties"]["kind"]["enum"] == ["file"]


class Tree(Params):
    name: str = Field(description="Its name.")
    children: list[Tree] = Field(default_factory=list, description="What is under it.")


def test_a_model_that_contains_itself_keeps_its_reference() -> None:
    schema = tidy(Tree.model_json_schema())
    jsonschema.Draft202012Validator.check_schema(dict(schema))
    jsonschema.validate({"name": "a", "children": [{"name": "b", "children": []}]}, dict(schema))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "a", "children": [{"title": "b"}]}, dict(schema))


def noise(schema: Any, place: str = "$") -> list[str]:
    """What a model should not have to read: titles, references, null types, open objects, undescribed fields."""
    if isinstance(schema, list):
        return [problem for i, each in enumerate(schema) for problem in noise(each, f"{place}[{i}]")]
    if not isinstance(schema, dict):
        return []
    found = [f"{place}: {key}" for key in ("title", "$ref", "$defs") if isinstance(schema.get(key), str | dict)]
    if schema == {"type": "null"}:
        found.append(f"{place}: null")
    if "properties" in schema and schema.get("additionalProperties") is not False:
        found.append(f"{place}: open object")
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            found.append(f"{place}.{name}: no description")
        found += noise(field, f"{place}.{name}")
    return found + noise(schema.get("items"), f"{place}[]") + noise(schema.get("anyOf"), f"{place}|")


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
def test_every_built_in_schema_is_valid_closed_described_and_without_noise(tool: Tool[Any]) -> None:
    openai = tool.spec.to_openai()
    assert openai["type"] == "function" and openai["function"]["name"] == tool.name
    schema = openai["function"]["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert noise(schema) == []


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
def test_every_built_in_tool_teaches_with_an_example_that_is_valid(tool: Tool[Any]) -> None:
    assert tool.example, "a tool shows one good call"
    jsonschema.validate(dict(tool.example), dict(tool.schema))
    tool.params.model_validate_json(json.dumps(tool.example), strict=True)
    assert len(tool.description) > 150 and not tool.description.startswith("#")
