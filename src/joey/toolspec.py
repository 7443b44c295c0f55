"""A tool as the model sees it: a name, a description, a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.errors import UsageError
from joey.wire import JsonObject


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `schema` is the JSON Schema of its arguments, an object."""

    name: str
    description: str = ""
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in the schema's order."""
        return tuple(self.schema.get("properties") or ())

    @classmethod
    def read(cls, data: Any) -> ToolSpec:
        """A tool from an OpenAI tool object, an Anthropic tool, or the short `{"name", "schema"}`."""
        if not isinstance(data, Mapping):
            raise UsageError(f"a tool is a JSON object, got {type(data).__name__}")
        body = data.get("function", data)
        if not isinstance(body, Mapping) or not isinstance(body.get("name"), str) or not body["name"]:
            raise UsageError("a tool needs a 'name' (in 'function' for an OpenAI tool object)")
        schema = next((body[key] for key in ("schema", "parameters", "input_schema") if key in body), None)
        if schema is not None and not isinstance(schema, Mapping):
            raise UsageError(f"the schema of tool {body['name']!r} must be a JSON object")
        return cls(body["name"], body.get("description") or "", schema or {"type": "object", "properties": {}})
