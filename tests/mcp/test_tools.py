from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.actions import CallServer, WritePath
from joey.app.calls import CallRunner
from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.listing import ListedTool, ServerListing, fixed_tools
from joey.mcp.offer import offers
from joey.mcp.servers import McpServers
from joey.mcp.tool import McpTool
from joey.messages import ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.policy import Settings, Workspace
from joey.tools.base import ToolContext
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.toolset import Toolset, build_toolset
from mcp_kit import raw_config, running

MODES = {mode.slug: mode for mode in BUILTIN_MODES}
WRITER = ListedTool(
    "write", "Writes.", {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}
)


def still(*tools: ListedTool, name: str = "files") -> McpServers:
    """A server that says it has these tools, and does not run."""
    servers = McpServers([replace(raw_config("x"), name=name)])
    servers.servers[0].listing = ServerListing(tuple(tools))
    servers.servers[0]._become("down", "it is not meant to run")
    return servers


def toolset(servers: McpServers, mode: str = "code", *, in_text: bool = False) -> Toolset:
    offer = offers(servers, in_text=in_text)()
    return build_toolset(MODES[mode], offer.builtin, mcp=offer.tools)


async def run(servers: McpServers, context: ToolContext, call: ToolUseBlock, **settings: Any) -> ToolResult:
    mode = settings.pop("mode", "code")
    registry = Registry(toolset(servers, mode))
    runner = CallRunner(registry, context, Settings().changed(**settings), Workspace.of(context.workspace))
    return await runner.run(call)


def use(**arguments: Any) -> ToolUseBlock:
    return ToolUseBlock("c", "use_mcp_tool", arguments)


async def test_use_mcp_tool_calls_by_names_and_says_what_there_is(context: ToolContext) -> None:
    async with running(raw_config("my-server")) as servers:

        async def answer(**arguments: Any) -> Any:
            return json.loads((await run(servers, context, use(**arguments), mcp="allow")).text)

        called = use(server_name="my_server", tool_name="good", arguments='{"x": "1"}')
        assert (await run(servers, context, called, mcp="allow")).text == "called with {'x': 1}"
        unknown = await answer(server_name="other", tool_name="good", arguments={})
        assert unknown["type"] == "unknown_server" and unknown["available_servers"] == ["my-server"]
        unknown = await answer(server_name="my-server", tool_name="bad", arguments={})
        assert unknown["type"] == "unknown_tool" and unknown["available_tools"] == ["good"]
        wrong = await answer(server_name="my-server", tool_name="good", arguments={"x": "one", "y": 2})
        assert wrong["type"] == "invalid_argument" and "not of type 'integer'" in wrong["message"]
        assert "'y' was unexpected" in wrong["message"] and wrong["schema"]["properties"] == {"x": {"type": "integer"}}


async def test_a_call_needs_leave_unless_the_tool_is_always_allowed(context: ToolContext) -> None:
    async with running(raw_config("good")) as servers:
        call = ToolUseBlock("c", "mcp__good__good", {"x": 1})
        refused = await run(servers, context, call)
        assert refused.is_error and "denied" in refused.text
        assert not (await run(servers, context, call, mcp_allow=("good/good",))).is_error
        assert not (await run(servers, context, call, mcp_allow=("good/*",))).is_error
        assert (await run(servers, context, call, mcp="deny", mcp_allow=("good/*",))).is_error
        through = use(server_name="good", tool_name="good", arguments={"x": 1})
        assert (await run(servers, context, through)).is_error
        assert not (await run(servers, context, through, mcp_allow=("good/good",))).is_error


async def test_the_file_rules_of_a_mode_hold_for_servers_tools(context: ToolContext) -> None:
    servers = still(WRITER)
    for call in (
        ToolUseBlock("c", "mcp--files--write", {"path": "a.py"}),
        use(server_name="files", tool_name="write", arguments={"path": "a.py"}),
    ):
        refused = await run(servers, context, call, mode="architect", mcp="allow", writes="allow")
        assert "can only edit files matching pattern" in refused.text
    assert "is not running: it is not meant to run" in (
        await run(servers, context, replace(call, arguments={**call.arguments, "arguments": {"path": "a.md"}}),
                  mode="architect", mcp="allow", writes="allow")
    ).text  # fmt: skip


def test_what_a_call_would_do_is_declared() -> None:
    (tool,) = ServerCatalogue(still(WRITER)).tools
    params = tool.checked({"path": "x/y", "n": "3"})
    assert not isinstance(params, str) and params.root == {"path": "x/y", "n": 3}
    assert tool.actions(params, ToolContext(Path(), Path())) == (CallServer("files", "write"), WritePath("x/y"))


def test_wrong_arguments_are_reported_before_anyone_is_prompted() -> None:
    registry = Registry(toolset(still(WRITER)))
    rejected = registry.resolve(ToolUseBlock("c", "mcp--files--write", {"path": 5, "pth": "x"}))
    assert isinstance(rejected, RejectedCall) and rejected.reason == "invalid_arguments"
    assert "\"path\": 5 is not of type 'string'" in rejected.message and "'pth' was unexpected" in rejected.message


def test_names_that_providers_refuse_are_made_safe_and_lead_back() -> None:
    odd = [replace(WRITER, name=name) for name in ("a.b", "ab", "x" * 90, "größe")]
    catalogue = ServerCatalogue(still(*odd, name="my server"))
    for tool in catalogue.tools:
        assert len(tool.name) <= 64 and tool.name.isascii()
        assert catalogue.find("my server", tool.tool.name) is tool
    registry = Registry(build_toolset(MODES["code"], (), mcp=catalogue.tools))
    for tool in catalogue.tools:
        resolved = registry.resolve(ToolUseBlock("c", tool.name, {}))
        assert isinstance(resolved, ResolvedCall) and resolved.tool is tool


