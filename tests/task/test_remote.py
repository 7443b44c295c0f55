"""Another process at a running task: it sees what happens, and what it answers counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer, Cancel, Say
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    Request,
    TaskFinished,
    TextDelta,
    ToolCallDelta,
    UserMessageQueued,
)
from joey.journal.journal import JournalError
from joey.journal.live import INBOX, LIVE, Inbox, LiveFeed, LiveReader, send_command
from joey.task.opening import start_task
from joey.task.task import TaskHandle
from joey.testing.script import Faults, reply
from task_kit import Kit, call, done


def silent(_request: Request) -> None:
    """A front end whose user does not answer."""


@asynccontextmanager
async def waiting_for_approval(tmp_path: Path, *more: Any) -> AsyncIterator[tuple[Kit, TaskHandle, LiveReader]]:
    """A task that runs and waits for the approval of a file, as another process sees it."""
    write = call("w", "write_to_file", path="a.txt", file_text="hello")
    kit = Kit(tmp_path, [reply("I write.", write), *more, done()], user=silent, policy="ask")
    task = start_task(kit.config, "write a file")
    running = asyncio.ensure_future(task.run())
    try:
        await until(lambda: any(isinstance(event, ApprovalRequested) for event in kit.events))
        reader = LiveReader(folder(kit, task) / LIVE)
        try:
            yield kit, task, reader
        finally:
            reader.close()
    finally:
        task.send(Cancel("the test is over"))
        await running


async def until(is_so: Any) -> None:
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to be so")


def folder(kit: Kit, task: TaskHandle) -> Path:
    return kit.config.workspace.store.folder(task.id)


def lines(reader: LiveReader) -> list[dict[str, Any]]:
    return [json.loads(line) for _, line in reader.read(reader.start)]


async def test_another_process_sees_the_events_and_its_answer_counts(tmp_path: Path) -> None:
    async with waiting_for_approval(tmp_path) as (kit, task, reader):
        seen = lines(reader)
        assert "".join(each["text"] for each in seen if each["type"] == "text_delta") == "I write."
        request = seen[-1]
        assert request["type"] == "approval_requested" and request["task"] == task.id
        send_command(folder(kit, task), reader.run, Answer(request["request_id"], yes=True))
        await until((kit.workspace / "a.txt").exists)
        assert (kit.workspace / "a.txt").read_text() == "hello"
        assert ApprovalAnswered(request["request_id"], approved=True) in kit.events


async def test_the_first_answer_counts_and_the_second_changes_nothing(tmp_path: Path) -> None:
    async with waiting_for_approval(tmp_path) as (kit, task, reader):
        request_id = lines(reader)[-1]["request_id"]
        assert task.send(Answer(request_id, text="use b.txt"))
        send_command(folder(kit, task), reader.run, Answer(request_id, yes=True))
        await until(lambda: task.waits_for_message)
        await asyncio.sleep(0.4)
        assert not (kit.workspace / "a.txt").exists()
        answered = [event for event in kit.events if isinstance(event, ApprovalAnswered)]
        assert answered == [ApprovalAnswered(request_id, approved=False, comment="use b.txt")]


async def test_an_answer_for_another_run_is_dropped(tmp_path: Path) -> None:
    async with waiting_for_approval(tmp_path) as (kit, task, reader):
        send_command(folder(kit, task), "another", Answer(lines(reader)[-1]["request_id"], yes=True))
        send_command(folder(kit, task), reader.run, Say("still there?"))
        await until(lambda: any(isinstance(event, UserMessageQueued) for event in kit.events))
        await asyncio.sleep(0.1)
        assert not any(isinstance(event, ApprovalAnswered) for event in kit.events)


async def test_requests_of_a_subtask_have_ids_of_their_own(tmp_path: Path) -> None:
    """So that a late answer to a request of the task is none to that of its subtask."""
    start = call("s", "new_task", mode="code", message="do it")
    write = call("w", "write_to_file", path="a.txt", file_text="hello")
    script = [
        reply(write),
        reply(start),
        reply(call("w2", "write_to_file", path="b.txt", file_text="x")),
        done(),
        done(),
    ]
    kit = Kit(tmp_path, script, policy="ask")
    await kit.run("work")
    ids = [event.request_id for event in kit.events if isinstance(event, ApprovalRequested)]
    assert len(ids) >= 2 and len(set(ids)) == len(ids)


async def test_nothing_is_left_of_it_when_the_task_has_ended(tmp_path: Path) -> None:
    async with waiting_for_approval(tmp_path) as (kit, task, reader):
        run, where = reader.run, folder(kit, task)
        send_command(where, run, Cancel("elsewhere"))
        await until(lambda: any(isinstance(event, TaskFinished) for event in kit.events))
        await until(lambda: reader.is_replaced)
        assert lines(reader)[-1]["type"] == "task_finished"
        assert not (where / LIVE).exists() and not (where / INBOX).exists()
        with pytest.raises(JournalError, match="does not run any more"):
            send_command(where, run, Say("hello?"))


async def test_the_journal_is_as_long_as_a_turn_says_when_it_begins(tmp_path: Path) -> None:
    """Journal up to there and events from there are the whole, without a gap and without a repetition."""
    async with waiting_for_approval(tmp_path) as (kit, task, reader):
        turn = next(each for each in lines(reader) if each["type"] == "turn_started")
        written = kit.config.workspace.store.journal_path(task.id).read_bytes()[: turn["journal"]]
        assert written.endswith(b"\n")
        assert [json.loads(line)["type"] for line in written.splitlines()[1:]] == ["task_opened", "message_added"]


@pytest.mark.parametrize(
    "line",
    [b"not json", b'{"run": "r"}', b'{"run": "r", "command": {"type": "made_up"}}', b"[1]", b"[" * 100_000, b'"\xff"'],
)
def test_a_line_that_is_no_command_is_passed_over(tmp_path: Path, line: bytes) -> None:
    inbox = Inbox(tmp_path, "r")
    inbox.open()
    with (tmp_path / INBOX).open("ab") as file:
        file.write(line + b"\n")
    send_command(tmp_path, "r", Say("hi"))
    assert [*inbox.commands()] == [Say("hi")]
    assert [*inbox.commands()] == []
    inbox.close()


def test_text_that_grows_is_written_together_and_not_twice(tmp_path: Path) -> None:
    scheduled: list[Any] = []
    feed = LiveFeed(tmp_path, tmp_path / "journal.jsonl", "r", scheduled.append)
    feed.open()
    for piece in ("a", "b", "c"):
        feed.add("t", TextDelta(piece), own=True)
    feed.add("t", ToolCallDelta("c1", ("path",), "x", 'raw "x'), own=True)
    feed.add("t", ToolCallDelta("c1", ("path",), "y", "raw y"), own=True)
    feed.add("t", ToolCallDelta("c1", ("n",), "1", "raw 1", literal=True), own=True)
    reader = LiveReader(tmp_path / LIVE)
    found = [(each["type"], each["text"]) for each in lines(reader)]
    assert found == [("text_delta", "abc"), ("tool_call_delta", "xy"), ("tool_call_delta", "1")]
    assert len(scheduled) == 1 and "raw" not in lines(reader)[1]
    reader.close()
    feed.close()


async def test_a_stream_is_seen_while_it_grows(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("word " * 40, faults=Faults(pause=0.05))], user=silent)
    task = start_task(kit.config, "talk")
    running = asyncio.ensure_future(task.run())
    await until((folder(kit, task) / LIVE).exists)
    reader = LiveReader(folder(kit, task) / LIVE)
    await until(lambda: any(each["type"] == "text_delta" for each in lines(reader)))
    assert not any(each["type"] == "text_finished" for each in lines(reader))
    task.send(Cancel())
    await running
    reader.close()
