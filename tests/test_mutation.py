"""The script that plants faults: what it plants parses, and means something else."""

from __future__ import annotations

import ast

import mutation
import pytest


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
    assert [fault.text for fault in found] == planted
    for fault in found:
        assert fault.line == 3
        assert ast.dump(ast.parse(fault.planted(text))) != ast.dump(ast.parse(text))


def test_a_condition_is_turned_around_and_what_only_names_types_is_left_alone() -> None:
    source = "N: int = 1\n\ndef f(a: int = 2) -> None:\n    if a:\n        raise ValueError(a + 1)\n    b: int = 3\n"
    assert [fault.text for fault in mutation.faults_in("f.py", source)] == ["not (a)"]


def test_the_same_seed_chooses_the_same_faults_in_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "PACKAGES", ("journal", "bounded"))
    faults = mutation.chosen(5, 3)
    assert faults == mutation.chosen(5, 3) != mutation.chosen(5, 4)
    assert [fault.file.split("/")[2] for fault in faults] == ["journal"] * 3 + ["bounded"] * 2