def test_in_text_protocols_tools_are_reached_through_use_mcp_tool() -> None:
    native, text = toolset(still(WRITER)), toolset(still(WRITER), in_text=True)
    assert [spec.name for spec in native.specs] == ["mcp--files--write"]
    (spec,) = text.specs
    assert spec.name == "use_mcp_tool" and "- write: Writes." in spec.description and '"path"' in spec.description
    resolved = Registry(text).resolve(ToolUseBlock("c", "mcp--files--write", {"path": "x"}))
    assert isinstance(resolved, ResolvedCall) and isinstance(resolved.tool, McpTool)


def test_too_many_definitions_are_named_instead_of_listed() -> None:
    heavy = [replace(WRITER, name=f"t{n}", description="words " * 300) for n in range(100)]
    find, spec = toolset(still(*heavy)).specs
    assert find.name == "find_mcp_tools" and "Server files: 100 tools" in find.description
    assert spec.name == "use_mcp_tool" and "- t99" in spec.description and "words" not in spec.description


VERBS = ("create", "delete", "list", "update", "close", "assign", "label", "merge", "archive", "export")
NOUNS = ("issue", "pull_request", "branch", "release", "comment", "project", "milestone", "user", "team", "webhook")


def many(count: int) -> list[ListedTool]:
    """Tools as servers of forges have them: each with some words and a schema of eight arguments."""
    names = [f"{verb}_{noun}{suffix}" for suffix in ("", "_in_organization") for verb in VERBS for noun in NOUNS]
    fields = {f"argument_{n}": {"type": "string", "description": "What it is for, in a few words."} for n in range(8)}
    schema = {"type": "object", "properties": fields, "required": ["argument_0"]}
    return [ListedTool(name, f"{name.replace('_', ' ').capitalize()}. " * 3, schema) for name in names[:count]]


def cost(servers: McpServers, *, in_text: bool = False) -> int:
    """About how many tokens the tools take in each request."""
    specs = toolset(servers, in_text=in_text).specs
    return sum(len(json.dumps([spec.name, spec.description, spec.schema])) for spec in specs) // 4


@pytest.mark.parametrize("in_text", [False, True])
def test_two_hundred_tools_cost_no_more_than_twenty(in_text: bool) -> None:
    few, all_of_them = cost(still(*many(20)), in_text=in_text), cost(still(*many(200)), in_text=in_text)
    assert few > 3000 and all_of_them < few, (few, all_of_them)


async def test_a_tool_that_is_not_listed_is_found_with_its_schema(context: ToolContext) -> None:
    servers = still(*many(200))
    call = ToolUseBlock("c", "find_mcp_tools", {"query": "assign pull requests"})
    found = (await run(servers, context, call)).text
    first, *_ = found.split("\n")
    assert first == "server_name: files, tool_name: assign_pull_request" and '"argument_7"' in found
    assert found.count("server_name: ") == 8 and "Call one with use_mcp_tool" in found
    nothing = await run(servers, context, ToolUseBlock("c", "find_mcp_tools", {"query": "zebra"}))
    assert "No tool was found for 'zebra'" in nothing.text


def test_disabled_tools_are_not_offered() -> None:
    servers = still(WRITER, replace(WRITER, name="erase"))
    servers.servers[0].config = replace(servers.servers[0].config, disabled_tools=("erase",))
    assert [tool.tool.name for tool in ServerCatalogue(servers).tools] == ["write"]


def test_without_resources_their_tool_is_withheld() -> None:
    assert [each.reason for each in toolset(still(WRITER)).withheld] == ["No MCP server offers resources."]


NAMES = st.sampled_from(["a", "b", "path"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
LEAVES: list[Any] = [
    *(True, False, {}, {"type": "string"}, {"type": ["integer", "null"]}, {"enum": [1, "a"]}, {"const": None}),
    *({"$ref": "#/$defs/a"}, {"$ref": "#"}, {"format": "uri"}, {"type": "integr"}, {"pattern": "("}),
]
SCHEMAS = st.recursive(
    st.sampled_from(LEAVES) | JSON,
    lambda inner: st.fixed_dictionaries({}, optional={
        "type": st.sampled_from(["object", "array"]),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "$defs": st.dictionaries(NAMES, inner, max_size=2),
        **dict.fromkeys(["items", "additionalProperties", "not"], inner),
        **dict.fromkeys(["anyOf", "oneOf", "allOf", "prefixItems"], st.lists(inner, min_size=1, max_size=2)),
    }),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.property
@given(schema=SCHEMAS, arguments=st.dictionaries(NAMES, JSON, max_size=3))
def test_no_schema_a_server_can_send_breaks_anything(schema: Any, arguments: dict[str, Any]) -> None:
    kept, problems = fixed_tools([{"name": "it", "inputSchema": schema}])
    assert len(kept) + len(problems) == 1
    for entry in kept:
        servers = still(ListedTool("it", "", entry["inputSchema"]))
        catalogue = ServerCatalogue(servers)
        assert len(catalogue.tools) + len(catalogue.problems) == 1
        for tool in catalogue.tools:
            registry = Registry(build_toolset(MODES["code"], (), mcp=[tool]))
            registry.resolve(ToolUseBlock("c", tool.name, arguments))
