"""Where tasks live: a folder each, with the journal and whatever belongs to the task beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.errors import UsageError
from joey.journal.journal import JournalError, read_timed
from joey.journal.records import TaskOpened
from joey.journal.replay import TaskState

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task in the list of tasks. One whose journal cannot be read is listed with the reason."""

    task_id: str
    path: Path
    started: float = 0.0
    changed: float = 0.0
    state: TaskState | None = None
    problem: str | None = None

    @property
    def text(self) -> str:
        return self.state.opened.text if self.state and self.state.opened else ""

    @property
    def status(self) -> str:
        if self.problem:
            return "unreadable"
        return self.state.ended.outcome if self.state and self.state.ended else "open"


class TaskStore:
    """All tasks of one user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, task_id: str) -> Path:
        return self.root / task_id

    def journal_path(self, task_id: str) -> Path:
        return self.folder(task_id) / JOURNAL

    def entries(self) -> list[TaskEntry]:
        """Every task, the one that changed last first."""
        return sorted(self._entries(), key=lambda entry: entry.changed, reverse=True)

    def find(self, start: str) -> TaskEntry:
        """The task whose id begins with this; `last` is the one that changed last."""
        if start == "last":
            entries = self.entries()
            if not entries:
                raise UsageError("there are no tasks yet")
            return entries[0]
        matching = [path for path in self._folders() if path.name.startswith(start)]
        if not start or not matching:
            raise UsageError(f"there is no task {start!r}; `joey tasks` lists them")
        if len(matching) > 1 and start not in [path.name for path in matching]:
            names = ", ".join([*(path.name for path in matching[:5]), *(["…"] if len(matching) > 5 else [])])
            raise UsageError(f"{start!r} is the beginning of {len(matching)} tasks: {names}")
        return read_entry(next((path for path in matching if path.name == start), matching[0]))

    def delete(self, task_id: str) -> None:
        shutil.rmtree(self.folder(task_id))

    def _entries(self) -> Iterator[TaskEntry]:
        return (read_entry(path) for path in self._folders())

    def _folders(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return sorted(path for path in self.root.iterdir() if (path / JOURNAL).is_file())


def read_entry(path: Path) -> TaskEntry:
    state, started, changed = TaskState(), 0.0, 0.0
    try:
        for at, record in read_timed(path / JOURNAL):
            state.apply(record)
            changed = at
            if isinstance(record, TaskOpened):
                started = at
    except JournalError as error:
        return TaskEntry(path.name, path, changed=(path / JOURNAL).stat().st_mtime, problem=str(error))
    return TaskEntry(path.name, path, started, changed, state)
