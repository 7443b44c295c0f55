"""The tools a mode offers: built-in ones, then MCP servers' tools, then custom ones, always in the same order.

A tool is withheld for the first of these reasons, and the reason is kept for whoever asks:

1. the settings disable it (by name or alias);
2. the feature it needs is off;
3. the mode does not have its group;
4. the tools are only the core ones, and it is none of them;
5. the model has it on its exclude list, or it is offered only to models that have it on their include list.

An include list beats an exclude list, and naming a tool there by an alias offers it under that alias: some models
were trained on one name or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    "mcp_resources": "No MCP server offers resources.",
    "browser": "There is no browser to drive (`joey doctor` says what is missing), or the model takes no images.",
}
CORE = (
    "read_file",
    "write_to_file",
    "edit_file",
    "search_files",
    "execute_command",
    "ask_followup_question",
    "attempt_completion",
)
"""What small work needs, in the order in which a small model is told of it."""
DEFAULT_FEATURES: frozenset[Feature] = frozenset({"todo_list"})


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
    core_only: bool = False
    """Only the core tools and those on the include list, all in their compact form: for a model with little room."""


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
    compact: bool = False

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        specs = (offered.spec for offered in self.offered if offered.tool.listed)
        return tuple(spec.compact for spec in specs) if self.compact else tuple(specs)


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
    if choices.core_only:
        places = {name: place for place, name in enumerate(CORE)}
        offered = dict(sorted(offered.items(), key=lambda item: places.get(item[1].tool.name, len(CORE))))
    return Toolset(mode, tuple(offered.values()), tuple(withheld), compact=choices.core_only)


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
    if choices.core_only and tool.name not in CORE and not included:
        return "The compact prompt has the core tools only; tools.include adds others."
    if _names(tool, choices.exclude) and not included:
        return "The settings for this model leave it out."
    if tool.opt_in and not included and not choices.core_only:
        return "It is offered only to models whose settings include it."
    return None


def _names(tool: Tool[Any], names: Sequence[str]) -> bool:
    return tool.name in names or any(alias in names for alias in tool.aliases)


def _name_offered(tool: Tool[Any], choices: ToolChoices) -> str:
    aliases = [name for name in choices.include if name in tool.aliases]
    return aliases[-1] if aliases else tool.name
