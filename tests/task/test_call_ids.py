"""Ids of calls: unique in a task, so that no call gets what belongs to an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from joey import protocols
from joey.events import TaskFinished, ToolRunStarted
from joey.journal.journal import Journal, read_journal
from joey.journal.records import ChildOpened, MessageAdded, Record, RunBegan, RunEnded, TaskOpened
from joey.journal.replay import replay
from joey.messages import Message, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.task import wording
from joey.task.turn import CallIds
from joey.testing.script import Scripted, reply
from task_kit import Kit, call

SUBTASK = call("call_1", "new_task", mode="code", message="Look into it.")
COMMAND = call("call_1", "execute_command", command="true")
DONE = call("call_1", "attempt_completion", result="All done.")


def script(protocol: str, *calls: ToolUseBlock) -> list[Scripted]:
    """One reply for each call, as a model writes it in this protocol."""
    if protocol == "native":
        return [reply(each) for each in calls]
    written = (protocols.get(protocol).encode_call(each) for each in calls)
    return [reply(block.text) for block in written if isinstance(block, TextBlock)]


def calls_in(records: Sequence[Record]) -> list[str]:
    messages = (record.message for record in records if isinstance(record, MessageAdded))
    return [block.id for message in messages for block in message.content if isinstance(block, ToolUseBlock)]


@pytest.mark.parametrize("protocol", ["native", "xml", "json_mix", "morph_xml"])
async def test_an_interrupted_call_is_not_answered_with_the_result_of_an_earlier_subtask(
    tmp_path: Path, protocol: str
) -> None:
    kit = Kit(tmp_path, script(protocol, SUBTASK, DONE, COMMAND, COMMAND, DONE), protocol=protocol)
    assert await kit.run() == TaskFinished("completed", "All done.")
    assert kit.task is not None
    path = kit.store.journal_path(kit.task.id)
    records = list(read_journal(path))
    assert len(set(calls_in(records))) == len(calls_in(records)) == 4
    assert len({event.call_id for event in kit.of(ToolRunStarted)}) == 4
    killed = max(at for at, record in enumerate(records) if record == RunBegan(calls_in(records)[2], "execute_command"))
    path.unlink()
    written(path, records[: killed + 1])
    assert (await kit.resume(kit.task.id, script(protocol, DONE))).outcome == "completed"
    assert wording.INTERRUPTED in repr(kit.sent[-1])
    assert "Subtask" not in repr(kit.sent[-1])


def written(path: Path, records: Sequence[Record]) -> None:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)


OPENED: list[Record] = [
    TaskOpened("old", "Do it.", "/w", "code", "m", "xml"),
    MessageAdded(Message("user", (TextBlock("Do it."),))),
    MessageAdded(Message("assistant", (SUBTASK,))),
    RunBegan("call_1", "new_task"),
    ChildOpened("child", "call_1"),
]
ANSWERED: list[Record] = [
    RunEnded("call_1", "new_task", ToolResult((TextBlock("Found it."),))),
    MessageAdded(Message("user", (ToolResultBlock("call_1", (TextBlock("Found it."),)),))),
    MessageAdded(Message("assistant", (COMMAND,))),
]


def test_in_an_old_journal_what_belongs_to_a_call_ends_with_its_answer() -> None:
    state = replay(OPENED)
    assert state.calls.children == {"call_1": ChildOpened("child", "call_1")}
    for record in ANSWERED:
        state.apply(record)
        assert state.calls.children == {}
    assert (state.calls.begun, state.calls.results, state.calls.ids) == ({}, {}, {"call_1"})


@pytest.mark.parametrize(("begun", "answer"), [(True, wording.INTERRUPTED), (False, wording.NOT_RUN)])
async def test_an_old_journal_with_repeated_ids_resumes(tmp_path: Path, begun: bool, answer: str) -> None:
    kit = Kit(tmp_path, [], protocol="xml")
    began = [RunBegan("call_1", "execute_command")] if begun else []
    written(kit.store.journal_path("old"), [*OPENED, *ANSWERED, *began])
    assert (await kit.resume("old", script("xml", DONE))).outcome == "completed"
    assert answer in repr(kit.sent[-1])
    assert calls_in(list(read_journal(kit.store.journal_path("old"))))[-1] == "call_1_1"


def test_ids_stay_where_they_can() -> None:
    ids = CallIds({"call_1", "call_1_7"}, 7)
    assert [ids.of(each) for each in ("call_1", "call_2", "call_1", "call_1_8", "")] == [
        "call_1_8", "call_2", "call_1_8", "call_1_8_7", "",
    ]  # fmt: skip
