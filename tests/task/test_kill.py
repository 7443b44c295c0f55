"""Kill -9 at 90 random instants of a 12-turn task, resume each: nothing is lost, nothing happens twice unnoticed.

`make chaos` does it with real processes, and as often as one likes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROUNDS = 12
ZYGOTE = Path(__file__).with_name("kill_zygote.py")


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_task_resumes_to_the_same_end(tmp_path: Path, seed: int) -> None:
    run = subprocess.run(
        [sys.executable, str(ZYGOTE), str(tmp_path / "rounds"), str(ROUNDS), str(seed)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rounds: list[Any] = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(rounds) == ROUNDS, run.stderr[-2000:]
    for outcome in rounds:
        assert outcome["code"] == 0, (outcome, run.stderr[-2000:])
        assert outcome["ended"] == "completed"
        # Killed while the result was being shown, the model is told so and shows it once more.
        assert outcome["turns"] in (12, 13)
        assert outcome["kept"], "a message was lost"
        assert not outcome["unanswered"]
        assert not outcome["twice"], "a call was made again"
        # A call that did not happen, or of which nobody knows, is one the model was told about.
        assert set(outcome["missing"]) <= set(outcome["told"])
        assert len(outcome["told"]) <= 1
    assert len({outcome["killed_at"] for outcome in rounds}) > 3, "the kills did not spread over the task"
