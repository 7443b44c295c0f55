"""The script that plants faults: what it plants parses, and means something else."""

from __future__ import annotations

import ast
from dataclasses import asdict
from pathlib import Path

import mutation
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("source", "planted"),
    [
        ("a == b", ["((a) != (b))"]),
        ("'é' not in b", ["(('é') in (b))"]),
        ("a and b", ["((a) or (b))"]),
        ("not (yield from a)", ["bool((yield from a))"]),
        ("True", ["False"]),
        ("7", ["8"]),
        ("(a or b) - c", ["((a or b) + (c))", "((a) and (b))"]),
        ("f'{1 + 1}'", []),
    ],
)
def test_a_fault_is_a_small_change_that_parses(source: str, planted: list[str]) -> None:
    text = f"def f():\n    'Words.'\n    return {source}\n"
    found = list(mutation.faults_in("f.py", text))
    assert [fault.new for fault in found] == planted
    for fault in found:
        assert fault.line == f"    return {source}"
        after = fault.planted(text)
        assert after and ast.dump(ast.parse(after)) != ast.dump(ast.parse(text))


def test_a_condition_is_turned_around_and_what_only_names_types_is_left_alone() -> None:
    source = "N: int = 1\n\ndef f(a: int = 2) -> None:\n    if a:\n        raise ValueError(a + 1)\n    b: int = 3\n"
    assert [fault.new for fault in mutation.faults_in("f.py", source)] == ["not (a)"]


def test_the_same_seed_chooses_the_same_faults_in_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "PACKAGES", ("journal", "bounded"))
    faults = mutation.chosen(5, 3)
    assert faults == mutation.chosen(5, 3) != mutation.chosen(5, 4)
    assert [fault.file.split("/")[2] for fault in faults] == ["journal"] * 3 + ["bounded"] * 2


def test_a_fault_is_found_again_where_its_line_moved_and_is_gone_with_it() -> None:
    (fault,) = mutation.faults_in("f.py", "def f(a):\n    return a == b\n")
    assert fault.planted("# new\n\ndef f(a):\n    return a == b\n") == "# new\n\ndef f(a):\n    return ((a) != (b))\n"
    assert fault.planted("def f(a):\n    return a == c\n") is None


def test_of_lines_that_are_there_twice_none_is_chosen() -> None:
    assert not list(mutation.faults_in("f.py", "def f(a):\n    return not a\n\ndef g(a):\n    return not a\n"))


def test_the_tests_that_name_the_module_come_first() -> None:
    own, rest, others = mutation.tests_for("src/joey/policy/shell/plain.py", ROOT, thorough=True)
    assert "tests/policy/test_plain.py" in own and "tests/policy/test_rules.py" in rest
    assert not set(own) & set(rest) and all((ROOT / each).exists() for each in [*own, *rest, *others])


def test_a_plan_keeps_what_was_tried_and_fills_up_each_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "PACKAGES", ("journal", "bounded"))
    first = mutation.plan([], 4, 1)
    first[0] |= {"caught_by": None, "day": "2026-01-01"}
    gone = {**first[1], "line": "no such line"}
    second = mutation.plan([first[0], gone, *first[2:]], 4, 1)
    assert second[0] is first[0] and len(second) == 4 and gone not in second
    assert sorted(row["file"].split("/")[2] for row in second) == ["bounded"] * 2 + ["journal"] * 2


def test_the_report_tells_what_no_test_can_catch() -> None:
    (fault,) = mutation.faults_in("f.py", "def f(a):\n    return a == b\n")
    rows = [
        {**asdict(fault), "caught_by": "tests/a", "day": "2026-01-01"},
        {**asdict(fault), "caught_by": "tests/b", "day": "2026-01-02", "missed_on": "2026-01-01"},
        {**asdict(fault), "caught_by": None, "day": "2026-01-01", "equivalent": "the same"},
        asdict(fault),
    ]
    assert mutation.report(rows).splitlines()[-1] == (
        "2 of 3 faults caught, 1 of them by the tests as they were, 1 without any effect, 1 not tried yet"
    )
