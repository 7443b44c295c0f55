"""Cancelling, crashing and speaking at any moment: nothing is lost, nothing is taken for a yes, nobody is stuck."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import image_kit
from joey.commands import Answer, Cancel, Say
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    Event,
    QuestionRequested,
    Request,
    RetryScheduled,
    SubtaskClosed,
    SubtaskOpened,
    TaskAborted,
    TaskFinished,
    TextDelta,
    ToolRunStarted,
    UserMessageQueued,
)
from joey.journal.journal import Journal, read_journal
from joey.journal.records import ChildOpened, MessageAdded, Record, RunBegan, TaskEnded, TaskOpened, UserSaid
from joey.journal.replay import replay, shown_results
from joey.messages import Message, ShownDiff, TextBlock, ToolResultBlock, ToolUseBlock
from joey.prompts import UserInput
from joey.providers.retry import RetryPolicy
from joey.system.filenames import quoted
from joey.task import wording
from joey.task.opening import resume_task, start_task
from joey.task.wording import SKIPPED
from joey.terminal.resumed import entries_of
from joey.terminal.transcript import Card, ModelText, UserText
from joey.testing.script import Failure, Faults, Scripted, ScriptedProvider, reply
from task_kit import Kit, call, done, yes

SUBTASK = call("n", "new_task", mode="code", message="Look into it.")


def text_in(message: Message) -> str:
    """All the words of a message, those of results included."""
    words = []
    for block in message.content:
        parts: Any = block.content if isinstance(block, ToolResultBlock) else (block,)
        words += [part.text for part in parts if isinstance(part, TextBlock)]
    return "\n".join(words)


def nobody(_request: Request) -> None:
    return None


# Cancel


def whole_script() -> list[Scripted]:
    write, read = call("w", "write_to_file", path="a.txt", file_text="x"), call("r", "read_file", path="a.txt")
    question = call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "a"}, {"text": "b"}])
    return [
        Failure(529, "busy", "overloaded_error"),
        reply("Writing.", write, read),
        reply(question),
        reply(SUBTASK),
        done("c", "Looked."),
        done("d"),
    ]


async def test_cancel_at_any_event_ends_cleanly_and_the_task_resumes(tmp_path: Path) -> None:
    count = len(await _cancelled_at(tmp_path / "whole", 10_000))
    assert count > 40
    for number in range(count):
        await _cancelled_at(tmp_path / str(number), number)


async def _cancelled_at(folder: Path, number: int) -> list[Event]:
    """Run the task and cancel it from inside event `number`; then resume it to its end."""
    kit = Kit(folder, whole_script(), policy="ask")

    def watch(task_id: str, event: Event) -> None:
        kit.watch(task_id, event)
        if len(kit.events) == number + 1:
            assert kit.task is not None
            kit.task.send(Cancel("enough"))

    kit.change(watch=watch)
    finished = await kit.run()
    assert kit.events[-1] == finished
    assert finished in (TaskFinished("cancelled", "enough"), TaskFinished("completed", "All done."))
    current = asyncio.current_task()
    assert current is not None and current.cancelling() == 0
    if finished.outcome == "cancelled":
        assert kit.of(TaskAborted) == [TaskAborted("enough")]
        task_id = kit.task.id if kit.task else ""
        kit.change(watch=kit.watch)
        assert (await kit.resume(task_id, [done()] * 4)).outcome == "completed"
    return kit.events


@pytest.mark.parametrize(
    ("script", "moment"),
    [
        ([reply("slow", faults=Faults(pause=60))], TextDelta),
        ([reply(call("x", "execute_command", command="sleep 60"))], ToolRunStarted),
        ([reply(call("w", "write_to_file", path="a", file_text="x"))], ApprovalRequested),
        ([Failure(529, "busy", "overloaded_error")], RetryScheduled),
        ([reply(SUBTASK), reply("slow", faults=Faults(pause=60))], TextDelta),
        ([reply(SUBTASK), done()], CompletionRequested),
    ],
    ids=["stream", "tool", "approval", "retry", "subtask", "completion-of-a-subtask"],
)
async def test_cancel_ends_every_wait(tmp_path: Path, script: list[Scripted], moment: type) -> None:
    asks = moment is ApprovalRequested
    slow = RetryPolicy(first_delay=60.0)
    kit = Kit(tmp_path, script, policy="ask" if asks else "all", user=nobody, retry=slow)
    running = asyncio.ensure_future(kit.run())
    await kit.saw(moment)
    await asyncio.sleep(0)
    assert kit.task is not None and kit.task.send(Cancel())
    kit.task.send(Cancel("a second time"))
    assert await running == TaskFinished("cancelled", "cancelled by the user")
    assert not kit.task.send(Say("too late"))
    kit.user = yes
    assert (await kit.resume(kit.task.id, [done()] * 3)).outcome == "completed"


async def test_cancel_before_the_task_began(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    task = start_task(kit.config, "Do it.")
    task.send(Cancel("changed my mind"))
    assert await task.run() == TaskFinished("cancelled", "changed my mind")
    assert kit.provider.requests == []


async def test_a_subtask_stopped_alone_tells_its_parent_which_goes_on(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(SUBTASK), reply("slow", faults=Faults(pause=60)), done("d", "Without it.")])
    running = asyncio.ensure_future(kit.run())
    await kit.saw(TextDelta)
    (opened,) = kit.of(SubtaskOpened)
    assert kit.task is not None and not kit.task.send(Cancel("no", "another-task"))
    assert kit.task.send(Cancel("not needed", opened.child_id))
    assert await running == TaskFinished("completed", "Without it.")
    assert "did not complete (cancelled). not needed" in text_in(kit.sent[-1])


async def test_what_had_come_of_a_reply_is_kept_for_people_and_not_sent(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("Let me think about it.", faults=Faults(pause=60))])
    running = asyncio.ensure_future(kit.run())
    await kit.saw(TextDelta)
    assert kit.task is not None and kit.task.send(Cancel())
    await running
    state = replay(read_journal(kit.store.journal_path(kit.task.id)))
    assert [text[:6] for text in state.interrupted.values()] == ["Let me"]
    shown = entries_of(state.messages, interrupted=state.interrupted)
    assert [type(entry) for entry in shown] == [UserText, ModelText]
    assert (await kit.resume(kit.task.id, [done()])).outcome == "completed"
    assert "Let me" not in repr(kit.sent)


async def test_diffs_are_shown_again_when_a_task_is_resumed(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("w", "write_to_file", path="a.txt", file_text="new\n")), done()])
    await kit.run()
    assert kit.task is not None
    records = [*read_journal(kit.store.journal_path(kit.task.id))]
    cards = [
        entry for entry in entries_of(replay(records).messages, shown=shown_results(records)) if isinstance(entry, Card)
    ]
    assert isinstance(cards[0].shown[0], ShownDiff) and "+new" in cards[0].shown[0].diff


# Crashes


def written(kit: Kit, task_id: str, *records: Record) -> str:
    with Journal(kit.store.journal_path(task_id)) as journal:
        for record in records:
            journal.append(record)
    return task_id


def opened(kit: Kit, task_id: str, text: str, parent: str | None = None) -> tuple[Record, Record]:
    spoken = MessageAdded(Message("user", (TextBlock(text),)))
    return TaskOpened(task_id, text, str(kit.workspace), "code", "m", "native", parent, "n" if parent else None), spoken


def killed_with_a_subtask(kit: Kit, *child: Record) -> None:
    """A parent whose process died while its subtask was at work."""
    requested = MessageAdded(Message("assistant", (ToolUseBlock("n", "new_task", dict(SUBTASK.arguments)),)))
    written(
        kit, "parent", *opened(kit, "parent", "Big"), requested, RunBegan("n", "new_task"), ChildOpened("child", "n")
    )
    if child:
        written(kit, "child", *child)


async def test_a_subtask_goes_on_after_a_crash_and_its_result_returns(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    killed_with_a_subtask(kit, *opened(kit, "child", "Small", "parent"))
    script = [done("c", "Found it."), done("d", "Used it.")]
    assert await kit.resume("parent", script, "hurry") == TaskFinished("completed", "Used it.")
    assert "hurry" in text_in(kit.provider.requests[0].messages[-1])
    assert "Subtask child completed.\n\nResult:\nFound it." in text_in(kit.sent[-1])
    assert replay(read_journal(kit.store.journal_path("child"))).ended == TaskEnded("completed", "Found it.")


async def test_a_result_that_a_crash_kept_from_the_parent_is_not_worked_out_again(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    late = UserSaid("and hurry")
    killed_with_a_subtask(kit, *opened(kit, "child", "Small", "parent"), late, TaskEnded("completed", "Found it."))
    assert (await kit.resume("parent", [done()])).outcome == "completed"
    (request,) = kit.provider.requests
    assert "Found it." in text_in(request.messages[-1])
    assert "and hurry" in text_in(request.messages[-1])
    assert len(kit.of(SubtaskClosed)) == 1


async def test_a_subtask_that_was_deleted_is_an_error_for_the_model(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    killed_with_a_subtask(kit)
    assert (await kit.resume("parent", [done()])).outcome == "completed"
    (result,) = [block for block in kit.sent[-1].content if isinstance(block, ToolResultBlock)]
    assert result.is_error and "cannot read" in text_in(kit.sent[-1])


@pytest.mark.parametrize("parent", [None, "another"])
async def test_a_task_that_is_no_subtask_of_this_one_is_not_continued_as_one(
    tmp_path: Path, parent: str | None
) -> None:
    kit = Kit(tmp_path, [])
    killed_with_a_subtask(kit, *opened(kit, "child", "Small", parent))
    assert (await kit.resume("parent", [done()])).outcome == "completed"
    assert "no subtask of this one" in text_in(kit.sent[-1])
    assert replay(read_journal(kit.store.journal_path("child"))).ended is None


async def test_what_was_said_before_a_crash_is_heard_after_it(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    written(kit, "parent", *opened(kit, "parent", "Big"), UserSaid("in blue, please"))
    assert (await kit.resume("parent", [done()])).outcome == "completed"
    assert "<user_message>\nin blue, please\n</user_message>" in text_in(kit.sent[-1])


async def test_what_was_attached_to_a_task_that_died_at_once_is_sent_when_it_is_resumed(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    image, mentioned = image_kit.block(image_kit.made(4, 4)), TextBlock("<mentioned>a</mentioned>")
    start_task(kit.config, "Look at @/a", attached=[mentioned], images=[image]).close()
    (entry,) = kit.store.entries()
    assert (await kit.resume(entry.task_id, [done()], "now")).outcome == "completed"
    assert kit.sent[0].content[:4] == (
        TextBlock("Look at @/a"),
        mentioned,
        image,
        TextBlock(wording.user_message("now")),
    )


@pytest.mark.parametrize("ended", [TaskEnded("completed", "Fine."), TaskEnded("cancelled")])
async def test_what_was_said_on_resuming_is_saved_before_anything_else(tmp_path: Path, ended: TaskEnded) -> None:
    kit = Kit(tmp_path, [])
    image = image_kit.block(image_kit.made(4, 4))
    written(kit, "t", *opened(kit, "t", "Big"), MessageAdded(Message("assistant", (TextBlock("Fine."),))), ended)
    resume_task(kit.config, "t", text="in blue, please", images=[image]).close()
    (entry,) = kit.store.entries()
    assert entry.state is not None and entry.state.queued == [UserSaid("in blue, please", (image,))]
    assert entry.status == ("open" if ended.outcome == "completed" else "cancelled")
    assert (await kit.resume("t", [done()])).outcome == "completed"
    assert kit.of(UserMessageQueued) == [UserMessageQueued("in blue, please")]
    assert kit.sent[-1].content[:2] == (TextBlock(wording.user_message("in blue, please")), image)


async def test_what_was_said_on_resuming_is_for_the_subtask_also_if_that_is_where_the_process_died(
    tmp_path: Path,
) -> None:
    kit = Kit(tmp_path, [])
    killed_with_a_subtask(kit, *opened(kit, "child", "Small", "parent"), UserSaid("hurry"))
    resume_task(kit.config, "parent", text="hurry").close()
    assert (await kit.resume("parent", [done("c"), done("d")])).outcome == "completed"
    child, parent = (repr(request.messages) for request in kit.provider.requests)
    assert (child.count("hurry"), parent.count("hurry")) == (1, 0)


async def test_a_mode_that_a_message_on_resuming_asks_for_holds_from_its_request_on(tmp_path: Path) -> None:
    async def expand(text: str, mode: str) -> UserInput:
        return UserInput(text, (TextBlock(f"from {mode}"),), "architect" if text else None)

    kit = Kit(tmp_path, [], expand_input=expand)
    written(kit, "t", *opened(kit, "t", "Big"))
    assert (await kit.resume("t", [done()], "/plan it")).outcome == "completed"
    sent = text_in(kit.provider.requests[0].messages[-1])
    assert "from code" in sent and "<mode>\narchitect\n</mode>" in sent


async def test_a_finished_task_sends_nothing_until_there_is_a_message(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    first = await kit.run()
    assert kit.task is not None
    before = kit.store.journal_path(kit.task.id).read_bytes()
    assert await kit.resume(kit.task.id, []) == first == kit.events[-1]
    assert kit.provider.requests == []
    assert kit.store.journal_path(kit.task.id).read_bytes() == before
    assert await kit.resume(kit.task.id, [done("e", "More.")], "more") == TaskFinished("completed", "More.")


@pytest.mark.parametrize("first", ["read_file", "write_to_file"])
@pytest.mark.parametrize("name", ["a.txt", os.fsdecode(b"caf\xe9.txt")], ids=["text", "bytes"])
async def test_a_resumed_task_does_not_overwrite_what_the_user_changed(tmp_path: Path, first: str, name: str) -> None:
    kit, shown = Kit(tmp_path, []), quoted(name)
    path = kit.workspace / name
    path.write_text("old\n")
    known = call("k", first, path=shown, **({"file_text": "model's\n"} if first == "write_to_file" else {}))
    kit.provider = ScriptedProvider([reply(known), Failure(400, "no", "invalid_request_error")])
    kit.change(provider=kit.provider, headless=True)
    assert (await kit.run()).outcome == "error"
    path.write_text("the user's\n")
    write = call("w", "write_to_file", path=shown, file_text="other\n")
    assert kit.task is not None and (await kit.resume(kit.task.id, [reply(write), done()])).outcome == "completed"
    assert path.read_text() == "the user's\n"
    assert "was changed by somebody else" in text_in(kit.sent[-1])


# Speaking


async def test_what_is_said_while_the_model_finishes_is_heard_before_it_may(tmp_path: Path) -> None:
    calls = call("x", "execute_command", command="true"), call("d", "attempt_completion", result="1")
    kit = Kit(tmp_path, [reply(*calls), done("d2", "2")])

    def watch(task_id: str, event: Event) -> None:
        kit.watch(task_id, event)
        if isinstance(event, ToolRunStarted) and event.call_id == "x" and kit.task is not None:
            kit.task.send(Say("yes"))

    kit.change(watch=watch)
    assert await kit.run() == TaskFinished("completed", "2")
    assert wording.HEAR_FIRST in text_in(kit.sent[-1])
    assert "<user_message>\nyes\n</user_message>" in text_in(kit.sent[-1])
    assert len(kit.of(CompletionRequested)) == 1


async def test_what_is_said_meanwhile_goes_to_the_subtask_that_works(tmp_path: Path) -> None:
    look = call("l", "list_files", path=".")
    kit = Kit(tmp_path, [reply(SUBTASK), reply(look), done("c", "Looked."), done("d")])

    def watch(task_id: str, event: Event) -> None:
        kit.watch(task_id, event)
        if isinstance(event, ToolRunStarted) and event.call_id == "l" and kit.task is not None:
            kit.task.send(Say("for the child"))
        if isinstance(event, CompletionRequested) and event.result == "Looked." and kit.task is not None:
            kit.task.send(Say("too late for the child"))

    kit.change(watch=watch)
    assert (await kit.run()).outcome == "completed"
    heard = [text_in(request.messages[-1]) for request in kit.provider.requests]
    assert "for the child" in heard[2] and "for the child" not in heard[3].replace("too late for the child", "")
    assert "too late for the child" in heard[3]


async def test_an_answer_to_nothing_is_refused(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("w", "write_to_file", path="a", file_text="x")), done()], policy="ask", user=nobody)
    running = asyncio.ensure_future(kit.run())
    await kit.saw(ApprovalRequested)
    await asyncio.sleep(0)
    assert kit.task is not None
    assert not kit.task.send(Answer("approval_99", yes=True))
    kit.task.send(Say("yes"))
    kit.user = yes
    kit.task.send(Answer(kit.of(ApprovalRequested)[0].request_id, text="not there"))
    assert (await running).outcome == "completed"
    assert not (kit.workspace / "a").exists()


async def test_reads_that_must_be_asked_about_are_asked_one_by_one_and_a_no_skips_the_rest(tmp_path: Path) -> None:
    reads = [call(f"r{number}", "read_file", path=f"{number}.txt") for number in range(3)]
    answers: list[Request] = []

    def user(request: Request) -> Answer:
        answers.append(request)
        return Answer(request.request_id, yes=isinstance(request, (CompletionRequested, QuestionRequested)))

    kit = Kit(tmp_path, [reply(*reads), done()], policy="strict", user=user)
    for number in range(3):
        (kit.workspace / f"{number}.txt").write_text("x")
    await kit.run()
    assert len([each for each in answers if isinstance(each, ApprovalRequested)]) == 1
    assert text_in(kit.sent[-1]).count(SKIPPED) == 2
