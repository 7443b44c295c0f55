"""The tools a mode offers: built-in ones, then MCP servers' tools, then custom ones, always in the same order.

A tool is withheld for the first of these reasons, and the reason is kept for whoever asks:

1. the settings disable it (by name or alias);
2. the feature it needs is off;
3. the mode does not have its group;
4. only a selection is offered, and it is not in it;
5. the model has it on its exclude list, or it is offered only to models that have it on their include list.

An include list beats an exclude list, and naming a tool there by an alias offers it under that alias: some models
were trained on one name or the other.

Families of models were trained on one way of editing and err less with it; which tools suit them is data. A row names
models by a pattern on their name (without the provider, `openai/gpt-5.2` is `gpt-5.2`), and says which tools to offer
besides the default ones and which of those to leave out. The first row that matches holds; a model that matches none
gets the default tools, apply_diff and write_to_file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from joey.modes.mode import Mode
from joey.tools.base import Feature, Tool
from joey.toolspec import ToolSpec

ToolOrigin: TypeAlias = Literal["built-in", "mcp", "custom"]

_FEATURE_OFF: dict[Feature, str] = {
    "todo_list": "The todo list is switched off.",
    "image_generation": "Image generation is switched off.",
    "slash_commands": "Running slash commands is switched off.",
    "skills": "There are no skills here.",
    "codebase_index": "This Python's SQLite has no full-text search (FTS5), which the index needs.",
    "language_servers": "No language server is installed, or none may be started here.",
    "mcp_resources": "No MCP server offers resources.",
    "web_fetch": "Reading web pages is switched off.",
    "web_search": "No endpoint for searching the web is set.",
    "browser": "There is no browser to drive (`joey doctor` says what is missing), or the model takes no images.",
}
DEFAULT_FEATURES: frozenset[Feature] = frozenset({"todo_list"})


@dataclass(frozen=True, slots=True)
class Selection:
    """Only these tools and those on the include list, in this order, described in a way of its own."""

    names: tuple[str, ...]
    reason: str
    """Why the others are not offered."""
    describe: Callable[[ToolSpec], ToolSpec] = lambda spec: spec


@dataclass(frozen=True, slots=True)
class ToolChoices:
    """What, besides the mode, decides which tools there are."""

    features: frozenset[Feature] = DEFAULT_FEATURES
    include: tuple[str, ...] = ()
    """Tools this model should have, by name or alias."""
    exclude: tuple[str, ...] = ()
    """Tools this model should not have."""
    disabled: tuple[str, ...] = ()
    """Tools the user does not want at all."""
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool the model can call, under the name it is offered by."""

    tool: Tool[Any]
    name: str
    origin: ToolOrigin

    @property
    def spec(self) -> ToolSpec:
        return replace(self.tool.spec, name=self.name)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that exists and is not offered, and why."""

    tool: Tool[Any]
    origin: ToolOrigin
    reason: str

    @property
    def name(self) -> str:
        return self.tool.name


@dataclass(frozen=True, slots=True)
class Toolset:
    """What a mode offers to one model."""

    mode: Mode
    offered: tuple[Offered, ...]
    withheld: tuple[Withheld, ...] = ()
    describe: Callable[[ToolSpec], ToolSpec] = lambda spec: spec

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple(self.describe(offered.spec) for offered in self.offered if offered.tool.listed)


def build_toolset(
    mode: Mode,
    builtin: Sequence[Tool[Any]],
    *,
    mcp: Sequence[Tool[Any]] = (),
    custom: Sequence[Tool[Any]] = (),
    choices: ToolChoices | None = None,
) -> Toolset:
    """The tools of a mode. When two tools have one name, the first is kept and the second is withheld."""
    choices = choices or ToolChoices()
    offered: dict[str, Offered] = {}
    withheld: list[Withheld] = []
    for tool, origin in _in_order(builtin, mcp, custom):
        reason = _why_not(tool, mode, choices)
        name = _name_offered(tool, choices)
        if reason is None and name in offered:
            reason = f"A tool with the same name came first ({offered[name].origin})."
        if reason is None:
            offered[name] = Offered(tool, name, origin)
        else:
            withheld.append(Withheld(tool, origin, reason))
    if choices.selection is None:
        return Toolset(mode, tuple(offered.values()), tuple(withheld))
    names = choices.selection.names
    in_order = sorted(offered.values(), key=lambda each: names.index(each.tool.name) if each.tool.name in names else 99)
    return Toolset(mode, tuple(in_order), tuple(withheld), choices.selection.describe)


def _in_order(
    builtin: Sequence[Tool[Any]], mcp: Sequence[Tool[Any]], custom: Sequence[Tool[Any]]
) -> Iterable[tuple[Tool[Any], ToolOrigin]]:
    yield from ((tool, "built-in") for tool in builtin)
    yield from ((tool, "mcp") for tool in sorted(mcp, key=lambda tool: tool.name))
    yield from ((tool, "custom") for tool in sorted(custom, key=lambda tool: tool.name))


def _why_not(tool: Tool[Any], mode: Mode, choices: ToolChoices) -> str | None:
    included = _names(tool, choices.include)
    if _names(tool, choices.disabled):
        return "The settings disable it."
    if tool.feature is not None and tool.feature not in choices.features:
        return _FEATURE_OFF[tool.feature]
    if mode.rule(tool.group) is None:
        return f"It is in the group {tool.group!r}, which this mode does not have."
    if choices.selection is not None and tool.name not in choices.selection.names and not included:
        return choices.selection.reason
    if _names(tool, choices.exclude) and not included:
        return "The settings for this model leave it out."
    if tool.opt_in and not included and choices.selection is None:
        return "It is offered only to models whose settings include it."
    return None


def _names(tool: Tool[Any], names: Sequence[str]) -> bool:
    return tool.name in names or any(alias in names for alias in tool.aliases)


def _name_offered(tool: Tool[Any], choices: ToolChoices) -> str:
    aliases = [name for name in choices.include if name in tool.aliases]
    return aliases[-1] if aliases else tool.name


@dataclass(frozen=True, slots=True)
class Preference:
    """What one family of models edits best with."""

    models: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]


PREFERENCES: tuple[Preference, ...] = (
    Preference(r"gpt-(4\.1|[5-9])|codex", ("apply_patch",), ("apply_diff", "write_to_file")),
    Preference(r"grok", ("search_replace",), ("apply_diff",)),
    Preference(r"minimax", ("search_and_replace",), ("apply_diff",)),
    Preference(r"gemini", ("edit",), ("apply_diff",)),
)


def choices_for(model: str, choices: ToolChoices | None = None) -> ToolChoices:
    """The choices with what suits a model, named `provider/model`. What the user chose stays and comes first."""
    choices = choices or ToolChoices()
    name = model.rpartition("/")[2].lower()
    for preference in PREFERENCES:
        if re.search(rf"(?<![a-z0-9])(?:{preference.models})", name):
            include = tuple(tool for tool in preference.include if tool not in choices.exclude)
            exclude = tuple(tool for tool in preference.exclude if tool not in choices.include)
            return replace(choices, include=(*choices.include, *include), exclude=(*choices.exclude, *exclude))
    return choices
