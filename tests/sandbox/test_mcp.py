"""An MCP server inside: it answers as ever, and cannot write elsewhere."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from joey.mcp.config import load_servers
from joey.mcp.transports import server_command
from joey.tools.base import ToolContext
from mcp_kit import call, kit_config, raw_config, running
from sandbox_kit import SECRET, World


async def test_a_server_answers_from_inside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.open("full")  # skips where there is none
    monkeypatch.setenv("HOME", str(world.home))
    context = ToolContext(world.workspace, world.home / "storage")
    settings = {"cwd": str(world.workspace), "sandbox": "none", "env": (("MY_TOKEN", "given"),)}
    async with running(replace(kit_config(), **settings)) as servers:  # type: ignore[arg-type]
        assert (await call(servers, "kit", "add", context, a=1, b=2)).text == "3"
        assert (await call(servers, "kit", "environment", context, name="MY_TOKEN")).text == "given"


async def test_a_server_inside_writes_nowhere_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.open("full")
    monkeypatch.setenv("HOME", str(world.home))
    code = f"import sys; print(open({str(world.home / '.ssh/id_ed25519')!r}).read(), file=sys.stderr)"
    server = replace(raw_config("x"), args=("-c", code), cwd=str(world.workspace), sandbox="on")
    async with running(server) as servers:
        [started] = servers.servers
        assert started.state in ("failed", "down") and "Permission denied" in started.why_not
        assert SECRET not in started.why_not


def test_a_configured_sandbox_is_read_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(
        '{"mcpServers": {"a": {"command": "x", "sandbox": true}, "b": {"command": "x", "sandbox": "none"},'
        ' "c": {"command": "x"}, "d": {"command": "x", "sandbox": 3},'
        ' "e": {"type": "sse", "url": "http://x", "sandbox": true}}}'
    )
    loaded = load_servers(tmp_path, tmp_path, trusted=False)
    assert {each.name: each.sandbox for each in loaded.servers} == {"a": "on", "b": "none", "c": ""}
    assert len(loaded.problems) == 2 and '"sandbox" must be true' in str(loaded.problems[0])
    first, _, third = loaded.servers
    assert server_command(third) == ["x"]
    assert server_command(first)[:6] == [sys.executable, "-P", "-m", "joey", "sandbox", "--require"]
    assert server_command(first)[-2:] == ["--", "x"]
