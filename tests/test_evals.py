"""The checks of the evals: each fails on the folder as it is laid out, and passes on the solution beside it. A question
is answered by naming the answer, with the files as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.checks import Result
from evals.task import Entry, Eval, all_tasks, write_files

ENTRIES = list(all_tasks())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.task.name)
def test_a_check_tells_the_untouched_folder_from_a_solution(entry: Entry, tmp_path: Path) -> None:
    task = entry.task
    task.lay_out(tmp_path)
    assert task.problem(Result(tmp_path)) is not None
    write_files(tmp_path, task.solution.files)
    assert task.problem(Result(tmp_path, task.solution.says)) is None


QUESTIONS = [entry.task for entry in ENTRIES if entry.task.read_only]


@pytest.mark.parametrize("task", QUESTIONS, ids=lambda task: task.name)
def test_repeating_all_the_files_is_no_answer(task: Eval, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    everything = "\n".join(f"{name}\n{text}" for name, text in task.files.items())
    assert task.problem(Result(tmp_path, everything)) is not None


@pytest.mark.parametrize("task", QUESTIONS, ids=lambda task: task.name)
def test_an_answer_does_not_count_when_files_were_changed_or_added(task: Eval, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    (tmp_path / "notes.txt").write_text("I had to write something.\n", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) == "notes.txt was added"
    (tmp_path / "notes.txt").unlink()
    changed = next(iter(task.files))
    (tmp_path / changed).write_text("", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) == f"{changed} was changed"


def test_a_repository_in_the_folder_is_no_change(tmp_path: Path) -> None:
    task = QUESTIONS[0]
    task.lay_out(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) is None


def test_the_harder_tasks_are_all_new() -> None:
    assert sum(entry.half == "new" for entry in ENTRIES) == 24
    assert len({entry.task.name for entry in ENTRIES}) == len(ENTRIES) == 72
