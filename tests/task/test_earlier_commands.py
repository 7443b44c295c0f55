"""A task that is resumed while its commands still run: the model and the user are told which, and how to stop them.

The crash is a copy of the journal, made while the first task runs and resumed beside it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Cancel
from joey.events import CommandLeftRunning
from joey.journal.journal import Journal, read_journal
from joey.journal.records import CommandStarted, MessageAdded, Record, RunBegan, RunConfined, TaskOpened
from joey.journal.replay import replay
from joey.messages import Message, TextBlock
from joey.sandbox import SandboxSettings
from joey.task.opening import start_task
from joey.terminal.notes import note_on
from joey.testing.script import reply
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import build_toolset
from process_kit import until
from sandbox_kit import need_bubblewrap
from task_kit import SMALL, Kit, call, done

SERVER = call("server", "execute_command", command="exec sleep 301", timeout=0.01)
BUILD = call("build", "execute_command", command="sleep 302; true")


def kit_in(folder: Path, sandbox: str, **changes: Any) -> Kit:
    tools = builtin_tools(BuiltinOptions(sandbox=SandboxSettings(mode=sandbox)))  # type: ignore[arg-type]
    return Kit(folder, [reply(SERVER, BUILD), done()], tools=lambda mode: build_toolset(mode, tools), **changes)


@asynccontextmanager
async def crashed(kit: Kit, copy: Path) -> AsyncIterator[str]:
    """The id of a task whose journal stands in `copy` as a crash would have left it; its commands run meanwhile."""
    task = start_task(kit.config, "go")
    running = asyncio.create_task(task.run())
    journal = kit.store.journal_path(task.id)
    await until(lambda: journal.read_text().count('"command_started"') == 2)
    shutil.copytree(kit.store.folder(task.id), copy / "tasks" / task.id)
    yield task.id
    task.send(Cancel("enough"))
    await running


@pytest.mark.parametrize("sandbox", ["off", "auto"])
async def test_commands_that_still_run_are_named_on_resuming(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "auto":
        need_bubblewrap()
    kit, later = kit_in(tmp_path / "a", sandbox), kit_in(tmp_path / "b", sandbox)
    async with crashed(kit, tmp_path / "b") as task_id:
        await later.resume(task_id, [done()])
        left = later.of(CommandLeftRunning)
        sent = str(later.sent[-1])
    assert [each.command for each in left] == ["exec sleep 301", BUILD.arguments["command"]]
    for each in left:
        assert f"may still be running as process group {each.group}; stop it with `kill -- -{each.group}`" in sent
        shown = note_on(each)
        assert shown is not None and f"kill -- -{each.group}" in shown[0]
    assert "No terminals running" not in sent
    ended = await kit_resumed(tmp_path / "b", later, task_id)
    assert not ended.of(CommandLeftRunning), "they have ended, and are named no more"
    assert "process group" not in str(ended.sent[-1].content[-1])


async def kit_resumed(folder: Path, kit: Kit, task_id: str) -> Kit:
    kit.events.clear()
    await kit.resume(task_id, [done()], "go on")
    return kit


async def test_a_small_model_is_told_as_well(tmp_path: Path) -> None:
    kit, later = kit_in(tmp_path / "a", "off"), kit_in(tmp_path / "b", "off", **SMALL)
    async with crashed(kit, tmp_path / "b") as task_id:
        await later.resume(task_id, [done()])
        sent = str(later.sent[-1])
    assert "exec sleep 301 (from before the task was interrupted; may still be running" in sent


OPENED = TaskOpened("t", "go", "/", "code", "m", "native")
CALLED: list[Record] = [
    OPENED,
    MessageAdded(Message("user", (TextBlock("go"),))),
    MessageAdded(Message("assistant", (BUILD,))),
]
BEGUN: list[Record] = [*CALLED, RunBegan("build", "execute_command")]


@pytest.mark.parametrize(
    ("records", "named"),
    [
        ([*BEGUN, RunConfined("build", "none", "on")], True),
        ([*BEGUN, RunConfined("build", "full", "on")], False),
        ([*BEGUN, RunConfined("build", "none", "on"), CommandStarted("build", "x", 2**22, "gone")], False),
        (BEGUN, False),
    ],
    ids=["about to start", "ends with Joey", "written down and gone", "not that far"],
)
async def test_a_command_that_nobody_saw_start_is_named_as_unknown(
    tmp_path: Path, records: list[Record], named: bool
) -> None:
    kit = Kit(tmp_path, [])
    with Journal(kit.store.journal_path("t")) as journal:
        for record in records:
            journal.append(record)
    await kit.resume("t", [done()])
    assert [each.group for each in kit.of(CommandLeftRunning)] == [0] * named
    assert ("may have been started as the task was interrupted" in str(kit.sent[-1])) is named


async def test_the_group_is_in_the_journal_before_the_command_ends(tmp_path: Path) -> None:
    kit = kit_in(tmp_path / "a", "off")
    async with crashed(kit, tmp_path / "b") as task_id:
        state = replay(read_journal(tmp_path / "b" / "tasks" / task_id / "journal.jsonl"))
    assert [(each.call_id, each.mark != "") for each in state.calls.commands] == [("server", True), ("build", True)]
