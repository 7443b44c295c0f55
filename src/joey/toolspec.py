"""A tool as the model sees it: a name, a description, a JSON Schema; and which tools it may or must call.

Both come from, and go to, the shapes of the two wire formats: OpenAI's ChatCompletionTool and Anthropic's tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from joey.errors import UsageError
from joey.wire import JsonObject

Group: TypeAlias = Literal["read", "edit", "command", "browser", "mcp", "modes", "always"]
"""Which modes offer a tool; tools of the groups `modes` and `always` are in every mode."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class CustomForm:
    """A tool whose arguments are one text in a language of its own, for models that can write it as it is."""

    argument: str
    grammar: str
    syntax: Literal["lark", "regex"] = "lark"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `schema` is the JSON Schema of its arguments, an object."""

    name: str
    description: str = ""
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names that models give an argument, each with the schema's own name for it."""
    example: JsonObject = field(default_factory=dict)
    """The arguments of one good call. Made from the schema when left empty (`joey.schema.example`)."""
    custom: CustomForm | None = None
    """How the tool is offered where it may be one text and not JSON."""
    namespace: str = ""
    """The group of tools that it belongs to, such as an MCP server."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in the schema's order."""
        return tuple(self.schema.get("properties") or ())

    @property
    def summary(self) -> str:
        """The first sentence of the description, on one line."""
        return " ".join(_SENTENCE_END.split(self.description.strip(), maxsplit=1)[0].split())

    @classmethod
    def read(cls, data: Any) -> ToolSpec:
        """A tool from an OpenAI tool object, an Anthropic tool, or the short `{"name", "schema"}`."""
        if not isinstance(data, Mapping):
            raise UsageError(f"a tool is a JSON object, got {type(data).__name__}")
        kind = data.get("type")
        if kind not in (None, "function", "custom") or (kind == "custom" and "input_schema" not in data):
            # Anthropic says "custom" for a tool of the caller's own; OpenAI means one without a schema.
            raise UsageError(f"a tool of type {kind!r} cannot be offered; expected a function with a JSON Schema")
        body = data.get("function", data)
        if not isinstance(body, Mapping) or not isinstance(body.get("name"), str) or not body["name"]:
            raise UsageError("a tool needs a 'name' (in 'function' for an OpenAI tool object)")
        schema = next((body[key] for key in ("schema", "parameters", "input_schema") if key in body), None)
        if schema is not None and not isinstance(schema, Mapping):
            raise UsageError(f"the schema of tool {body['name']!r} must be a JSON object")
        no_arguments = {"type": "object", "properties": {}}
        return cls(body["name"], body.get("description") or "", no_arguments if schema is None else schema)

    def to_openai(self) -> dict[str, Any]:
        """This tool as an OpenAI ChatCompletionTool."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Any]:
        """This tool as an Anthropic tool."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}


ChoiceMode = Literal["none", "auto", "required", "one"]
_FROM_OPENAI: dict[Any, ChoiceMode] = {None: "auto", "none": "none", "auto": "auto", "required": "required"}
_FROM_ANTHROPIC: dict[Any, ChoiceMode] = {"none": "none", "auto": "auto", "any": "required", "tool": "one"}
_TO_ANTHROPIC: dict[ChoiceMode, str] = {mode: word for word, mode in _FROM_ANTHROPIC.items()}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the model may do with the tools: call none, decide itself, must call some, or must call this `one`.

    `parallel` is whether it may make several calls in one reply.
    """

    mode: ChoiceMode = "auto"
    name: str | None = None
    parallel: bool = True

    def __post_init__(self) -> None:
        if (self.mode == "one") != bool(self.name):
            raise UsageError("a tool choice has a name if and only if its mode is 'one'")

    @classmethod
    def from_openai(cls, choice: Any = None, parallel: bool | None = None) -> ToolChoice:
        """From `tool_choice` and `parallel_tool_calls` of a Chat Completions request."""
        many = parallel is not False
        if isinstance(choice, Mapping) and choice.get("type") == "function":
            return cls("one", _name_in(choice.get("function")), many)
        if (choice is None or isinstance(choice, str)) and choice in _FROM_OPENAI:
            return cls(_FROM_OPENAI[choice], None, many)
        raise UsageError(
            f"the tool choice {choice!r} is unknown; expected 'none', 'auto', 'required' "
            "or {'type': 'function', 'function': {'name': …}}"
        )

    def to_openai(self) -> dict[str, Any]:
        """The parameters of a Chat Completions request that say this; the defaults are left out."""
        parameters: dict[str, Any] = {} if self.parallel else {"parallel_tool_calls": False}
        if self.mode == "one":
            parameters["tool_choice"] = {"type": "function", "function": {"name": self.name}}
        elif self.mode != "auto":
            parameters["tool_choice"] = self.mode
        return parameters

    @classmethod
    def from_anthropic(cls, choice: Any = None) -> ToolChoice:
        """From `tool_choice` of a Messages request."""
        if choice is None:
            return cls()
        kind = choice.get("type") if isinstance(choice, Mapping) else None
        if not isinstance(kind, str) or kind not in _FROM_ANTHROPIC:
            known = ", ".join(_FROM_ANTHROPIC)
            raise UsageError(f"the tool choice {choice!r} is unknown; expected an object with a type: {known}")
        name = _name_in(choice) if kind == "tool" else None
        return cls(_FROM_ANTHROPIC[kind], name, not choice.get("disable_parallel_tool_use"))

    def to_anthropic(self) -> dict[str, Any]:
        """`tool_choice` of a Messages request."""
        choice: dict[str, Any] = {"type": _TO_ANTHROPIC[self.mode]}
        if self.mode == "one":
            choice["name"] = self.name
        if self.mode != "none":
            choice["disable_parallel_tool_use"] = not self.parallel
        return choice


def _name_in(data: Any) -> str:
    name = data.get("name") if isinstance(data, Mapping) else None
    if not isinstance(name, str) or not name:
        raise UsageError("a choice of one tool needs that tool's 'name'")
    return name
