from __future__ import annotations

import math
from typing import Any

import pytest

from joey.protocols.json.partial import partial_value
from vectors_data import cases

EXCEPTIONS = {"83": "__proto__ is an ordinary key outside JavaScript"}


def same(got: Any, expected: Any) -> bool:
    """Equal as JavaScript would see it: numbers are doubles, and `$num` stands for what JSON cannot write."""
    if isinstance(expected, dict) and set(expected) == {"$num"}:
        number = {"-0": 0.0}.get(expected["$num"], float(expected["$num"]))
        return isinstance(got, (int, float)) and (got == number or (math.isnan(got) and math.isnan(number)))
    if isinstance(expected, dict):
        return isinstance(got, dict) and got.keys() == expected.keys() and all(same(got[k], expected[k]) for k in got)
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return float(got) == float(expected)
    return bool(got == expected)


def read(text: str) -> Any:
    try:
        return {"expected": partial_value(text)}
    except ValueError:
        return {"error": True}


def agrees(answer: Any, case: Any) -> bool:
    if "error" in case:
        return "error" in answer
    return "expected" in answer and same(answer["expected"], case["expected"])


@pytest.mark.parametrize("case", cases("roo/partial_json"), ids=lambda case: case["id"])
def test_every_prefix_reads_as_the_real_package_reads_it(case: Any) -> None:
    wrong = [p for p in case["prefixes"] if not agrees(read(case["doc"][: p["n"]]), p)]
    assert not wrong, (case["doc"], wrong, [read(case["doc"][: p["n"]]) for p in wrong])


@pytest.mark.parametrize("case", cases("roo/partial_json_noise"), ids=lambda case: case["id"])
def test_broken_input_reads_as_the_real_package_reads_it(case: Any) -> None:
    if case["id"] in EXCEPTIONS:
        assert not agrees(read(case["input"]), case), "no exception any more"
        return
    assert agrees(read(case["input"]), case), (case, read(case["input"]))
