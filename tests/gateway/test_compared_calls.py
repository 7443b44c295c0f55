"""The judge of `python -m bench.calls`: which calls are right, as the leaderboard compares them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.calls import Judged, Question, judge

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
PARIS: dict[str, Any] = {"city": ["Paris", "Paris, France"], "days": [3, ""]}
ROME: dict[str, Any] = {"city": ["Rome"], "days": [1]}
BOTH = Question("q", "parallel", [], TOOLS, [("weather", PARIS), ("weather", ROME)])
ONE = Question("q", "single", [], TOOLS, [("weather", PARIS)])


@pytest.mark.parametrize(
    ("question", "calls", "judged"),
    [
        (ONE, [{"city": "paris"}], Judged(True, True, True)),
        (ONE, [{"city": "Paris France", "days": 3}], Judged(True, True, True)),
        (ONE, [{"city": "Paris", "days": 4}], Judged(True, True, False)),
        (ONE, [{"city": "Paris", "days": "3"}], Judged(True, False, False)),
        (ONE, [{"city": "Paris", "more": 1}], Judged(True, True, False)),
        (ONE, [{}], Judged(True, False, False)),
        (ONE, [{"city": "Paris"}, {"city": "Paris"}], Judged(True, True, False)),
        (ONE, [], Judged(False, False, False)),
        (BOTH, [{"city": "Rome", "days": 1}, {"city": "Paris"}], Judged(True, True, True)),
        (BOTH, [{"city": "Paris"}], Judged(True, True, False)),
    ],
)
def test_calls_are_judged_by_the_values_that_are_accepted(question: Question, calls: list[Any], judged: Judged) -> None:
    assert judge(question, [("weather", json.dumps(call)) for call in calls]) == judged


def test_arguments_that_are_no_json_and_tools_that_are_not_there_are_not_well_formed() -> None:
    assert judge(ONE, [("weather", "{")]) == Judged(True, False, False)
    assert judge(ONE, [("other", '{"city": "Paris"}')]) == Judged(True, False, False)
