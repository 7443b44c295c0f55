"""Which keys answer a request, and when: a letter of a word is never an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from joey.commands import Answer
from joey.effects import Suggestion
from joey.events import ApprovalRequested, CompletionRequested, ContinueRequested, QuestionRequested, Request
from joey.terminal.plain.conversation import answer_to, prompt_for
from joey.terminal.screen.answering import (
    HOLD,
    Comment,
    EditPlan,
    Held,
    KeyGate,
    answer_by_words,
    answer_typed,
    choice_of,
)
from joey.terminal.screen.look import request_keys

QUESTION = QuestionRequested("q", "Which?", (Suggestion("Red"), Suggestion("Blue", "code")))
APPROVAL = ApprovalRequested("a", "c", "read_file", {}, "", always=("reading it",))
JUST_ONCE = ApprovalRequested("a", "c", "read_file", {}, "")
IN_A_WORKTREE = ApprovalRequested("a", "c", "read_file", {}, "", always=("reading it",), scopes=("task",))
COMPLETION = CompletionRequested("d", "Done.")
PLAN = CompletionRequested("p", "Open a port.", plan=True)
CONTINUE = ContinueRequested("g", "Go on?")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def opened(request: Request = APPROVAL, after: float = 1.0) -> tuple[KeyGate, Clock]:
    """A gate for a request that has been in view for this long."""
    clock = Clock()
    gate = KeyGate(clock, quiet=0.5, hold=0.3)
    assert gate.show(request)
    clock.now += after
    return gate, clock


def test_a_key_that_allows_more_than_this_once_waits_for_a_second() -> None:
    gate, _ = opened()
    waits = {key: gate.hold_of(Held(key, choice)) for key in "yn23" if (choice := choice_of(APPROVAL, key))}
    assert waits["y"] == waits["n"] == gate.hold
    assert waits["2"] == waits["3"] == 3 * gate.hold
    assert (plan := choice_of(PLAN, "2")) is None or gate.hold_of(Held("2", plan)) == 3 * gate.hold
    assert 1 <= 3 * HOLD < 1.1


@pytest.mark.parametrize(
    ("request_", "key", "answer"),
    [
        (QUESTION, "2", (True, "Blue", False)), (QUESTION, "3", None), (QUESTION, "0", None), (QUESTION, "y", None),
        (APPROVAL, "y", (True, "", False)), (APPROVAL, "n", (False, "", False)), (APPROVAL, "2", (True, "", True)),
        (APPROVAL, "1", (True, "", False)), (APPROVAL, "4", None), (APPROVAL, "3", (True, "", True)),
        (JUST_ONCE, "2", None), (IN_A_WORKTREE, "2", (True, "", True)), (IN_A_WORKTREE, "3", None),
        (APPROVAL, "enter", None), (APPROVAL, "a", None), (APPROVAL, "9", None),
        (COMPLETION, "enter", (True, "", False)), (COMPLETION, "n", None), (COMPLETION, "y", None),
        (CONTINUE, "y", (True, "", False)), (CONTINUE, "n", (False, "", False)), (CONTINUE, "a", None),
    ],
)  # fmt: skip
def test_keys_answer_only_what_they_are_shown_for(request_: Any, key: str, answer: Any) -> None:
    choice = choice_of(request_, key)
    given = choice.gives if choice else None
    assert (given and isinstance(given, Answer) and (given.yes, given.text, given.always)) == answer
    assert request_keys(request_, ready=True).plain


def test_each_answer_says_exactly_what_it_allows_and_how_far() -> None:
    request = ApprovalRequested("a", "c", "execute_command", {}, "", always=("exactly `rm -rf build`",))
    lines = request_keys(request, ready=True).plain.splitlines()
    assert lines[1] == "2 yes, always in this task: exactly `rm -rf build`"
    assert lines[2] == "3 yes, always in this project: exactly `rm -rf build`"
    given = [choice_of(request, key) for key in "23"]
    scopes = [each.gives.scope for each in given if each and isinstance(each.gives, Answer)]
    assert scopes == ["task", "project"]


@pytest.mark.parametrize(
    ("allowed", "careful", "editing"),
    [
        ((), "ask before changes and commands", "ask before commands"),
        (("changes",), "ask before commands", ""),
        (("some commands",), "ask before changes and commands that are not allowed yet",
            "ask before commands that are not allowed yet"),
        (("commands",), "ask before changes", "do not ask: changes and commands are allowed"),
        (("changes", "commands"), "do not ask: changes and commands are allowed", ""),
    ],
)  # fmt: skip
def test_the_answers_to_a_plan_say_what_is_asked_before(
    allowed: tuple[Literal["changes", "commands", "some commands"], ...], careful: str, editing: str
) -> None:
    plan = replace(PLAN, allowed=allowed)
    lines = request_keys(plan, ready=True).plain.splitlines()
    assert lines[0].removesuffix(" (or 1)") == f"y carry it out, and {careful}"
    assert [line for line in lines if line.startswith("2 ")] == [f"2 carry it out, and {editing}"] * bool(editing)
    other = f", [2] {editing}" if editing else ""
    assert prompt_for(plan) == f"Carry out the plan? [y]es and {careful}{other}, [n]o, or what to change: "


def test_a_long_command_is_not_repeated_beside_the_answers() -> None:
    request = ApprovalRequested("r", "c", "execute_command", {}, "no rule", always=(f"exactly `{'x ' * 100}`",))
    shown = request_keys(request, ready=True).plain.split("\n")
    assert shown[1:3] == [
        "2 yes, always in this task: exactly this",
        "3 yes, always in this project: exactly this",
    ]


def test_keys_that_do_not_work_yet_are_not_named() -> None:
    lines = request_keys(APPROVAL, ready=False).plain.splitlines()
    assert [line[:2] for line in lines] == ["  "] * 3
    assert lines[0].split() == ["yes,", "once", "no", "no,", "with", "a", "comment"]
    assert request_keys(CONTINUE, ready=False).plain == ""


def test_a_key_answers_after_a_quiet_moment_and_when_nothing_follows_it() -> None:
    gate, _ = opened()
    held = gate.press("y", "")
    assert isinstance(held, Held)
    assert gate.release(held) == Answer("a", yes=True)
    assert gate.release(held) is None


@pytest.mark.parametrize("after", [0.0, 0.4])
def test_a_request_that_has_just_appeared_takes_no_key(after: float) -> None:
    gate, _ = opened(after=after)
    assert not gate.is_ready("")
    assert gate.press("y", "") is None


def test_a_request_takes_no_key_while_text_is_in_the_input_nor_right_after() -> None:
    gate, clock = opened()
    assert gate.press("y", "wait") is None
    assert gate.press("y", "") is None, "the text was sent or cleared this very moment"
    clock.now += 0.5
    assert isinstance(gate.press("y", ""), Held)


def test_keys_typed_before_the_request_count_as_typing() -> None:
    clock = Clock()
    gate = KeyGate(clock, quiet=0.5)
    gate.press("x", "")
    clock.now += 0.1
    gate.show(APPROVAL)
    clock.now += 0.45
    assert gate.press("y", "") is None


def test_a_letter_after_a_held_key_makes_both_words() -> None:
    gate, _ = opened()
    held = gate.press("y", "")
    assert isinstance(held, Held)
    assert gate.press("o", "") is None
    assert gate.release(held) is None, "what came after it is not forgotten"


def test_enter_after_a_held_key_confirms_it() -> None:
    gate, _ = opened()
    gate.press("c", "")
    assert gate.press("enter", "") == Comment()


def test_a_key_answers_only_what_is_in_view_and_has_been_for_a_moment() -> None:
    gate, clock = opened()
    gate.uncovered(in_view=False)
    clock.now += 1
    assert gate.press("y", "") is None and not gate.is_seen
    gate.uncovered()
    assert gate.press("y", "") is None and not gate.is_seen
    clock.now += 1
    assert isinstance(gate.press("y", ""), Held) and gate.is_seen


def test_a_held_key_does_not_answer_the_next_request() -> None:
    gate, _ = opened()
    held = gate.press("y", "")
    assert isinstance(held, Held)
    gate.show(CONTINUE)
    assert gate.release(held) is None


def test_words_are_never_approval() -> None:
    assert answer_by_words(APPROVAL, "yes", comment=False) is None
    denial = answer_by_words(APPROVAL, "yes", comment=True)
    assert denial is not None and not denial.yes


def test_words_are_feedback_guidance_and_answers() -> None:
    for request in (QUESTION, COMPLETION, CONTINUE):
        given = answer_by_words(request, "do more", comment=False)
        assert given is not None and given.text == "do more"
    feedback = answer_by_words(COMPLETION, "do more", comment=False)
    assert feedback is not None and not feedback.yes
    assert answer_by_words(QUESTION, "", comment=False) is None


@pytest.mark.parametrize("typed", ["y", "yes", "Yes"])
def test_a_yes_accepts_a_result_on_the_screen_and_in_lines_and_is_a_message_after_an_answer(typed: str) -> None:
    answer = replace(COMPLETION, plain=True)
    for given in (answer_by_words(COMPLETION, typed, comment=False), answer_to(COMPLETION, typed)):
        assert given == Answer("d", yes=True)
    for given in (answer_by_words(answer, typed, comment=False), answer_to(answer, typed)):
        assert given is not None and not given.yes and given.text == typed


def test_a_key_that_came_too_early_is_the_answer_when_it_is_sent_by_itself_with_the_request_in_view() -> None:
    yes = answer_by_words(APPROVAL, "y", comment=False)
    assert yes is not None and yes.yes and not yes.text
    picked = answer_by_words(QUESTION, "1", comment=False)
    assert picked is not None and picked.text != "1"
    assert answer_by_words(APPROVAL, "y", comment=False, seen=False) is None
    assert answer_by_words(APPROVAL, "yy", comment=False) is None
    assert answer_by_words(APPROVAL, "c", comment=False) is None
    reason = answer_by_words(APPROVAL, "y", comment=True)
    assert reason is not None and not reason.yes
    declined = answer_by_words(PLAN, "n", comment=False)
    assert declined is not None and not declined.yes and not declined.text
    assert isinstance(answer_typed(PLAN, "e"), EditPlan)


def test_a_request_is_seen_once_it_was_in_view_for_a_moment() -> None:
    now = [0.0]
    gate = KeyGate(lambda: now[0])
    seen = []
    for request, seconds in ((APPROVAL, 0.0), (APPROVAL, gate.quiet), (QUESTION, 0.0)):
        gate.show(request)
        now[0] += seconds
        seen.append(gate.is_seen)
    assert seen == [False, True, False]
