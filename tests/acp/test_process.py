"""`joey acp` as a process: what is left of a session when it is killed, ended, or left by its editor."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import pytest

from acp_kit import AsProcess, Desks, Editor, choose, shape
from joey.testing.script import Faults, reply
from joey_process import call
from process_kit import all_ended_in

SCRIPT = [
    reply("I write.", call("a", "write_to_file", path="x.txt", file_text="one\n")),
    reply(call("t", "update_todo_list", todos="[x] write\n[ ] run")),
    reply("I run.", call("b", "execute_command", command="sleep 60")),
]


def runs(editor: Editor) -> bool:
    states = [each.get("status") for each in editor.updates("tool_call_update") if "rawInput" not in each]
    return states.count("in_progress") == 2


def waits(editor: Editor) -> bool:
    return len(editor.requests()) == 2


def writes(editor: Editor) -> bool:
    return "Slowly, S" in editor.text()


def in_brief(updates: list[dict[str, Any]]) -> list[Any]:
    """As a user sees it, but for how the last call ends: it had not."""
    seen = shape(updates)
    last = max(at for at, each in enumerate(seen) if isinstance(each, dict))
    return [each["title"] if at == last else each for at, each in enumerate(seen)]


@pytest.mark.parametrize("moment", [waits, runs, writes], ids=lambda moment: moment.__name__)
async def test_what_was_killed_is_loaded_as_it_looked(desks: Desks, moment: Callable[[Editor], bool]) -> None:
    slow = reply("Slowly, " * 400, faults=Faults(pause=0.05))
    desk = await desks.set_up(*([*SCRIPT[:2], slow] if moment is writes else SCRIPT))
    permissions = 0

    def answer(method: str, params: Any) -> Any:
        nonlocal permissions
        permissions += 1
        return choose("allow_once")(method, params) if permissions == 1 or moment is not waits else None

    editor = await desk.start(answer)
    session = await desk.session(editor)
    editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go"}])
    await editor.until(lambda: moment(editor))
    assert isinstance(editor.agent, AsProcess)
    editor.agent.process.kill()
    await editor.agent.process.wait()
    again = desk.open()
    await again.initialize()
    await again.request("session/load", sessionId=session, cwd=str(desk.workspace), mcpServers=[])
    live = in_brief(editor.updates())
    live = live[:-1] if moment is writes else live  # the reply that was under way is nowhere else
    assert in_brief(again.updates()) == live
    assert all(each["status"] in ("completed", "failed") for each in shape(again.updates()) if isinstance(each, dict))
    await again.close()


@pytest.mark.parametrize("end", ["its input ends", "SIGTERM"])
async def test_nothing_runs_on_when_the_editor_leaves(desks: Desks, end: str) -> None:
    desk = await desks.set_up(*SCRIPT)
    editor = await desk.start(choose("allow_once"))
    session = await desk.session(editor)
    editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go"}])
    await editor.until(lambda: runs(editor))
    assert isinstance(editor.agent, AsProcess)
    if end == "SIGTERM":
        editor.agent.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(editor.agent.process.wait(), 30)
    assert await editor.close() == 0
    assert all_ended_in(desk.workspace)
