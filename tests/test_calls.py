"""`python -m bench.calls`: which calls are right by the leaderboard's rules, what each way asks, how runs add up."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import calls as bench_calls
from bench.bfcl import DATA, Judged, Question, is_right, judge, questions
from bench.calls import Row, ask, client, markdown, measure, recorded
from bench.prompted import read_prompted

from bfcl_data import MISSING
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import get
from joey.testing.script import reply
from joey.testing.server import LocalServer

DECLARED = {
    "type": "dict",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "degrees": {"type": "float"}},
    "required": ["city"],
}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "degrees": {"type": "number"}},
    "required": ["city"],
}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA}}]
PARIS: dict[str, Any] = {"city": ["Paris", "Paris, France"], "days": [3, ""], "degrees": [2.0, ""]}
ROME: dict[str, Any] = {"city": ["Rome"], "days": [1]}
MESSAGES = [{"role": "user", "content": "How is the weather?"}]


def question(category: str, *answer: dict[str, Any], name: str = "q") -> Question:
    return Question(name, category, MESSAGES, TOOLS, [("weather", each) for each in answer], {"weather": DECLARED})


ONE, BOTH, NONE = question("simple", PARIS), question("parallel", PARIS, ROME), question("irrelevance")


@pytest.mark.parametrize(
    ("given", "made", "judged"),
    [
        (ONE, [{"city": "paris"}], Judged(True, True, True)),
        (ONE, [{"city": "Paris France", "days": 3}], Judged(True, True, True)),
        (ONE, [{"city": "Paris", "degrees": 2}], Judged(True, True, True)),
        (ONE, [{"city": "Paris", "days": 4}], Judged(True, True, False)),
        (ONE, [{"city": "Paris", "days": 3.0}], Judged(True, True, False)),
        (ONE, [{"city": "Paris", "days": "3"}], Judged(True, False, False)),
        (ONE, [{"city": "Paris", "more": 1}], Judged(True, True, False)),
        (ONE, [{}], Judged(True, False, False)),
        (ONE, [{"city": "Paris"}, {"city": "Paris"}], Judged(True, True, False)),
        (ONE, [], Judged(False, False, False)),
        (BOTH, [{"city": "Rome", "days": 1}, {"city": "Paris"}], Judged(True, True, True)),
        (BOTH, [{"city": "Paris"}], Judged(True, True, False)),
        (NONE, [], Judged(False, True, True)),
        (NONE, [{"city": "Paris"}], Judged(True, True, False)),
    ],
)
def test_calls_are_judged_by_the_values_that_are_accepted(given: Question, made: list[Any], judged: Judged) -> None:
    assert judge(given, [("weather", json.dumps(call)) for call in made]) == judged


def test_arguments_that_are_no_json_and_tools_that_are_not_there_are_not_well_formed() -> None:
    assert judge(ONE, [("weather", "{")]) == Judged(True, False, False)
    assert judge(ONE, [("other", '{"city": "Paris"}')]) == Judged(True, False, False)


# The data


def _accepted(value: Any) -> Any:
    """The first choice of each member of an object."""
    if isinstance(value, dict):
        chosen = {name: next((each for each in choices if each != ""), "") for name, choices in value.items()}
        return {name: _accepted(each) for name, each in chosen.items() if each != ""}
    return [_accepted(each) for each in value] if isinstance(value, list) else value


def _answer(given: Question) -> list[tuple[str, Any]]:
    return [(name, _accepted(dict(given))) for name, given in given.answer]


def _mutated(right: list[tuple[str, Any]]) -> Iterator[list[tuple[str, Any]]]:
    yield right[1:]
    yield [*right, right[0]]
    yield [(f"{right[0][0]}_too", right[0][1]), *right[1:]]
    yield [(right[0][0], {**right[0][1], "unheard_of": 1}), *right[1:]]
    for name in right[0][1]:
        for wrong in ("7f3a", None, -12345.5, [["7f3a"]], {"7f3a": 1}):
            changed = copy.deepcopy(right)
            changed[0][1][name] = wrong
            if changed != right:
                yield changed


@pytest.mark.skipif(not (DATA / "irrelevance.questions.jsonl").exists(), reason=MISSING)
def test_each_possible_answer_is_right_and_each_change_of_it_wrong() -> None:
    tried = 0
    for given in questions(200):
        if given.category == "irrelevance":
            assert is_right(given, [])
            continue
        right = _answer(given)
        assert is_right(given, right), given.id
        for wrong in _mutated(right):
            tried += 1
            assert not is_right(given, wrong), (given.id, wrong)
    assert tried > 5_000


# Prompt only


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[weather(city='Paris', days=3)]", [{"city": "Paris", "days": 3}]),
        ("weather(city='Paris')", [{"city": "Paris"}]),
        ('```python\n[weather(city="Paris"), weather(days=-1)]\n```', [{"city": "Paris"}, {"days": -1}]),
        ("[weather(city=paris, days=[1, {'a': None}])]", [{"city": "paris", "days": [1, {"a": None}]}]),
        ("None of the functions is of use.", []),
        ("I call [weather(city='Paris')]", []),
        ("[1, 2]", []),
        ("", []),
    ],
)
def test_a_reply_in_words_is_read_as_python_calls(text: str, found: list[Any]) -> None:
    assert [(name, json.loads(arguments)) for name, arguments in read_prompted(text)] == [
        ("weather", each) for each in found
    ]


# The ways


def _text(protocol: str) -> str:
    block = get(protocol).encode_call(ToolUseBlock("", "weather", {"city": "Paris"}), ())
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.parametrize("way", ["native", "prompt", "hermes", "json_mix", "xml"])
async def test_each_way_asks_in_its_own_words_and_finds_the_call(way: str) -> None:
    written: dict[str, str | ToolUseBlock] = {
        "native": ToolUseBlock("c1", "weather", {"city": "Paris"}),
        "prompt": "[weather(city='Paris')]",
    }
    async with LocalServer([reply(written.get(way) or _text(way))]) as server, client(way, server.url, "key") as by:
        found, _ = await ask(way, by, ONE)
    assert judge(ONE, found) == Judged(True, True, True)
    (sent,) = server.requests
    assert ("tools" in sent.body) == (way == "native")
    assert ("grammar" in sent.body) == (way not in ("native", "prompt"))
    assert sent.body["temperature"] == 0 and sent.body["max_tokens"] == bench_calls.MAX_TOKENS
    assert way == "native" or "weather" in sent.body["messages"][0]["content"]


async def test_runs_add_up_and_nothing_is_asked_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_calls, "RESULTS", tmp_path / "calls.jsonl")
    monkeypatch.setattr(bench_calls, "REPLIES", tmp_path / "build" / "calls.jsonl")
    given = [question("simple", PARIS, name="simple_1"), question("irrelevance", name="irrelevance_1")]
    replies: list[str | ToolUseBlock] = [
        ToolUseBlock("c1", "weather", {"city": "Paris"}),
        "weather(city='Rome')",
        "No.",
        "No.",
    ]
    async with LocalServer([reply(each) for each in replies]) as server:
        for _ in range(2):
            await measure(["native", "prompt"], given, time.monotonic() + 60, server.url, "key")
    assert len(server.requests) == 4
    found = recorded(tmp_path / "calls.jsonl")
    assert [(row.id, row.way, row.right) for row in found] == [
        ("simple_1", "native", True),
        ("simple_1", "prompt", False),
        ("irrelevance_1", "native", True),
        ("irrelevance_1", "prompt", True),
    ]
    async with LocalServer([]) as idle:
        await measure(["native"], [ONE], time.monotonic() - 1, idle.url, "key")
    assert not idle.requests


async def test_questions_that_are_put_at_once_are_each_put_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_calls, "RESULTS", tmp_path / "calls.jsonl")
    monkeypatch.setattr(bench_calls, "REPLIES", tmp_path / "build" / "calls.jsonl")
    given = [question("irrelevance", name=f"irrelevance_{at}") for at in range(5)]
    async with LocalServer([reply("No.") for _ in given]) as server:
        await measure(["native"], given, time.monotonic() + 60, server.url, "key", at_once=3)
    assert {row.id for row in recorded(tmp_path / "calls.jsonl")} == {each.id for each in given}


def test_the_table_says_how_many_questions_each_cell_stands_for() -> None:
    def row(name: str, way: str, right: bool) -> Row:
        return Row(name, way, True, True, right, 2.0, "2026-01-01", "abc")

    found = [row("simple_1", "native", True), row("simple_2", "native", False), row("irrelevance_1", "native", False)]
    head, _, line = markdown(found).splitlines()
    assert head.startswith("| way | simple | multiple | parallel | irrelevance |")
    assert line == (
        "| llama.cpp's own template | 1 of 2 (50 %) | – | – | 0 of 1 (0 %) | 2 of 2 (100 %) | 2 of 2 (100 %) | 2 |"
    )


def test_what_is_kept_is_of_known_ways_and_was_asked_once() -> None:
    found = recorded()
    assert {row.way for row in found} <= bench_calls.WAYS.keys()
    assert len({(row.id, row.way) for row in found}) == len(found)
