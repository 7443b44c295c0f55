"""A bug in a tool, a policy, a provider or a front end ends as a result or as a recorded end, and in a log."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from joey.actions import Action
from joey.chunks import Chunk, StopChunk
from joey.events import ContextKept, Event, TaskFinished, ToolRunFinished, TurnStarted
from joey.journal.journal import read_journal
from joey.journal.records import TaskEnded
from joey.messages import ToolResult
from joey.providers.base import ModelRequest, Provider
from joey.task.log import LOG, write_down
from joey.task.opening import resume_task
from joey.task.task import TaskHandle
from joey.testing.script import reply
from joey.tools.base import Params, Plan, Tool, ToolContext, ok
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset
from task_kit import Kit, call, changed, done


class Where(Params):
    breaks: str = ""

    @field_validator("breaks")
    @classmethod
    def _check(cls, breaks: str) -> str:
        if breaks == "validating":
            raise ZeroDivisionError("in the validator")
        return breaks


class Broken(Tool[Where]):
    """A tool with a bug in each of its parts."""

    name = "broken"
    group = "read"
    description = "Breaks."
    params = Where

    def actions(self, params: Where, context: ToolContext) -> Sequence[Action]:  # type: ignore[override]
        if params.breaks == "judging":
            return [object()]  # type: ignore[list-item]
        if params.breaks == "actions":
            raise ZeroDivisionError("in actions()")
        return ()

    async def plan(self, params: Where, context: ToolContext) -> Plan:
        if params.breaks == "planning":
            raise ZeroDivisionError("in plan()")
        return await super().plan(params, context)

    async def run(self, params: Where, context: ToolContext) -> ToolResult:
        if params.breaks == "running":
            raise ZeroDivisionError("in run()")
        return ok("well")


def kit_with_broken_tool(folder: Path, *script: Any) -> Kit:
    kit, tools = Kit(folder, [*script, done()]), [*builtin_tools(), Broken()]
    kit.change(tools=lambda mode: build_toolset(mode, tools))
    return kit


def end_of(kit: Kit, task: TaskHandle) -> TaskEnded:
    last = list(read_journal(kit.store.journal_path(task.id)))[-1]
    assert isinstance(last, TaskEnded)
    return last


@pytest.mark.parametrize("calls", [1, 2], ids=["alone", "beside another"])
@pytest.mark.parametrize("part", ["validating", "judging", "actions", "planning", "running"])
async def test_a_tool_that_breaks_is_an_answer_to_the_model(tmp_path: Path, part: str, calls: int) -> None:
    requested = [call(f"c{number}", "broken", breaks=part if number == 0 else "") for number in range(calls)]
    kit = kit_with_broken_tool(tmp_path, reply(*requested))
    assert (await kit.run()).outcome == "completed"
    results = [event.result for event in kit.of(ToolRunFinished)]
    assert results[0].is_error and "broken failed unexpectedly: " in results[0].text
    assert [result.text for result in results[1:calls]] == ["well"] * (calls - 1)
    assert kit.task is not None
    log = kit.store.folder(kit.task.id) / LOG
    assert str(log) in results[0].text and "Traceback" in log.read_text()


class BrokenProvider(Provider):
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        for _ in request.messages:
            raise ZeroDivisionError("in the provider")
        yield StopChunk("end")


async def test_a_provider_that_breaks_ends_the_task_in_words(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    kit.change(provider=BrokenProvider())
    finished = await kit.run()
    assert kit.task is not None
    log = kit.store.folder(kit.task.id) / LOG
    words = f"the task failed unexpectedly: ZeroDivisionError: in the provider (details: {log})"
    assert finished == TaskFinished("error", words)
    assert end_of(kit, kit.task) == TaskEnded("error", words)
    assert "in the provider" in log.read_text() and stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("at", [TurnStarted, TaskFinished])
async def test_a_front_end_that_breaks_ends_the_task_in_words(tmp_path: Path, at: type) -> None:
    kit = Kit(tmp_path, [done()])

    def watch(task_id: str, event: Event) -> None:
        if isinstance(event, at):
            raise ZeroDivisionError("in the front end")
        kit.watch(task_id, event)

    kit.change(watch=watch)
    finished = await kit.run()
    assert kit.task is not None
    assert finished.outcome == ("error" if at is TurnStarted else "completed")
    assert end_of(kit, kit.task).outcome == finished.outcome
    assert "in the front end" in (kit.store.folder(kit.task.id) / LOG).read_text()


async def test_a_reader_who_went_away_is_no_bug(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])

    def watch(task_id: str, event: Event) -> None:
        raise BrokenPipeError

    kit.change(watch=watch)
    with pytest.raises(BrokenPipeError):
        await kit.run()
    assert kit.task is not None and end_of(kit, kit.task).outcome == "cancelled"
    assert not (kit.store.folder(kit.task.id) / LOG).exists()


async def test_compacting_that_breaks_leaves_the_conversation_as_it_was(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [*(reply(call(f"c{n}", "update_todo_list", todos=f"[ ] {n}")) for n in range(5)), done()])
    await kit.run()
    assert kit.task is not None
    task = resume_task(changed(kit.config, provider=BrokenProvider()), kit.task.id)
    await task.compact()
    assert "ZeroDivisionError: in the provider (details: " in kit.of(ContextKept)[0].reason


def test_what_cannot_be_written_down_is_still_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "could not be written" in write_down(ValueError("no"), tmp_path / "file")


def test_the_log_does_not_grow_without_end(tmp_path: Path) -> None:
    log = tmp_path / LOG
    log.touch()
    os.truncate(log, 2 * 1024 * 1024)
    write_down(ValueError("no"), tmp_path)
    assert log.stat().st_size < 10_000
