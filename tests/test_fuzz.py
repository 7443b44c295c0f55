"""`python -m fuzz`: every law holds on the first inputs, what fails is kept until it passes, and parts add up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz import __main__ as fuzz
from fuzz.ledger import Ledger
from fuzz.properties import PROPERTIES, Property
from fuzz.property_tests import count


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_law_holds_on_the_first_inputs(name: str) -> None:
    assert [problem for number in range(60) if (problem := PROPERTIES[name].problem(name, number))] == []


@pytest.mark.parametrize("name", PROPERTIES)
def test_an_input_is_made_again_from_its_number_and_inputs_differ(name: str) -> None:
    shown = [repr(PROPERTIES[name].shown(name, number)) for number in range(40)]
    assert shown == [repr(PROPERTIES[name].shown(name, number)) for number in range(40)]
    assert len(set(shown)) > 20


def _no_sevens(drawn: int, _rng: random.Random) -> None:
    assert drawn != 7, "seven"


def test_parts_add_up_and_a_failure_stays_until_its_input_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Property(lambda rng: rng.randint(1, 9), _no_sevens)
    monkeypatch.setattr(fuzz, "PROPERTIES", {"digits": broken})
    monkeypatch.setattr(fuzz, "TURN", 0.0001)
    path = tmp_path / "ledger.jsonl"
    assert fuzz.main(["--inputs", "50", "--ledger", str(path)]) == 1
    first = Ledger(path)
    assert first.tried["digits"] >= 50 and all("seven" in part.failed[number] for part, number in first.failures)
    monkeypatch.setattr(fuzz, "PROPERTIES", {"digits": Property(broken.draw, lambda _drawn, _rng: None)})
    assert fuzz.main(["--inputs", str(first.tried["digits"] + 1), "--ledger", str(path)]) == 0
    second = Ledger(path)
    assert second.tried["digits"] > first.tried["digits"] and not second.failures
    assert sum(len(part.fixed) for part in second.parts) == len(first.failures) > 0
    assert f"0 failures, {len(first.failures)} that were fixed" in capsys.readouterr().out


def test_the_inputs_of_property_tests_are_counted_by_test() -> None:
    printed = """
tests/a.py::test_x[one two]:

  - during generate phase (1 seconds):
    - 10 passing examples, 0 failing examples, 3 invalid examples
tests/a.py::test_x[b]:
    - Typical runtimes: ~ 1ms; 5 passing, 0 failing
tests/b.py::test_y:
    - 7 passing examples, 1 failing examples, 0 invalid examples
1,000 random lines of bash judged
"""
    tried = count(printed)
    assert tried == {"tests/a.py::test_x": 15, "tests/b.py::test_y": 8, "random lines of bash judged": 1000}
