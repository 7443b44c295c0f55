"""The saved tasks: which one is the newest, whatever the clock says, and whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.errors import UsageError
from joey.journal.journal import Journal
from joey.journal.records import TaskOpened
from joey.journal.store import TaskStore


def opened(store: TaskStore, task_id: str, folder: Path, parent: str | None = None) -> None:
    with store.open(task_id) as journal:
        journal.append(TaskOpened(task_id, task_id, str(folder), "code", "m", "native", parent))


def written_at(store: TaskStore, task_id: str, folder: Path, at: float) -> None:
    """As an earlier version wrote a task, at this time."""
    with Journal(store.journal_path(task_id), clock=lambda: at) as journal:
        journal.append(TaskOpened(task_id, task_id, str(folder), "code", "m", "native"))


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    return TaskStore(tmp_path / "tasks")


def test_the_newest_is_the_one_that_was_opened_last_whatever_the_clock_says(store: TaskStore, tmp_path: Path) -> None:
    written_at(store, "future", tmp_path, 9e9)
    written_at(store, "past", tmp_path, 1e9)
    assert [entry.task_id for entry in store.entries()] == ["future", "past"]
    for task_id in ("b", "a", "c"):
        opened(store, task_id, tmp_path)
    store.open("a").close()
    assert [entry.task_id for entry in store.entries()] == ["a", "c", "b", "future", "past"]
    store.delete("a")
    assert store.find("last").task_id == "c"


def test_last_is_a_task_that_a_person_started_in_this_folder(store: TaskStore, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    opened(store, "mine", here)
    opened(store, "child", here, "mine")
    opened(store, "other", there)
    store.open("empty").close()
    assert store.find("last").task_id == "other"
    assert store.find("last", here).task_id == "mine"
    assert store.find("last", tmp_path / "link").task_id == "mine"
    assert store.find("child", there).task_id == "child"
    with pytest.raises(UsageError, match=r"no task works in .*; `joey tasks` lists those of other folders"):
        store.find("last", tmp_path)


def test_a_journal_without_records_has_the_time_of_its_file(store: TaskStore) -> None:
    store.open("empty").close()
    (entry,) = store.entries()
    assert entry.changed == store.journal_path("empty").stat().st_mtime
    assert (entry.status, entry.folder) == ("open", None)


@pytest.mark.parametrize("task_id", ["../evil", "a/b", "..", ".hidden", "", "/etc", "a\nb", "x" * 300])
def test_an_id_is_one_name_wherever_it_comes_from(tmp_path: Path, task_id: str) -> None:
    with pytest.raises(UsageError, match="not the id of a task"):
        TaskStore(tmp_path).folder(task_id)
