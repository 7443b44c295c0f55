"""Hooks that stop a task: between turns, and where it asks; and the task that continues there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer
from joey.events import ApprovalRequested, Event, QuestionRequested, Request, ToolRunStarted
from joey.journal.journal import read_journal
from joey.journal.records import Record, RunEnded, TaskEnded
from joey.messages import ToolUseBlock
from joey.task.config import Suspended
from joey.task.opening import resume_task, start_task
from joey.task.task import TaskHandle
from joey.testing.script import reply
from task_kit import Kit, call, changed, done

ASK = call("ask", "ask_followup_question", question="Which port?", follow_up=[{"text": "8080"}])
RUN = call("run", "execute_command", command="echo hi > made.txt")


async def no_person(request: Request) -> Answer:
    """Accepts a result; a person would have to be asked about everything else."""
    if isinstance(request, ApprovalRequested | QuestionRequested):
        raise Suspended
    return Answer(request.request_id, yes=True)


def begun(kit: Kit, **hooks: Any) -> TaskHandle:
    return start_task(changed(kit.config, **{"answer": no_person, **hooks}), "Do it.")


def resumed(kit: Kit, task: TaskHandle, **hooks: Any) -> TaskHandle:
    return resume_task(changed(kit.config, **{"answer": no_person, **hooks}), task.id)


def records(kit: Kit, task: TaskHandle) -> list[Record]:
    return [*read_journal(kit.store.journal_path(task.id))]


def ended(kit: Kit, task: TaskHandle) -> dict[str, str]:
    return {each.call_id: each.result.text for each in records(kit, task) if isinstance(each, RunEnded)}


async def test_a_reason_from_between_turns_ends_the_task_before_another_request(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("1", "update_todo_list", todos="[ ] a")), done()])
    reasons = iter([None, "no more money"])

    async def between() -> str | None:
        return next(reasons)

    finished = await begun(kit, between_turns=between).run()
    assert (finished.outcome, finished.message) == ("limit", "no more money")
    assert len(kit.provider.requests) == 1


async def test_a_task_suspended_between_turns_has_no_end_and_repeats_no_turn(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("1", "write_to_file", path="a.txt", file_text="a")), done()])
    go_on = iter([True, False])

    async def between() -> str | None:
        if next(go_on):
            return None
        raise Suspended

    task = begun(kit, between_turns=between)
    with pytest.raises(Suspended):
        await task.run()
    assert not any(isinstance(each, TaskEnded) for each in records(kit, task))
    assert (await resumed(kit, task).run()).outcome == "completed"
    assert len(kit.provider.requests) == 2
    assert sum(isinstance(each, TaskEnded) for each in records(kit, task)) == 1


@pytest.mark.parametrize(
    ("asks", "answer", "says"),
    [
        (RUN, Answer("", yes=True), ""),
        (RUN, Answer("", yes=False, text="rather not"), "rather not"),
        (ASK, Answer("", yes=True, text="9090"), "9090"),
    ],
    ids=["approved", "denied", "question"],
)
async def test_a_task_suspended_at_a_request_makes_it_again_and_takes_the_answer(
    tmp_path: Path, asks: ToolUseBlock, answer: Answer, says: str
) -> None:
    first = call("first", "write_to_file", path="a.txt", file_text="a")
    kit = Kit(tmp_path, [reply(first, asks), done()], policy="edits")
    task = begun(kit)
    with pytest.raises(Suspended):
        await task.run()

    async def given(request: Request) -> Answer:
        if isinstance(request, ApprovalRequested | QuestionRequested):
            return replace(answer, request_id=request.request_id)
        return await no_person(request)

    assert (await resumed(kit, task, answer=given).run()).outcome == "completed"
    assert len(kit.provider.requests) == 2
    results = ended(kit, task)
    assert [*results][:2] == ["first", asks.id]
    assert says in results[asks.id]
    assert (kit.workspace / "made.txt").exists() == (asks is RUN and answer.yes)


async def test_after_a_call_that_may_have_happened_no_later_call_of_the_reply_is_made(tmp_path: Path) -> None:
    """Only what nothing was begun before is made again; the rest is for the model to look into."""
    slow = call("slow", "execute_command", command="sleep 30")
    kit = Kit(tmp_path, [reply(slow, RUN), done()])
    running = asyncio.Event()

    def watch(task_id: str, event: Event) -> None:
        if isinstance(event, ToolRunStarted):
            running.set()

    task = begun(kit, watch=watch)
    run = asyncio.create_task(task.run())
    await running.wait()
    task.suspend()
    with pytest.raises(Suspended):
        await run
    assert (await resumed(kit, task).run()).outcome == "completed"
    assert "run" not in ended(kit, task)
    assert not (kit.workspace / "made.txt").exists()
