"""Where tasks live: a folder each, with the journal and whatever belongs to the task beside it."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from joey.errors import UsageError
from joey.journal.journal import JournalError, held, read_timed
from joey.journal.records import TaskOpened
from joey.journal.replay import TaskState

JOURNAL = "journal.jsonl"
_DELETED = ".deleted-"
"""What the folder of a task is called from the moment it is deleted until it is gone."""


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
    def parent(self) -> str | None:
        """The task that this one is a subtask of."""
        return self.state.opened.parent_id if self.state and self.state.opened else None

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

    def subtasks(self, task_id: str) -> list[str]:
        """The subtasks of a task, and theirs."""
        parents = {entry.task_id: entry.parent for entry in self._entries()}
        found = [task_id]
        for each in found:
            found += [child for child, parent in parents.items() if parent == each]
        return found[1:]

    def delete(self, task_id: str) -> None:
        """Delete a task with its subtasks and all that is kept with them. Raises JournalError if it is running."""
        tasks = (task_id, *self.subtasks(task_id))
        with ExitStack() as locks:
            for each in tasks:
                locks.enter_context(held(self.journal_path(each)))
            for each in reversed(tasks):
                # In one step: a process that is killed while it deletes leaves no half of a task.
                self.folder(each).rename(self.root / f"{_DELETED}{each}")
        self._sweep()

    def _sweep(self) -> None:
        """Remove what was deleted, also by a process that did not come to it."""
        for each in self.root.glob(f"{_DELETED}*"):
            shutil.rmtree(each, onerror=_open_up)

    def _entries(self) -> Iterator[TaskEntry]:
        return (read_entry(path) for path in self._folders())

    def _folders(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return sorted(
            path for path in self.root.iterdir() if not path.name.startswith(".") and (path / JOURNAL).is_file()
        )


def _open_up(remove: Callable[[str], object], path: str, _error: object) -> None:
    """Remove something in a folder that was kept read-only."""
    parent = Path(path).parent
    parent.chmod(parent.stat().st_mode | stat.S_IRWXU)
    remove(path)


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
