"""What several parts of a screen need from a journal is read once."""

from __future__ import annotations

from pathlib import Path

from joey.app.journals import Journals
from joey.journal.records import TaskEnded, TaskOpened
from joey.journal.store import TaskStore


def test_a_journal_is_read_once_while_that_is_wanted(tmp_path: Path) -> None:
    store = TaskStore(tmp_path)
    journals = Journals(store)
    with store.open("t") as journal:
        journal.append(TaskOpened("t", "A task", str(tmp_path), "code", "m", "native"))
        with journals.read_once():
            before = [*journals.read("t")]
            journal.append(TaskEnded("completed", "Done."))
            assert [*journals.read("t")] == before
        assert len([*journals.read("t")]) == len(before) + 1


def test_a_journal_that_is_not_there_has_nothing_in_it(tmp_path: Path) -> None:
    journals = Journals(TaskStore(tmp_path))
    with journals.read_once():
        assert [*journals.read("t")] == []
    assert [*journals.read("t")] == []
