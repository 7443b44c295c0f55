"""The checks of the evals: each fails on the folder as it is laid out, and passes on the solution beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.checks import Result
from evals.task import Entry, all_tasks, write_files

ENTRIES = list(all_tasks())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.task.name)
def test_a_check_tells_the_untouched_folder_from_a_solution(entry: Entry, tmp_path: Path) -> None:
    task = entry.task
    task.lay_out(tmp_path)
    assert task.problem(Result(tmp_path)) is not None
    write_files(tmp_path, task.solution.files)
    assert task.problem(Result(tmp_path, task.solution.says)) is None
