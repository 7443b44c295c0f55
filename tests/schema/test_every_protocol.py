"""An argument behind references, unions and parts of schemas reaches the tool as the same value in every protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import RootModel

from joey import protocols
from joey.chunks import Chunk, TextChunk, ToolCallChunk
from joey.events import ToolCallFinished
from joey.messages import TextBlock, ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.testing import read
from joey.tools.base import Tool, ToolContext, ok
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.toolset import build_toolset

CODE = next(mode for mode in BUILTIN_MODES if mode.slug == "code")
DEFINITIONS = {
    "N": {"type": "integer"},
    "Small": {"allOf": [{"$ref": "#/definitions/N"}, {"maximum": 9}]},
    "Deep": {"oneOf": [{"$ref": "#/definitions/Small"}, {"type": "null"}]},
    "Point": {"allOf": [{"properties": {"x": {"$ref": "#/definitions/N"}}}, {"required": ["x"]}]},
}
INTEGERS: dict[str, Any] = {
    "plain": {"type": "integer"},
    "definitions": {"$ref": "#/definitions/N"},
    "defs": {"$ref": "#/$defs/N"},
    "beside": {"$ref": "#/definitions/N", "description": "How many.", "default": 1},
    "pointer": {"$ref": "#/properties/other"},
    "anyOf": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "oneOf": {"oneOf": [{"$ref": "#/definitions/N"}, {"type": "boolean"}]},
    "allOf": {"allOf": [{"$ref": "#/definitions/N"}]},
    "parts": {"allOf": [{"type": ["integer", "string"]}, {"type": "number"}, {"minimum": 1}]},
    "parts of parts": {"$ref": "#/definitions/Small"},
    "union of parts": {"$ref": "#/definitions/Deep"},
    "list of types": {"type": ["integer", "null"]},
    "enum": {"enum": [5, 6]},
}


class Anything(Tool[RootModel[dict[str, Any]]]):
    """A tool with a schema of somebody else's, like a server's."""

    name = "count"
    group = "read"
    description = "Count."
    params = RootModel[dict[str, Any]]

    def __init__(self, schema: Any) -> None:
        other = {"other": {"type": "integer"}}
        self.schema = {
            "type": "object",
            "properties": {"n": schema, **other},
            "definitions": DEFINITIONS,
            "$defs": DEFINITIONS,
        }

    async def run(self, params: RootModel[dict[str, Any]], context: ToolContext) -> ToolResult:
        return ok(str(params.root))


def _chunks(protocol: str, call: ToolUseBlock) -> Iterator[Chunk]:
    written = protocols.get(protocol).encode_call(call)
    if isinstance(written, TextBlock):
        yield TextChunk(written.text)
    else:
        yield ToolCallChunk(0, call.id, call.name, json.dumps(call.arguments))


def through(protocol: str, schema: Any, value: Any) -> Any:
    """What a tool gets when a model calls it with this value."""
    tool = Anything(schema)
    call = ToolUseBlock("c1", tool.name, {"n": value})
    events = read(protocols.get(protocol).parser([tool.spec]), _chunks(protocol, call))
    [finished] = [event for event in events if isinstance(event, ToolCallFinished)]
    resolved = Registry(build_toolset(CODE, [tool])).resolve(finished)
    assert isinstance(resolved, ResolvedCall), resolved
    return resolved.params.root["n"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("schema", INTEGERS.values(), ids=INTEGERS.keys())
@pytest.mark.parametrize("protocol", protocols.names())
def test_a_number_written_as_a_string_is_the_number(protocol: str, schema: Any) -> None:
    got = through(protocol, schema, "5")
    assert got == 5 and isinstance(got, int)


@pytest.mark.parametrize("protocol", protocols.names())
def test_so_is_one_inside_of_what_is_behind_a_reference(protocol: str) -> None:
    assert through(protocol, {"$ref": "#/definitions/Point"}, {"x": "5"}) == {"x": 5}
    assert through(protocol, {"items": {"$ref": "#/definitions/N"}}, ["5", "6"]) == [5, 6]


@pytest.mark.parametrize("protocol", protocols.names())
def test_what_is_a_string_to_the_schema_stays_one(protocol: str) -> None:
    for schema in ({"type": "string"}, {"oneOf": [{"type": "string"}, {"$ref": "#/definitions/N"}]}):
        assert through(protocol, schema, "5") == "5"
