"""A test that fails beside others and passes by itself does not fail the run; any other failure does."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_tests

UNSTEADY = """
from pathlib import Path

def test_steady():
    pass

def test_unsteady():
    first = Path("tried")
    tried = first.exists()
    first.touch()
    assert tried
"""


def run(folder: Path, tests: str) -> int:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:randomly\n")
    (folder / "test_it.py").write_text(tests)
    return run_tests.main("2", folder)


def test_a_test_that_passes_by_itself_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, UNSTEADY) == 0
    printed = capfd.readouterr().out
    assert "1 failed, 1 passed" in printed
    assert printed.endswith("Unsteady, passed only by themselves: test_it.py::test_unsteady\n")


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_wrong():\n    assert False\n") == 1


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    """All of them would pass the second time."""
    many = "\n".join(UNSTEADY.replace("_unsteady", f"_{n}").replace("tried", f"tried{n}") for n in range(4))
    assert run(tmp_path, many) == 1


def test_what_cannot_be_collected_fails_the_run(tmp_path: Path) -> None:
    assert run(tmp_path, "import nothing_of_this_name\n") not in (0, 5)
