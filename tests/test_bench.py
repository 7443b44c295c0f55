"""What is claimed of speed and size: each claim finds its figure, the worst counts, and what is kept is the last."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
from bench.claims import CLAIMS, RECORD, Claim, measured, record, recorded, summary
from bench.table import Table

SPEED = Claim("speed", "a floor", 2, "b", "Some", "Joey, .*", ["10 KB", "50 KB"])


def table(*rows: tuple[str, str, str]) -> Table:
    made = Table("Some speed", ["", "10 KB", "50 KB"])
    for row in rows:
        made.add(*row)
    return made


def test_the_worst_of_the_cells_counts_and_words_do_not() -> None:
    tables = [table(("baseline", "9", "9"), ("Joey, a", "1.25", "1,000.5"), ("Joey, b", "1.5×", "not run"))]
    assert SPEED.figure(tables) == 1000.5
    assert SPEED.figure([Table("Another", ["", "10 KB", "50 KB"])]) is None


@pytest.mark.parametrize(
    ("figure", "at_least", "holds"),
    [(2.0, False, True), (2.1, False, False), (2.0, True, True), (1.9, True, False)],
)
def test_a_limit_holds_up_to_itself(figure: float, at_least: bool, holds: bool) -> None:
    claim = Claim("c", "", 2, "b", "", "", [], at_least=at_least)
    assert claim.holds(figure) is holds


def test_the_record_keeps_the_last_figure_of_each_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.claims.CLAIMS", (SPEED,))
    path = tmp_path / "last.json"
    for cell in ("3", "1.5"):
        record(measured("b", [table(("Joey, a", cell, "1"))]), path)
    record([], path)
    (kept,) = recorded(path)
    assert (kept.figure, kept.holds, kept.limit) == (1.5, True, "at most 2")
    assert re.search(r"speed +1.5 +a floor +at most 2 +yes", str(summary([kept])))


def test_each_claim_is_of_a_benchmark_and_the_record_is_of_these_claims() -> None:
    for claim in CLAIMS:
        assert importlib.util.find_spec(f"bench.{claim.benchmark}"), claim
    assert {each["what"] for each in json.loads(RECORD.read_text("utf-8"))} <= {claim.what for claim in CLAIMS}
