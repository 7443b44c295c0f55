"""What a turn costs late in a long task, counted in calls of Python functions: as much as early in it."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from joey import protocols
from joey.events import Event, TurnStarted
from joey.messages import TextBlock, ToolUseBlock
from joey.providers import open_model
from joey.task.opening import start_task
from joey.testing import LocalServer, ReceivedRequest, Scripted, reply
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset
from task_kit import Kit, changed

LAST = 24
EARLY, LATE = 6, 22


class Work:
    """Calls of functions in the code that makes requests, by function, for each turn."""

    _WHERE = ("/joey/protocols/", "/joey/providers/", "/joey/task/history", "/openai/", "/anthropic/")

    def __init__(self) -> None:
        self.turns: list[Counter[str]] = []

    def watch(self, _task: str, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self.turns.append(Counter())

    def profile(self, frame: FrameType, what: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if what == "call" and self.turns and any(each in file for each in self._WHERE):
            self.turns[-1][f"{Path(file).name}:{frame.f_code.co_qualname}"] += 1


def _step(protocol: str, requested: ReceivedRequest) -> Scripted:
    turn = sum(message["role"] == "assistant" for message in requested.body["messages"]) + 1
    todo = ToolUseBlock(f"c{turn}", "update_todo_list", {"todos": "[ ] é"})
    call = ToolUseBlock(f"c{turn}", "attempt_completion", {"result": "done"}) if turn == LAST else todo
    written = protocols.get(protocol).encode_call(call)
    return reply(written.text) if isinstance(written, TextBlock) else reply("So:", call)


async def _run(folder: Path, protocol: str, wire: str) -> Work:
    work, kit = Work(), Kit(folder, [], protocol=protocol, headless=True, repetition_limit=0)
    tools = builtin_tools()
    async with LocalServer(lambda requested: _step(protocol, requested)) as server:
        url = server.anthropic_url if wire == "anthropic" else server.openai_url
        provider, model = open_model(f"{wire}/m", base_url=url)
        toolset = functools.cache(lambda mode: build_toolset(mode, tools))
        config = changed(kit.config, provider=provider, name=model, tools=toolset, watch=work.watch)
        task = start_task(config, "Go.")
        before = sys.getprofile()
        sys.setprofile(work.profile)
        try:
            finished = await task.run()
        finally:
            sys.setprofile(before)
        await provider.close()
    assert finished.outcome == "completed" and len(work.turns) == LAST
    return work


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
@pytest.mark.parametrize("protocol", protocols.names())
async def test_no_message_is_converted_again(tmp_path: Path, protocol: str, wire: str) -> None:
    work = await _run(tmp_path, protocol, wire)
    early, late = work.turns[EARLY], work.turns[LATE]
    more = 2 * (LATE - EARLY)
    grown = {name: late[name] - early[name] for name in late if late[name] - early[name] >= more // 2}
    assert grown == {}, "neither Joey nor an SDK looks again at what was sent before"
