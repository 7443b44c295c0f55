"""`joey run` with a browser: a scripted model over HTTP, real pages on loopback, a real Chromium, and only the
default approvals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from browser_pages import PAGES
from joey.commands import Cancel
from joey.events import ToolRunStarted
from joey.messages import ToolUseBlock
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import ToolChoices, build_toolset
from pages_kit import Pages, all_gone, needs_browser, processes_with
from task_kit import Kit, call, done

pytestmark = needs_browser


def act(number: int, **arguments: Any) -> Scripted:
    return reply(ToolUseBlock(f"b{number}", "browser_action", arguments))


async def joey_run(folder: Path, mark: str, server: LocalServer) -> asyncio.subprocess.Process:
    (folder / "project").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "k", "JOEY_MARK": mark}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "run", "go", "--model", "anthropic/scripted", "--base-url", server.anthropic_url,
        "--json", cwd=folder / "project", env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1,
    )  # fmt: skip


async def whole_run(folder: Path, script: Sequence[Scripted], mark: str) -> list[Any]:
    """The results of the tools, in order, as they were sent to the model."""
    async with LocalServer(script) as server:
        process = await joey_run(folder, mark, server)
        out, err = await process.communicate()
        assert process.returncode == 0, (out[-2000:], err)
        messages = server.requests[-1].body["messages"]
    blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


def words(result: Any) -> str:
    if isinstance(result["content"], str):
        return str(result["content"])
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


async def test_a_task_opens_a_page_uses_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = f"mark-{uuid4().int % 10**9}"  # a longer one would be withheld like a key
    async with Pages(PAGES) as pages:
        script = [
            act(1, action="launch", url=pages.url),
            act(2, action="click", coordinate="200,210@900x600"),
            act(3, action="type", text="hello from joey"),
            act(4, action="press", text="Enter"),
            act(5, action="close"),
            reply(ToolUseBlock("d", "attempt_completion", {"result": "Done."})),
        ]
        launched, _, typed, sent, closed = await whole_run(tmp_path, script, mark)
    assert [part["type"] for part in launched["content"]] == ["text", "image"]
    assert launched["content"][1]["source"]["media_type"] == "image/webp"
    assert "Title: Form" in words(launched) and "[log] key h" in words(typed)
    assert "Title: Sent" in words(sent) and any("q=hello+from+joey" in url for url in pages.requested)
    assert words(closed) == "The browser is closed." and await all_gone(mark)


async def test_a_killed_joey_leaves_no_browser(tmp_path: Path) -> None:
    mark = f"mark-{uuid4().int % 10**9}"  # a longer one would be withheld like a key
    async with Pages(PAGES) as pages:
        waits = reply(ToolUseBlock("c", "browser_action", {"action": "launch", "url": pages.url + "/hours"}))
        async with LocalServer([waits]) as server:
            process = await joey_run(tmp_path, mark, server)
            await pages.was_requested("/hours")
            assert any("chrom" in command for command in processes_with(mark))
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            assert await all_gone(mark)


async def test_a_task_that_is_cancelled_while_a_page_loads_leaves_no_browser(tmp_path: Path, monkeypatch: Any) -> None:
    mark = f"mark-{uuid4().int % 10**9}"  # a longer one would be withheld like a key
    monkeypatch.setenv("JOEY_MARK", mark)
    async with Pages(PAGES) as pages:
        kit = Kit(tmp_path, [reply(call("b", "browser_action", action="launch", url=pages.url + "/hours")), done()])
        choices = ToolChoices(features=frozenset({"browser"}))
        kit.change(tools=lambda mode: build_toolset(mode, builtin_tools(), choices=choices))
        running = asyncio.create_task(kit.run())
        await kit.saw(ToolRunStarted)
        await pages.was_requested("/hours")
        assert kit.task is not None and processes_with(mark)
        kit.task.send(Cancel("enough"))
        assert (await running).outcome == "cancelled"
        assert await all_gone(mark)
