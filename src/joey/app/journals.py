"""The journals of tasks, as a front end reads them: much of a screen comes from the same one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from joey.journal.journal import JournalError, read_journal
from joey.journal.records import Record
from joey.journal.store import TaskStore


class Journals:
    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self._kept: dict[str, list[Record]] | None = None

    def read(self, task_id: str) -> Iterable[Record]:
        """What is written down of a task; nothing where that cannot be read."""
        if self._kept is None:
            return self._read(task_id)
        if task_id not in self._kept:
            self._kept[task_id] = [*self._read(task_id)]
        return self._kept[task_id]

    @contextmanager
    def read_once(self) -> Iterator[None]:
        """Whatever is read meanwhile is read once, however many ask for it: a long task takes a moment."""
        self._kept = {}
        try:
            yield
        finally:
            self._kept = None

    def _read(self, task_id: str) -> Iterator[Record]:
        with suppress(OSError, JournalError):
            yield from read_journal(self._store.journal_path(task_id))
