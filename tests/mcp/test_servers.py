"""Servers that misbehave, each in one way. They are plain programs that start in no time (raw_server.py)."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from joey.mcp import transports
from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.config import ServerConfig
from joey.mcp.errors import ErrorOutput
from joey.mcp.servers import McpServers
from joey.system.installation import add_extra
from joey.tools.base import ToolContext
from mcp_kit import call, raw_config, running, until


async def test_without_the_sdk_a_server_fails_once_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "joey.mcp.session", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.client.client", None)
    async with running(raw_config("good")) as servers:
        [server] = servers.servers
        assert server.state == "failed"
        assert add_extra("mcp") in server.why_not


async def test_progress_is_shown_and_cancelling_reaches_the_server(context: ToolContext, tmp_path: Path) -> None:
    seen = asyncio.Event()
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        seen.set()

    async with running(raw_config("slow")) as servers:
        marker = tmp_path / "marker"
        tool = ServerCatalogue(servers).find("slow", "good")
        assert tool is not None
        arguments = tool.params.model_construct({"marker": str(marker)})
        calling = asyncio.create_task(tool.run(arguments, replace(context, progress=show)))
        await seen.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(marker.exists, what="the server hears that the call was cancelled")
    assert shown == ["half (1/2)\n"]


async def test_a_list_that_changes_is_read_again_but_not_as_often_as_the_server_shouts(context: ToolContext) -> None:
    async with running(raw_config("changing")) as servers:
        before = servers.version
        assert (await call(servers, "changing", "good", context)).text == "lists read: 1"
        await until(lambda: servers.version > before, what="the list is read again")
        assert (await call(servers, "changing", "grown", context)).text in ("lists read: 2", "lists read: 3")


async def test_a_server_that_will_not_list_its_tools_again_keeps_those_it_had(context: ToolContext) -> None:
    async with running(raw_config("moody")) as servers:
        (server,) = servers.servers
        await call(servers, "moody", "good", context)
        await until(lambda: bool(server.listing.problems), what="the refusal is noted")
        assert "not now" in server.listing.problems[0] and server.state == "ready"
        assert (await call(servers, "moody", "good", context, x=2)).text == "called with {'x': 2}"


async def test_a_server_that_dies_in_a_call_is_started_again_and_calls_fail_clearly(context: ToolContext) -> None:
    servers = McpServers([raw_config("dying")], first_pause=0.2)
    servers.start()
    (server,) = servers.servers
    try:
        await servers.settled()
        died = await call(servers, "dying", "good", context)
        assert died.is_error and "connection to the server was lost" in died.text and "is not known" in died.text
        await until(lambda: server.state == "down", what="the server is known to be down")
        assert "started again after 0.2 s" in server.why_not
        assert "farewell from the server" in server.why_not and "exit status 3" in server.why_not
        await until(lambda: server.state == "ready", what="it is started again")
        await call(servers, "dying", "good", context)
        await until(lambda: server.state == "down", what="it is down again")
        assert "started again after 0.4 s" in server.why_not, "the pause grows"
        meanwhile = await call(servers, "dying", "good", context)
        assert meanwhile.is_error and "is not running" in meanwhile.text
    finally:
        await servers.close()


async def test_starting_holds_up_nobody_and_a_hung_server_only_itself(context: ToolContext) -> None:
    servers = McpServers([raw_config("hung", timeout=1.0), raw_config("good")], first_pause=60)
    servers.start()
    hung, good = servers.servers
    try:
        assert [server.state for server in servers.servers] == ["starting", "starting"]
        catalogue = ServerCatalogue(servers)
        assert catalogue.needs_use_mcp_tool and "Server good (starting" in catalogue.text
        await good.settled()
        assert (await call(servers, "good", "good", context, x=1)).text == "called with {'x': 1}"
        await hung.settled()
        assert "did not answer within 1 s" in hung.why_not
    finally:
        await servers.close()
    assert [server.state for server in servers.servers] == ["stopped", "stopped"]


async def test_calls_that_are_never_answered_end_at_their_timeout(context: ToolContext) -> None:
    shown: list[str] = []
    async with running(raw_config("deaf", timeout=2), raw_config("restless", timeout=2)) as servers:
        watching = replace(context, progress=shown.append)
        results = await asyncio.gather(*(call(servers, name, "good", watching) for name in ("deaf", "restless")))
        assert all(result.is_error and "no answer within 2 s" in result.text for result in results)
        assert [server.state for server in servers.servers] == ["ready", "ready"]
    assert 1 <= len(shown) < 100, "however often a server reports progress, it is shown now and then"


async def test_a_server_that_floods_is_cut_off(context: ToolContext) -> None:
    async with running(raw_config("flooding"), first_pause=60) as servers:
        (server,) = servers.servers
        assert "log line on the wrong stream" in server.words.text and len(server.words.text) < 20_000
        result = await call(servers, "flooding", "good", context)
        assert result.is_error and "connection to the server was lost" in result.text
        await until(lambda: server.state == "down", what="the server is cut off")
        assert f"more than {transports.MAX_MESSAGE // 1024 // 1024} MB" in server.why_not


async def test_nonsense_between_the_messages_costs_nothing(context: ToolContext) -> None:
    async with running(raw_config("babbling"), raw_config("asking")) as servers:
        assert (await call(servers, "babbling", "good", context, x=1)).text == "called with {'x': 1}"
        refused = await call(servers, "asking", "good", context)
        assert refused.text.startswith("the client said -"), "a server may not use the user's model"
        assert [server.state for server in servers.servers] == ["ready", "ready"]


async def test_an_answer_nested_beyond_reading_fails_alone_and_at_once(context: ToolContext) -> None:
    async with running(raw_config("deep")) as servers:
        for depth in (1, 2):
            result = await call(servers, "deep", "good", context, x=depth)
            assert result.is_error and "cannot be read" in result.text
        assert servers.servers[0].state == "ready"


async def test_lists_come_in_pages_and_an_endless_one_is_cut(context: ToolContext) -> None:
    async with running(raw_config("pages"), raw_config("endless")) as servers:
        pages, endless = servers.servers
        assert [tool.name for tool in pages.listing.tools] == [f"tool_{page}" for page in range(5)]
        assert endless.state == "ready" and "does not end" in endless.listing.problems[0]


async def test_a_server_that_lies_about_schemas_is_reported_and_its_good_tools_work(context: ToolContext) -> None:
    async with running(raw_config("lying")) as servers:
        catalogue = ServerCatalogue(servers)
        reported = "\n".join(problem for _, problem in catalogue.problems)
        lies = ("has no name", "'text schema'", "'array'", "'bad type'", "'*'", "'good' is listed twice", "'abyss'")
        for lie in lies:
            assert lie in reported
        required = catalogue.find("lying", "required")
        assert required and required.schema["required"] == ["x"] and "ghost" in required.notes[0]
        assert (await call(servers, "lying", "far", context, x=1)).text == "called with {'x': 1}"
        broken = await call(servers, "lying", "promises", context)
        assert '"n": "many"' in broken.text and "not what the server's own schema promises" in broken.text


async def test_schemas_that_refer_to_themselves_and_odd_names_can_be_used(context: ToolContext) -> None:
    async with running(raw_config("lying")) as servers:
        catalogue = ServerCatalogue(servers)
        tree = catalogue.find("lying", "tree")
        assert tree is not None and not isinstance(tree.checked({"node": {"next": {"next": {"n": 1}}}}), str)
        assert "is not of type 'integer'" in str(tree.checked({"node": {"next": {"next": {"n": "x"}}}}))
        offered = [tool.name for tool in catalogue.tools]
        assert len(set(offered)) == len(offered) and all(re.fullmatch(r"[\w-]{1,64}", name) for name in offered)
        for name in ("circle", "odd: name/with ünï\n", "same_name", "same-name", "long" * 50, "long" * 50 + "er"):
            assert (await call(servers, "lying", name, context)).text == "called with {}", name


async def test_a_program_that_is_not_there_is_not_tried_again(context: ToolContext) -> None:
    missing = replace(raw_config("x"), command="no-such-program-here")
    async with running(missing) as servers:
        assert servers.servers[0].state == "failed"
        assert "No such file or directory (no-such-program-here)" in servers.servers[0].why_not


def stubborn(pids: Path) -> ServerConfig:
    """A server that answers nothing, ignores SIGTERM, and has started a program of its own."""
    script = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}.')\n"
        "time.sleep(600)\n"
    )
    return replace(raw_config("x"), args=("-c", script))


def runs(pids: Path) -> bool:
    return pids.exists() and pids.read_text().endswith(".")


def started_by(pids: Path) -> list[int]:
    return [int(pid) for pid in re.findall(r"\d+", pids.read_text())]


async def gone(started: list[int]) -> None:
    await until(lambda: not any(map(_alive, started)), what=f"the processes {started} are gone")


async def test_closing_ends_a_server_that_will_not_leave_and_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    servers = McpServers([stubborn(pids)])
    servers.start()
    await until(lambda: runs(pids), what="the server runs")
    await servers.close()
    await gone(started_by(pids))


async def test_cancelled_while_the_program_is_started_nothing_of_it_is_left(tmp_path: Path) -> None:
    """The program runs, and has started another, before whoever started it hears of it."""
    pids = tmp_path / "pids"

    async def run() -> None:
        async with transports.stdio_transport(stubborn(pids), ErrorOutput()):
            raise AssertionError("it was cancelled before")

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    while not runs(pids):
        time.sleep(0.01)  # noqa: ASYNC251 - nobody else may run meanwhile
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await gone(started_by(pids))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
