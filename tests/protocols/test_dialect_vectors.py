"""What the real parsers answered, and what was put in: 5,857 recorded cases of 66 dialects."""

from __future__ import annotations

import json
import random

import pytest

from dialect_cases import CUTS, answer, cases_of, counts, dialect_names, difference, right
from joey.protocols import parse
from vectors_data import ROOT


@pytest.mark.parametrize("name", dialect_names())
def test_recorded_replies_are_read_right_at_every_cut(name: str) -> None:
    cases = [case for case in cases_of(name) if counts(case)]
    wrong = []
    for number, case in enumerate(cases):
        cuts = ("whole", ("chunks", "random", "character", "random")[number % 4])
        results = [right(case, answer(case, CUTS[cut](case, random.Random(case["id"])))) for cut in cuts]
        assert len(set(results)) == 1, f"{case['id']} depends on how it is cut"
        wrong += [] if results[0] else [case]
    assert not [case["id"] for case in wrong if not difference(case)]
    assert len([case for case in wrong if not case.get("recorded")]) <= 2, "what was put in is known"


def test_replies_without_a_recorded_answer_are_read_without_loss() -> None:
    for name in dialect_names():
        for case in cases_of(name)[::3]:
            if not counts(case):
                answer(case, CUTS["random"](case, random.Random(case["id"])))


def test_what_qwen_coder_really_writes_is_a_call() -> None:
    """A recorded reply of a real model that was given tools natively: an object in a code fence, left as text by its
    server."""
    stream = json.loads((ROOT / "streams" / "qwen15-native-tools-auto.json").read_text(encoding="utf-8"))
    reply = parse(list(stream["text"]), protocol="qwen2_5_coder", tools=stream["request"]["tools"])
    assert [call.name for call in reply.calls] == ["write_to_file"] and reply.text == ""
    other = [{"name": "another_tool"}]
    assert parse(f"So: {stream['text']}", protocol="qwen2_5_coder", tools=other).calls == ()
