"""Every check on a proposed completion, one by one and in their order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from joey.actions import RunCommand
from joey.commands import Answer, Say
from joey.events import CompletionAnswered, CompletionRequested, Event, TaskCompleted
from joey.journal.records import TaskEnded, TodosSet
from joey.journal.replay import TaskState
from joey.messages import TextBlock
from joey.protocols import Reply
from joey.task import wording
from joey.task.assembly import Assembly
from joey.task.completion import Accepted, Feedback, was_accepted
from joey.task.profiles.base import Objection
from joey.tools.base import ok
from joey.tools.todos import parse_checklist
from task_kit import SMALL, Kit


def task(folder: Path, text: str = "Do it.", **changes: Any) -> tuple[Kit, Assembly]:
    kit = Kit(folder, [], **{"headless": True} | changes)
    return kit, kit.assemble(text)


async def test_what_nothing_speaks_against_is_shown_to_the_user_and_accepted(tmp_path: Path) -> None:
    kit, parts = task(tmp_path)
    assert await parts.completion.check_call("It is done.") == Accepted("It is done.")
    assert [type(event) for event in kit.events] == [TaskCompleted, CompletionRequested, CompletionAnswered]


async def test_a_tool_that_failed_in_the_same_turn_comes_first(tmp_path: Path) -> None:
    kit, parts = task(tmp_path, needs_closed_todos=True)
    parts.toolbox.failed = ["apply_diff", "apply_diff"]
    parts.log.record(TodosSet(parse_checklist("[ ] one")))
    objection = await parts.completion.check_call("")
    assert isinstance(objection, Objection) and objection.is_error and objection.text.count("apply_diff") == 1
    assert not kit.of(TaskCompleted)


@pytest.mark.parametrize(
    ("todos", "required", "refused"),
    [("[x] one\n[-] two", True, True), ("[x] one\n[-] two", False, False), ("[x] one\n[x] two", True, False)],
)
async def test_open_todos_speak_against_it_where_the_settings_say_so(
    tmp_path: Path, todos: str, required: bool, refused: bool
) -> None:
    _, parts = task(tmp_path, needs_closed_todos=required)
    parts.log.record(TodosSet(parse_checklist(todos)))
    outcome = await parts.completion.check_call("Done.")
    assert isinstance(outcome, Objection) is refused
    assert not isinstance(outcome, Objection) or ("[-] two" in outcome.text and "[x] one" not in outcome.text)


@pytest.mark.parametrize("result", ["", " \n"])
async def test_a_result_says_something(tmp_path: Path, result: str) -> None:
    _, parts = task(tmp_path)
    outcome = await parts.completion.check_call(result)
    assert isinstance(outcome, Objection) and outcome.is_error and '"result"' in outcome.text


async def test_the_supervisor_objects_before_the_user_is_asked_and_only_to_a_call(tmp_path: Path) -> None:
    kit, parts = task(tmp_path, "Delete the log.", **SMALL)
    outcome = await parts.completion.check_call("I deleted it.")
    assert isinstance(outcome, Objection) and not outcome.is_error and outcome.suggested == ("execute_command",)
    assert not kit.of(TaskCompleted)
    assert await parts.completion.check_answer("I deleted it.") == Accepted("I deleted it.")


async def test_messages_that_the_model_has_not_seen_come_before_the_user_is_asked(tmp_path: Path) -> None:
    kit, parts = task(tmp_path)
    parts.requests.say(Say("One more thing."))
    assert await parts.completion.check_call("Done.") == Feedback((TextBlock(wording.HEAR_FIRST),))
    assert not kit.of(TaskCompleted)


async def test_feedback_goes_to_the_model_and_is_what_is_to_be_done_from_then_on(tmp_path: Path) -> None:
    answers = iter([Answer("completion_1", yes=False, text="Now delete the log."), Answer("completion_2", yes=True)])
    parts: Assembly

    def answer(_task: str, event: Event) -> None:
        if isinstance(event, CompletionRequested):
            asyncio.get_running_loop().call_soon(lambda: parts.requests.answer(next(answers)))

    _, parts = task(tmp_path, "Who wrote it?", **SMALL, headless=False, watch=answer)
    assert await parts.completion.check_call("Ada.") == Feedback((TextBlock(wording.feedback("Now delete the log.")),))
    assert isinstance(await parts.completion.check_call("I deleted it."), Objection)
    assert isinstance(await parts.completion.check_call("I deleted it."), Objection), "however often it is claimed"
    parts.supervisor.after("execute_command", {}, [RunCommand("rm a.log")], ok("Command executed."))
    assert await parts.completion.check_call("I deleted it.") == Accepted("I deleted it.")


def test_a_reply_without_a_call_is_an_answer_only_where_that_finishes(tmp_path: Path) -> None:
    words, cut = Reply((TextBlock("It is 42."),)), Reply((TextBlock("It is"),), stop="length")
    _, finishing = task(tmp_path / "1")
    _, reminding = task(tmp_path / "2", plain_answers="remind")
    _, small = task(tmp_path / "3", **SMALL)
    assert not small.loop.is_answer(words)
    assert finishing.loop.is_answer(words) and not reminding.loop.is_answer(words)
    assert not finishing.loop.is_answer(cut) and not finishing.loop.is_answer(Reply((TextBlock(" \n"),)))


@pytest.mark.parametrize(
    ("call", "outcome", "accepted"),
    [
        ("attempt_completion", "completed", True),
        ("attempt_completion", "cancelled", False),
        ("read_file", "completed", False),
    ],
)
def test_a_completion_that_ended_the_task_was_accepted(call: str, outcome: Any, accepted: bool) -> None:
    assert was_accepted(TaskState(ended=TaskEnded(outcome, "")), call) is accepted
    assert not was_accepted(TaskState(), call)
