from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.mcp import names as mcpnames
from joey.mcp.names import LIMIT, McpNames, ServerTool
from vectors_data import cases

OTHERWISE = {
    "buildMcpToolName-11": "a name that is only cut off cannot be told from others; ours ends in a hash",
}

FUNCTIONS = {
    "normalizeForComparison": mcpnames.loosely,
    "toolNamesMatch": mcpnames.same_name,
    "isMcpTool": mcpnames.is_mcp_name,
    "sanitizeMcpName": mcpnames.safe_part,
    "buildMcpToolName": mcpnames.offered_name,
    "normalizeMcpToolName": mcpnames.canonical,
}
WORDS = (
    st.text(alphabet="ab-_. 1é", max_size=8) | st.text(max_size=5) | st.text(alphabet="ab-", min_size=40, max_size=70)
)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=12, unique=True)


@pytest.mark.parametrize(
    "case", [case for name in FUNCTIONS for case in cases("roo/names_and_lines", set=name)], ids=lambda c: c["id"]
)
def test_names_are_made_as_recorded(case: Any) -> None:
    found = FUNCTIONS[case["set"]](*case["args"])  # type: ignore[operator]
    assert (found == case["expected"]) is (case["id"] not in OTHERWISE)


@pytest.mark.parametrize("case", cases("roo/names_and_lines", set="parseMcpToolName"), ids=lambda c: c["id"])
def test_names_are_taken_apart_as_recorded(case: Any) -> None:
    expected = case["expected"] and ServerTool(case["expected"]["serverName"], case["expected"]["toolName"])
    assert mcpnames.split(*case["args"]) == expected


@pytest.mark.parametrize("case", cases("roo/native", category="mcp"), ids=lambda c: c["id"])
def test_names_in_recorded_streams_give_server_and_tool(case: Any) -> None:
    names = {chunk["id"]: chunk["name"] for chunk in case["chunks"] if "name" in chunk}
    uses = {final["id"]: final["tool_use"] for final in case["end"]["finals"]}
    for call_id, name in names.items():
        use, found = uses[call_id], mcpnames.split(name)
        if use is not None and use["type"] == "mcp_tool_use":
            assert found == ServerTool(use["serverName"], use["toolName"])
            assert mcpnames.canonical(name) == use["name"]
        elif use is not None or not _is_broken_json(case, call_id):
            assert found is None


def _is_broken_json(case: Any, call_id: str) -> bool:
    return any(chunk.get("arguments") == '{"bad":' for chunk in case["chunks"] if chunk.get("id") == call_id)


@pytest.mark.property
@given(PAIRS)
def test_every_tool_has_one_legal_name_that_leads_back(pairs: list[tuple[str, str]]) -> None:
    names = McpNames(pairs)
    assert len(names) == len(pairs)
    for server, tool in pairs:
        name = names.name(server, tool)
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        assert names.find(name) == ServerTool(server, tool)
        assert names.find_pair(server, tool) == ServerTool(server, tool)


@pytest.mark.property
@given(PAIRS, st.randoms())
def test_names_do_not_depend_on_the_order_of_the_tools(pairs: list[tuple[str, str]], rng: Any) -> None:
    shuffled = list(pairs)
    rng.shuffle(shuffled)
    assert dict(McpNames(pairs)) == dict(McpNames(shuffled))


@pytest.mark.parametrize(
    "spelling",
    [
        "mcp--my-server--get-user",
        "mcp__my_server__get_user",
        "mcp--my_server__get-user",
        "my-server__get-user",
        "my_server__get_user",
        "my-server--get-user",
    ],
)
def test_a_tool_is_found_in_the_spellings_models_use(spelling: str) -> None:
    names = McpNames([("my-server", "get-user"), ("my-server", "get-users")])
    assert names.find(spelling) == ServerTool("my-server", "get-user")


def test_a_server_name_may_contain_the_separator() -> None:
    names = McpNames([("a__b", "c"), ("a", "d")])
    assert names.find("mcp--a__b--c") == names.find("mcp__a__b__c") == ServerTool("a__b", "c")


def test_a_spelling_that_matches_two_tools_finds_none() -> None:
    names = McpNames([("a", "b__c"), ("a__b", "c")])
    assert names.find("mcp__a__b__c") is None
    assert names.find("mcp--a--b__c") == ServerTool("a", "b__c")


def test_long_names_are_told_apart_and_found() -> None:
    long = "a-very-long-tool-name-that-goes-on-and-on-until-it-is-too-long"
    names = McpNames([("server", f"{long}-one"), ("server", f"{long}-two")])
    one, two = names.name("server", f"{long}-one"), names.name("server", f"{long}-two")
    assert one != two and max(len(one), len(two)) <= LIMIT
    assert names.find(one.replace("-", "_")) == ServerTool("server", f"{long}-one")
    assert names.find(f"server__{long}-two") == ServerTool("server", f"{long}-two")


def test_tools_that_differ_only_in_unsafe_characters_keep_apart() -> None:
    names = McpNames([("s", "get.user"), ("s", "get:user")])
    assert names.name("s", "get.user") != names.name("s", "get:user")
    assert names.find("mcp--s--getuser") is None


def test_two_names_in_the_models_spelling_find_the_tool() -> None:
    names = McpNames([("My Server", "get-user")])
    assert names.find_pair("My_Server", "get_user") == ServerTool("My Server", "get-user")
    assert names.find_pair("My_Server", "other") is None
