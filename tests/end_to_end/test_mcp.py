"""Whole tasks with MCP servers, as people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from joey.system.trust import TrustStore
from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

TESTS = Path(__file__).parents[1]
RAW = {"command": sys.executable, "args": [str(TESTS / "mcp" / "raw_server.py"), "good"], "alwaysAllow": ["good"]}
SDK = {"command": sys.executable, "args": [str(TESTS / "mcp_kit_server.py")]}
GIT = Path(sys.executable).parent / "mcp-server-git"
GIT_SERVER = {"command": str(GIT), "alwaysAllow": ["git_status"]}


def set_up(joey: JoeyProcess, *, trusted: bool = True) -> None:
    joey.write(".mcp.json", json.dumps({"mcpServers": {"it": RAW}}))
    if trusted:
        TrustStore(joey.home / ".config/joey/trusted.json").trust(joey.workspace)


async def test_native_calls_reach_a_projects_server_and_a_real_one_of_the_users(joey: JoeyProcess) -> None:
    if not GIT.exists():
        pytest.skip("mcp-server-git is not installed")
    set_up(joey)
    joey.write("~/.config/joey/mcp.json", json.dumps({"mcpServers": {"git": GIT_SERVER}}))
    subprocess.run(["git", "init", "-q", str(joey.workspace)], check=True)  # noqa: ASYNC221
    status = {"repo_path": str(joey.workspace)}
    script = [
        reply(call("1", "use_mcp_tool", server_name="it", tool_name="good", arguments={"x": 7})),
        reply(call("2", "mcp--it--good", x=8), call("3", "mcp--it--good", x="no number")),
        reply(call("4", "use_mcp_tool", server_name="git", tool_name="git_status", arguments=status)),
        reply(call("5", "mcp--git--git_log", **status)),
        done(),
    ]
    ran = await joey.run(script, "go", "--approve", "edits")  # an argument named like a path counts as a change to it
    assert (ran.code, ran.out) == (0, "All done.\n"), ran.err
    assert "called with {'x': 7}" in ran.sent(1), "a server that is only starting is waited for"
    assert "mcp--it--good" in [tool["name"] for tool in ran.requests[1]["tools"]]
    assert "called with {'x': 8}" in ran.sent(2) and "is not of type 'integer'" in ran.sent(2)
    assert "Untracked files" in ran.sent(3)
    assert "no user is there to approve" in ran.sent(4), "only what alwaysAllow names is called without asking"


async def test_text_calls_reach_tools_and_resources_of_a_server_made_with_the_sdk(joey: JoeyProcess) -> None:
    joey.write("~/.config/joey/mcp.json", json.dumps({"mcpServers": {"kit": SDK}}))
    script = [
        reply(
            "<use_mcp_tool>\n<server_name>kit</server_name>\n<tool_name>add</tool_name>\n"
            '<arguments>\n{"a": 20, "b": 22}\n</arguments>\n</use_mcp_tool>'
        ),
        reply(
            "<access_mcp_resource>\n<server_name>kit</server_name>\n<uri>kit://notes/first</uri>\n</access_mcp_resource>"
        ),
        reply("<attempt_completion>\n<result>Added.</result>\n</attempt_completion>"),
    ]
    ran = await joey.run(script, "go", "--protocol", "xml", "--approve", "all")
    assert (ran.code, ran.out) == (0, "Added.\n"), ran.err
    assert "use_mcp_tool" in ran.sent(0) and not ran.requests[0].get("tools")
    assert "42" in ran.sent(1).partition("</use_mcp_tool>")[2]
    assert "Add two numbers." in ran.sent(1) and "kit://notes/first" in ran.sent(1), "the prompt tells what there is"
    assert "the first note" in ran.sent(2)


async def test_a_server_of_a_project_nobody_trusts_is_not_started(joey: JoeyProcess) -> None:
    set_up(joey, trusted=False)
    script = [reply(call("1", "use_mcp_tool", server_name="it", tool_name="good", arguments={"x": 7})), done()]
    ran = await joey.run(script, "go", "--approve", "all")
    assert "MCP servers are not started (it): the workspace is not trusted" in ran.err
    assert "called with" not in ran.sent(1)
