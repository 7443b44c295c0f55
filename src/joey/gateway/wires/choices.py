"""Which tools may or must be called, from the three ways of saying it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joey.gateway.offered import OfferedTools
from joey.gateway.refusal import invalid
from joey.gateway.wires.content import items, mapping
from joey.toolspec import ChoiceMode, ToolChoice

_MODES: dict[str, ChoiceMode] = {
    "none": "none", "auto": "auto", "required": "required", "any": "required",
}  # fmt: skip


def choice_of(tools: OfferedTools, choice: Any, *, parallel: bool = True) -> tuple[ToolChoice, OfferedTools]:
    """The choice, and the tools that may be called under it.

    A choice of a tool that was dropped (a web search) leaves the model its own choice."""
    if choice is None:
        return ToolChoice("auto", None, parallel), tools
    if isinstance(choice, str):
        if choice not in _MODES:
            raise invalid(f"the tool choice {choice!r} is unknown; use none, auto or required", "tool_choice")
        return _any(tools, _MODES[choice], parallel)
    if not isinstance(choice, Mapping):
        raise invalid("tool_choice must be a string or an object", "tool_choice")
    kind = choice.get("type")
    parallel = parallel and choice.get("disable_parallel_tool_use") is not True
    if kind == "allowed_tools":
        return _allowed(tools, mapping(choice.get("allowed_tools")) or choice, parallel)
    if kind in ("function", "custom", "tool"):
        return _one(tools, mapping(choice.get(str(kind))) or choice, parallel)
    if kind in tools.dropped:
        return _any(tools, "auto", parallel)
    if not isinstance(kind, str) or kind not in _MODES:
        raise invalid(f"the type {kind!r} of tool_choice is unknown", "tool_choice")
    return _any(tools, _MODES[kind], parallel)


def _any(tools: OfferedTools, mode: ChoiceMode, parallel: bool) -> tuple[ToolChoice, OfferedTools]:
    if mode == "required" and not tools.tools and not tools.dropped:
        raise invalid("tool_choice requires a call, but there are no tools", "tool_choice")
    return ToolChoice(mode, None, parallel), tools.picked([]) if mode == "none" else tools


def _one(tools: OfferedTools, choice: Mapping[str, Any], parallel: bool) -> tuple[ToolChoice, OfferedTools]:
    name = choice.get("name")
    if not isinstance(name, str):
        raise invalid("tool_choice needs the name of a tool", "tool_choice")
    found = tools.find(name, str(choice.get("namespace") or ""))
    if found is None:
        raise invalid(f"the tool {name!r} of tool_choice is not among the tools", "tool_choice")
    return ToolChoice("one", found.flat, parallel), tools.picked([found])


def _allowed(tools: OfferedTools, choice: Mapping[str, Any], parallel: bool) -> tuple[ToolChoice, OfferedTools]:
    listed = [mapping(each) for each in items(choice.get("tools"), "tool_choice.tools")]
    names = [(mapping(each.get("function")) or mapping(each.get("custom")) or each).get("name") for each in listed]
    kept = tools.picked([tool for tool in tools.tools if tool.name in names])
    unknown = [name for name in names if name is not None and tools.find(str(name)) is None]
    if unknown:
        raise invalid(f"the tool {unknown[0]!r} of tool_choice is not among the tools", "tool_choice")
    mode: ChoiceMode = "required" if choice.get("mode") == "required" else "auto"
    return ToolChoice(mode, None, parallel), kept
