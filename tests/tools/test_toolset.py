from __future__ import annotations

from typing import Any

import pytest

from joey.messages import ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES, GroupRule, Mode
from joey.tools.base import Feature, Params, Tool, ToolContext, ok
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.toolset import DEFAULT_FEATURES, ToolChoices, Toolset, build_toolset
from joey.toolspec import Group
from vectors_data import cases, meta

FEATURES: dict[str, Feature] = {
    "codebase_search": "codebase_index",
    "update_todo_list": "todo_list",
    "generate_image": "image_generation",
    "run_slash_command": "slash_commands",
    "access_mcp_resource": "mcp_resources",
}


class Named(Tool[Params]):
    """A tool of which only the name and the group matter."""

    params = Params

    def __init__(self, name: str, group: Group, *, opt_in: bool = False, aliases: tuple[str, ...] = ()) -> None:
        self.name, self.group, self.opt_in, self.aliases = name, group, opt_in, aliases
        self.feature = FEATURES.get(name)
        self.description = f"{name} tool"

    async def run(self, params: Params, context: ToolContext) -> ToolResult:
        return ok("")


def roo_tools() -> list[Tool[Any]]:
    """The tools of the system the vectors were recorded from, in its order."""
    facts = meta("roo/modes")
    groups: dict[str, Group] = dict.fromkeys(facts["always_available"], "always")
    opt_in: set[str] = set()
    for group, members in facts["tool_groups"].items():
        groups |= dict.fromkeys([*members["tools"], *members.get("customTools", ())], group)
        opt_in |= set(members.get("customTools", ()))
    aliases = {own: (alias,) for alias, own in facts["aliases"].items()}
    return [
        Named(name, groups[name], opt_in=name in opt_in, aliases=aliases.get(name, ()))
        for name in facts["tool_names"]
        if name in groups
    ]


def mode_of(slug: str | None, custom: list[Any] | None) -> Mode:
    """A mode of the vectors; one that does not exist has no groups."""
    known = {mode["slug"]: mode for mode in [*meta("roo/modes")["builtin_modes"], *(custom or [])]}
    found = known.get(slug or "architect", {"groups": []})
    rules = [rule(*each) if isinstance(each, list) else rule(each, {}) for each in found["groups"]]
    name = found.get("name") or next((mode.name for mode in BUILTIN_MODES if mode.slug == slug), "none")
    return Mode(slug or "architect", name, "", tuple(rules))


def rule(group: Group, options: dict[str, str]) -> GroupRule:
    return GroupRule(group, options.get("fileRegex"), options.get("description"))


def names(toolset: Toolset) -> list[str]:
    return [offered.name for offered in toolset.offered]


def features(case: Any) -> frozenset[Feature]:
    experiments, settings = case["experiments"] or {}, case["settings"] or {}
    on: set[Feature] = set(DEFAULT_FEATURES)
    on |= {"image_generation"} if experiments.get("imageGeneration") else set()
    on |= {"slash_commands"} if experiments.get("runSlashCommand") else set()
    on |= {"codebase_index"} if case["code_index_ready"] else set()
    on |= {"mcp_resources"} if case["mcp_resources"] else set()
    return frozenset(on - {"todo_list"} if settings.get("todoListEnabled") is False else on)


def choices(settings: Any, on: frozenset[Feature] = DEFAULT_FEATURES) -> ToolChoices:
    model = (settings or {}).get("modelInfo", {})
    return ToolChoices(
        on,
        tuple(model.get("includedTools", ())),
        tuple(model.get("excludedTools", ())),
        tuple((settings or {}).get("disabledTools", ())),
    )


OTHERWISE = {
    "filt-47": "an unknown mode has no groups here, so an include list adds nothing to it",
    "filt-48": "as filt-47",
}


@pytest.mark.parametrize("case", cases("roo/modes", set="filter"), ids=lambda case: case["id"])
def test_a_mode_is_offered_the_tools_the_real_system_offers(case: Any) -> None:
    toolset = build_toolset(
        mode_of(case["mode"], case["custom_modes"]), roo_tools(), choices=choices(case["settings"], features(case))
    )
    agrees = names(toolset) == case["expected_tools"]
    assert agrees != (case["id"] in OTHERWISE), names(toolset)


@pytest.mark.parametrize("case", cases("roo/functions", fn="filterNativeToolsForMode"), ids=lambda case: case["test"])
def test_a_list_of_tools_is_filtered_as_the_real_system_filters_it(case: Any) -> None:
    given, mode, custom, _, _, settings = case["args"]
    wanted = {each["function"]["name"] for each in given}
    tools = [tool for tool in roo_tools() if tool.name in wanted]
    toolset = build_toolset(mode_of(mode, custom), tools, choices=choices(settings))
    assert sorted(names(toolset)) == sorted(each["function"]["name"] for each in case["out"])


def test_tools_come_built_in_first_then_servers_then_custom_in_one_order() -> None:
    mode = mode_of("code", None)
    mcp = [Named("mcp--b--x", "mcp"), Named("mcp--a--x", "mcp")]
    custom = [Named("zebra", "edit"), Named("ant", "read")]
    builtin = [Named("read_file", "read"), Named("apply_diff", "edit")]
    orders = {
        tuple(names(build_toolset(mode, builtin, mcp=m, custom=c)))
        for m in (mcp, mcp[::-1])
        for c in (custom, custom[::-1])
    }
    assert orders == {("read_file", "apply_diff", "mcp--a--x", "mcp--b--x", "ant", "zebra")}


def test_a_withheld_tool_says_why() -> None:
    tools = [
        Named("execute_command", "command"),
        Named("generate_image", "edit"),
        Named("apply_patch", "edit", opt_in=True),
        Named("apply_diff", "edit"),
        Named("read_file", "read"),
    ]
    chosen = ToolChoices(exclude=("apply_diff",), disabled=("read_file",))
    toolset = build_toolset(mode_of("architect", None), tools, choices=chosen)
    assert {each.name: each.reason for each in toolset.withheld} == {
        "execute_command": "It is in the group 'command', which this mode does not have.",
        "generate_image": "Image generation is switched off.",
        "apply_patch": "It is offered only to models whose settings include it.",
        "apply_diff": "The settings for this model leave it out.",
        "read_file": "The settings disable it.",
    }


def test_a_custom_tool_cannot_take_the_name_of_a_built_in_one() -> None:
    toolset = build_toolset(mode_of("code", None), [Named("read_file", "read")], custom=[Named("read_file", "read")])
    assert [(each.origin, each.reason) for each in toolset.withheld] == [
        ("custom", "A tool with the same name came first (built-in).")
    ]


@pytest.mark.parametrize("case", cases("roo/functions", fn="resolveToolAlias"), ids=lambda case: case["test"])
def test_an_alias_is_resolved_as_in_the_real_system(case: Any) -> None:
    call = Registry(build_toolset(mode_of("code", None), roo_tools())).resolve(ToolUseBlock("c", case["args"][0], {}))
    assert isinstance(call, ResolvedCall) and call.tool.name == case["out"]


def test_a_tool_offered_under_its_alias_is_found_under_both_names() -> None:
    chosen = ToolChoices(include=("search_and_replace",))
    registry = Registry(build_toolset(mode_of("code", None), roo_tools(), choices=chosen))
    found = [registry.resolve(ToolUseBlock("c", name, {})) for name in ("edit", "search_and_replace")]
    assert all(isinstance(call, ResolvedCall) and call.tool.name == "edit" for call in found)
    assert "search_and_replace" in [spec.name for spec in registry.toolset.specs]
