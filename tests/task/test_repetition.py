from __future__ import annotations

from typing import Any

import pytest

from joey.task.repetition import Repetition
from vectors_data import cases

EXCEPTIONS = {"rep-12": "that test stubs the comparison, so that calls of two tools look the same"}


def run(detector: Repetition, name: str, arguments: Any = None, result: str = "same") -> bool:
    """Whether the call was allowed; if so it runs."""
    if detector.refusal(name, arguments):
        return False
    detector.ran(name, arguments, result)
    return True


@pytest.mark.parametrize("case", cases("roo/native_loop", set="tool_repetition"), ids=lambda case: case["id"])
def test_identical_calls_are_refused_as_in_roo(case: Any) -> None:
    detector = Repetition(case["limit"])
    if case["id"] in EXCEPTIONS:
        return
    allowed = [
        run(detector, call["name"], {k: call.get(k) for k in ("params", "nativeArgs")}) for call in case["calls"]
    ]
    assert allowed == case["allow"]


def test_two_calls_in_turn_are_noticed() -> None:
    detector = Repetition(3)
    assert [run(detector, name) for name in "ABABAB"] == [True] * 6
    assert not run(detector, "A")


def test_three_calls_in_turn_are_noticed() -> None:
    detector = Repetition(2)
    assert [run(detector, name) for name in "ABCABC"] == [True] * 6
    assert not run(detector, "A")


def test_polling_is_left_alone() -> None:
    detector = Repetition(3)
    assert all(run(detector, "read_command_output", {"id": 1}, f"{n} lines") for n in range(50))


def test_after_a_refusal_it_may_try_again() -> None:
    detector = Repetition(2)
    assert [run(detector, "A") for _ in range(4)] == [True, True, False, True]


def test_after_a_refusal_the_same_with_the_same_result_is_no_progress_and_anything_else_is() -> None:
    detector = Repetition(2)
    assert [run(detector, "A") for _ in range(4)] == [True, True, False, True]
    assert detector.goes_round
    run(detector, "A", result="another")
    assert not detector.goes_round


def test_the_order_of_arguments_does_not_matter() -> None:
    detector = Repetition(1)
    assert run(detector, "f", {"a": 1, "b": 2})
    assert not run(detector, "f", {"b": 2, "a": 1})


def test_a_limit_of_zero_never_refuses() -> None:
    assert all(run(Repetition(0), "A") for _ in range(20))


def test_for_a_small_model_the_same_call_is_refused_until_something_was_changed() -> None:
    detector = Repetition(3, at_once=True)
    assert [run(detector, name) for name in "ABAB"] == [True, True, False, False]
    detector.ran("W", None, "written", changed=True)
    assert [run(detector, name) for name in "AWB"] == [True, False, True]


def test_for_a_small_model_a_call_that_was_refused_may_be_made_when_it_can_work() -> None:
    detector = Repetition(3, at_once=True)
    detector.ran("write", None, "it was not read", refused=True)
    assert run(detector, "read") and run(detector, "write")


def test_for_a_small_model_a_cycle_of_changes_is_refused_after_two_rounds() -> None:
    detector = Repetition(3, at_once=True)
    for name in "ABAB":
        assert detector.refusal(name, None) is None
        detector.ran(name, None, "same", changed=True)
    assert detector.refusal("A", None) is not None


@pytest.mark.parametrize("at_once", [False, True])
def test_what_the_user_says_makes_room_for_the_same_call_again(at_once: bool) -> None:
    detector = Repetition(3, at_once=at_once)
    while run(detector, "attempt_completion", {"result": "Done."}):
        pass
    detector.forget()
    assert run(detector, "attempt_completion", {"result": "Done."}) and not detector.goes_round
