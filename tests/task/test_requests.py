"""Between a task and its user: what counts as an answer, and what is said while nobody is there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer, Say
from joey.effects import Suggestion
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueAnswered,
    ContinueRequested,
    ModeChanged,
    QuestionRequested,
    Request,
    UserMessageQueued,
    UserMessageTakenBack,
)
from joey.messages import TextBlock
from joey.policy.settings import Settings
from joey.prompts import UserInput
from joey.task.requests import Continued, Requests, unattended
from joey.testing.script import Failure, reply
from task_kit import Kit

QUESTION = QuestionRequested("question_1", "Which?", (Suggestion("this"), Suggestion("that")))


def requests(folder: Path, **changes: Any) -> tuple[Kit, Requests]:
    kit = Kit(folder, [], **changes)
    return kit, kit.assemble().requests


async def requested(made: Requests, request: Request) -> asyncio.Future[Answer]:
    waiting = asyncio.ensure_future(made.ask(request))
    await asyncio.sleep(0)
    return waiting


async def test_only_an_answer_to_this_very_request_counts_and_only_the_first(tmp_path: Path) -> None:
    _, made = requests(tmp_path, user=lambda _request: None)
    waiting = await requested(made, QUESTION)
    assert not made.answer(Answer("question_2", yes=True, text="no"))
    made.say(Say("this"))
    assert not waiting.done()
    assert made.answer(Answer("question_1", yes=True, text="that"))
    assert not made.answer(Answer("question_1", yes=True, text="this"))
    assert (await waiting).text == "that"
    assert not made.answer(Answer("question_1", yes=True)), "nobody waits any more"


async def test_a_question_is_answered_with_its_first_suggestion_when_time_is_up(tmp_path: Path) -> None:
    policy = Settings().changed(followup_timeout=0.01)
    _, made = requests(tmp_path, user=lambda _request: None, approvals=policy)
    assert (await made.ask(QUESTION)).text == "this"
    waiting = await requested(made, ContinueRequested("continue_1", "why"))
    await asyncio.sleep(0.02)
    assert not waiting.done(), "nothing else is answered by the clock"
    waiting.cancel()


@pytest.mark.parametrize(
    ("request_", "yes", "text"),
    [
        (QUESTION, False, ""),
        (QuestionRequested("q", "Which?", ()), False, ""),
        (CompletionRequested("c", "Done."), True, ""),
        (ApprovalRequested("a", "1", "rm", {}, "why", (), ()), False, ""),
        (ContinueRequested("w", "why"), False, ""),
    ],
)
async def test_with_nobody_there_the_careful_answer_is_given(
    tmp_path: Path, request_: Request, yes: bool, text: str
) -> None:
    kit, made = requests(tmp_path, headless=True)
    assert await made.ask(request_) == unattended(request_)
    assert unattended(request_) == Answer(request_.request_id, yes=yes, text=text, unattended=True)
    assert kit.events == [request_], "whoever watches sees what would have been asked"


@pytest.mark.parametrize(("yes", "text", "continues"), [(True, "", True), (False, "", False), (False, "Try x.", True)])
async def test_words_are_a_yes_to_going_on_and_are_for_the_model(
    tmp_path: Path, yes: bool, text: str, continues: bool
) -> None:
    kit, made = requests(tmp_path, user=lambda _request: None)
    waiting = asyncio.ensure_future(made.continues("Nothing went right."))
    await asyncio.sleep(0)
    made.answer(Answer("continue_1", yes=yes, text=text))
    assert await waiting is continues
    assert kit.of(ContinueAnswered) == [ContinueAnswered("continue_1", continues)], "the words are a message, once"
    assert [event.text for event in kit.of(UserMessageQueued)] == ([text] if text else [])


async def test_ids_are_never_used_twice(tmp_path: Path) -> None:
    _, made = requests(tmp_path, headless=True)
    assert [made.new_id("approval"), made.new_id("question")] == ["approval_1", "question_2"]
    assert await made.ask_to_continue("why") == Continued(yes=False)


def test_the_last_message_that_waits_can_be_taken_back(tmp_path: Path) -> None:
    kit, made = requests(tmp_path)
    assert not made.take_back()
    made.say(Say("one"))
    made.say(Say("two"))
    assert made.take_back() and kit.of(UserMessageTakenBack) == [UserMessageTakenBack("two")]


@pytest.mark.parametrize(("mode", "changes"), [("ask", True), ("nope", False), (None, False)])
async def test_what_typed_words_name_is_attached_and_may_switch_the_mode(
    tmp_path: Path, mode: str | None, changes: bool
) -> None:
    async def expand(text: str, _mode: str) -> UserInput:
        return UserInput(text, (TextBlock("attached"),), mode)

    kit, made = requests(tmp_path, expand_input=expand)
    attached = await made.expand("/ask @file")
    assert attached[0] == TextBlock("attached") and bool(kit.of(ModeChanged)) is changes
    assert len(attached) == (2 if mode == "nope" else 1), "a mode that does not exist is reported to the model"
    assert await made.expand("") == ()


async def test_words_on_an_error_of_the_provider_go_along_with_the_next_attempt(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        failed = isinstance(request, ContinueRequested)
        return Answer(request.request_id, yes=not failed, text="Shorter, please." if failed else "")

    kit = Kit(tmp_path, [Failure(400, "too long"), reply("Hello.")], user=user)
    assert (await kit.run()).outcome == "completed"
    assert "Shorter, please." in str(kit.sent)
