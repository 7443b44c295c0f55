"""The tools a client offers, flat and by one name each, and the way back.

OpenAI's Responses API has tools in namespaces and tools whose input is one text ("custom"). A model that is taught
tools in text knows neither: for it each tool has one name and a JSON Schema, and the text of a custom tool is its
argument `input`. A client gets its calls back as it offered the tools: name and namespace apart, the text as it is.

A tool keeps its plain name unless another one has it; then it is `namespace__name`. A name that the model wrote
a little differently (other case, the namespace in front) stands for a tool only if it can be no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from joey.errors import UsageError
from joey.gateway.schemas import checked
from joey.toolspec import CustomForm, ToolSpec
from joey.wire import JsonObject

INPUT = "input"
_JOINTS = re.compile(r"[./:]|__")
_LEGAL = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the client offers it. `spec.name` is the name that the model gets."""

    spec: ToolSpec
    name: str
    namespace: str = ""
    is_custom: bool = False
    is_found: bool = False
    """Whether a search found it: it is described where it was found, and the system prompt stays as it was."""

    @property
    def flat(self) -> str:
        return self.spec.name


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """All tools of one request."""

    tools: tuple[OfferedTool, ...] = ()
    dropped: tuple[str, ...] = ()
    """Tools that only the provider itself could run, such as a web search."""
    _by_flat: dict[str, OfferedTool] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, tools: Iterable[OfferedTool], dropped: Iterable[str] = ()) -> OfferedTools:
        named = tuple(_with_flat_names(list(tools)))
        return cls(named, tuple(dropped), {tool.flat: tool for tool in named})

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)

    @property
    def described(self) -> tuple[ToolSpec, ...]:
        """Those that the system prompt describes."""
        return tuple(tool.spec for tool in self.tools if not tool.is_found)

    def find(self, name: str, namespace: str = "") -> OfferedTool | None:
        """The tool that the client calls by this name."""
        for tool in self.tools:
            if tool.name == name and (not namespace or tool.namespace == namespace):
                return tool
        return None

    def flat_name(self, name: str, namespace: str = "") -> str:
        """The name under which the model knows a tool of the client's; for a tool that is gone, one like it."""
        found = self.find(name, namespace)
        return found.flat if found else _legal(name)

    def called(self, name: str) -> OfferedTool | None:
        """The tool that the model calls by this name, None if there is none, or more than one it could be."""
        if name in self._by_flat:
            return self._by_flat[name]
        wanted = _simple(name)
        alike = [tool for tool in self.tools if wanted in (_simple(tool.flat), _simple(tool.name))]
        return alike[0] if len(alike) == 1 else None

    def picked(self, tools: Sequence[OfferedTool]) -> OfferedTools:
        """Only these of the tools, under the names that they have here."""
        return OfferedTools(tuple(tools), self.dropped, {tool.flat: tool for tool in tools})


def custom_tool(data: JsonObject, namespace: str = "") -> OfferedTool:
    """A tool whose input is one text, perhaps held to a grammar."""
    form: Any = data.get("format") if isinstance(data.get("format"), dict) else {}
    grammar: Any = form["grammar"] if isinstance(form.get("grammar"), dict) else form  # Chat wraps it once more
    name, description = data.get("name"), str(data.get("description") or "")
    if not isinstance(name, str) or not name:
        raise UsageError("a custom tool needs a 'name'")
    definition, syntax = grammar.get("definition"), grammar.get("syntax")
    schema = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}
    custom = None
    if isinstance(definition, str) and syntax in ("lark", "regex"):
        custom = CustomForm(INPUT, definition, syntax)
        description = f"{description}\n\nThe input follows this grammar ({syntax}):\n{definition.strip()}".strip()
    return OfferedTool(ToolSpec(name, description, schema, custom=custom), name, namespace, is_custom=True)


def function_tool(data: Any, namespace: str = "") -> OfferedTool:
    """A tool with a JSON Schema. Raises UsageError or Refusal for what is none."""
    spec = ToolSpec.read(data)
    if not isinstance(spec.description, str):
        raise UsageError(f"the description of the tool {spec.name!r} must be a string")
    return OfferedTool(replace(spec, schema=checked(spec.schema, f"the tool {spec.name!r}")), spec.name, namespace)


def _with_flat_names(tools: list[OfferedTool]) -> Iterator[OfferedTool]:
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for tool in tools:
        counts[tool.name] = counts.get(tool.name, 0) + 1
    for tool in tools:
        wanted = _legal(tool.name if counts[tool.name] == 1 or not tool.namespace else f"{tool.namespace}__{tool.name}")
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        yield replace(tool, spec=replace(tool.spec, name=name, namespace=tool.namespace))


def _legal(name: str) -> str:
    return _LEGAL.sub("_", name)


def _simple(name: str) -> str:
    return _JOINTS.split(name)[-1].casefold().replace("-", "_")
