from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from joey.mcp import stdio
from joey.mcp.catalogue import Catalogue
from joey.mcp.servers import McpServers
from joey.tools.base import ToolContext
from mcp_kit import call, kit_config, raw_config, running


async def until(condition: object, *, what: str) -> None:
    """Wait for a condition to hold, as long as the test may run."""
    assert callable(condition)
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"never happened: {what}")


async def test_tools_of_a_server_can_be_called(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    async with running(kit_config(env=(("GIVEN", "yes"),))) as servers:
        assert (await call(servers, "kit", "add", context, a=1, b="2")).text == "3"
        assert (await call(servers, "kit", "environment", context, name="GIVEN")).text == "yes"
        hidden = await call(servers, "kit", "environment", context, name="ANTHROPIC_API_KEY")
        assert hidden.text == "(not set)", "our keys are none of a server's business"
        long = await call(servers, "kit", "long_text", context, size=200_000)
        assert "was kept whole" in long.text and len(long.text) < 50_000


async def test_without_the_sdk_a_server_fails_once_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "joey.mcp.session", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.client.client", None)
    async with running(kit_config()) as servers:
        [server] = servers.servers
        assert server.state == "failed"
        assert "pip install 'joey[mcp]'" in server.why_not


async def test_progress_is_shown_and_cancelling_reaches_the_server(context: ToolContext, tmp_path: Path) -> None:
    seen = asyncio.Event()
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        seen.set()

    async with running(kit_config()) as servers:
        marker = tmp_path / "marker"
        watching = replace(context, progress=show)
        calling = asyncio.create_task(call(servers, "kit", "slow", watching, seconds=60, marker=str(marker)))
        await seen.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(marker.exists, what="the server hears that the call was cancelled")
    assert shown == ["half of it (1/2)\n"]


async def test_a_list_that_changes_is_read_again(context: ToolContext) -> None:
    async with running(kit_config()) as servers:
        before = servers.version
        assert (await call(servers, "kit", "grow", context)).text == "there is one more"
        await until(lambda: servers.version > before, what="the list is read again")
        assert (await call(servers, "kit", "grown", context)).text == "grown"


async def test_a_server_that_dies_is_started_again_and_its_calls_fail_clearly(context: ToolContext) -> None:
    async with running(kit_config(), first_pause=0.5) as servers:
        (server,) = servers.servers
        died = await call(servers, "kit", "die", context)
        assert died.is_error and "connection to the server was lost" in died.text
        await until(lambda: server.state == "down", what="the server is known to be down")
        meanwhile = await call(servers, "kit", "add", context, a=1, b=2)
        assert meanwhile.is_error and "is not running" in meanwhile.text and "started again after" in meanwhile.text
        assert "farewell from the server" in meanwhile.text and "exit status 3" in meanwhile.text
        await until(lambda: server.state == "starting", what="it is started again")
        assert (await call(servers, "kit", "add", context, a=1, b=2)).text == "3", "a call waits for a start"


async def test_starting_holds_up_nobody_and_a_hung_server_only_itself(context: ToolContext) -> None:
    servers = McpServers([raw_config("hung", timeout=1.0), raw_config("good")], first_pause=60)
    servers.start()
    hung, good = servers.servers
    try:
        assert [server.state for server in servers.servers] == ["starting", "starting"]
        catalogue = Catalogue(servers)
        assert catalogue.needs_use_mcp_tool and "Server good (starting" in catalogue.text
        await good.settled()
        assert (await call(servers, "good", "good", context, x=1)).text == "called with {'x': 1}"
        await hung.settled()
        assert "did not answer within 1 s" in hung.why_not
    finally:
        await servers.close()
    assert [server.state for server in servers.servers] == ["stopped", "stopped"]


async def test_a_call_that_is_never_answered_ends_at_its_timeout(context: ToolContext) -> None:
    async with running(raw_config("deaf", timeout=3)) as servers:
        result = await call(servers, "deaf", "good", context)
        assert result.is_error and "no answer within 3 s" in result.text
        assert servers.servers[0].state == "ready"


async def test_a_server_that_floods_is_cut_off(context: ToolContext) -> None:
    async with running(raw_config("flooding"), first_pause=60) as servers:
        (server,) = servers.servers
        assert "log line on the wrong stream" in server.words.text and len(server.words.text) < 20_000
        result = await call(servers, "flooding", "good", context)
        assert result.is_error and "connection to the server was lost" in result.text
        await until(lambda: server.state == "down", what="the server is cut off")
        assert f"more than {stdio.MAX_MESSAGE // 1024 // 1024} MB" in server.why_not


async def test_lists_come_in_pages_and_an_endless_one_is_cut(context: ToolContext) -> None:
    async with running(raw_config("pages"), raw_config("endless")) as servers:
        pages, endless = servers.servers
        assert [tool.name for tool in pages.listing.tools] == [f"tool_{page}" for page in range(5)]
        assert endless.state == "ready" and "does not end" in endless.listing.problems[0]


async def test_a_server_that_lies_about_schemas_is_reported_and_its_good_tools_work(context: ToolContext) -> None:
    async with running(raw_config("lying")) as servers:
        catalogue = Catalogue(servers)
        told = "\n".join(problem for _, problem in catalogue.problems)
        for lie in ("has no name", "'text schema'", "'array'", "'bad type'", "'*'", "'good' is listed twice"):
            assert lie in told
        assert catalogue.tool_names("lying") == ["good", "no schema at all", "far", "required", "promises"]
        required = catalogue.find("lying", "required")
        assert required and required.schema["required"] == ["x"] and "ghost" in required.notes[0]
        assert (await call(servers, "lying", "far", context, x=1)).text == "called with {'x': 1}"
        broken = await call(servers, "lying", "promises", context)
        assert '"n": "many"' in broken.text and "not what the server's own schema promises" in broken.text


async def test_a_program_that_is_not_there_is_not_tried_again(context: ToolContext) -> None:
    missing = replace(raw_config("x"), command="no-such-program-here")
    async with running(missing) as servers:
        assert servers.servers[0].state == "failed"
        assert "No such file or directory (no-such-program-here)" in servers.servers[0].why_not


async def test_closing_ends_a_server_that_will_not_leave_and_what_it_started(tmp_path: Path) -> None:
    script = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}.')\n"
        "time.sleep(600)\n"
    )
    stubborn = replace(raw_config("x"), args=("-c", script))
    servers = McpServers([stubborn])
    servers.start()
    pids = tmp_path / "pids"
    await until(lambda: pids.exists() and pids.read_text().endswith("."), what="the server runs")
    await servers.close()
    for pid in re.findall(r"\d+", pids.read_text()):
        await until(lambda pid=pid: not _alive(int(pid)), what=f"process {pid} is gone")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_a_server_over_http_works_and_is_reached_again_after_a_restart(
    context: ToolContext, transport: str, unused_tcp_port: int
) -> None:
    script = Path(__file__).parent / "sdk_server.py"
    arguments = [sys.executable, str(script), str(unused_tcp_port), transport]
    path = "mcp" if transport == "streamable-http" else "sse"
    url = f"http://127.0.0.1:{unused_tcp_port}/{path}"
    config = replace(kit_config(), transport=transport, url=url, headers=(("X-Key", "k"),), command="")  # type: ignore[arg-type]
    process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.DEVNULL)
    servers = McpServers([config], first_pause=0.2)
    servers.start()
    (server,) = servers.servers
    try:
        await until(lambda: server.state == "ready", what="the server answers")
        assert (await call(servers, "kit", "add", context, a=20, b=22)).text == "42"
        process.send_signal(signal.SIGKILL)
        await process.wait()
        lost = await call(servers, "kit", "add", context, a=1, b=1)
        assert lost.is_error
        await until(lambda: server.state != "ready", what="the loss is noticed")
        process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.DEVNULL)
        await until(lambda: server.state == "ready", what="it is reached again")
        assert (await call(servers, "kit", "add", context, a=2, b=2)).text == "4"
    finally:
        await servers.close()
        process.kill()
        await process.wait()
