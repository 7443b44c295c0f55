"""Where tasks live: a folder each, with the journal and whatever belongs to the task beside it.

Which task is the newest does not depend on the clock, which may jump: a file beside the tasks, `.order`, gets the id of
each task when it is opened for writing. Tasks of earlier versions are not in it; they are older than those that are.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from joey.errors import UsageError
from joey.frames import own_words
from joey.journal.copies import repaired
from joey.journal.journal import Journal, JournalError, held, read_timed
from joey.journal.markdown import as_markdown, task_title
from joey.journal.records import LeftOut, TaskOpened
from joey.journal.replay import TaskState
from joey.system.filenames import quoted
from joey.system.folders import private_file

JOURNAL = "journal.jsonl"
ORDER = ".order"
_OURS = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
"""What Joey added to a message, such as the list of the folder: every task there would contain the name of a file."""
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
    def opened(self) -> TaskOpened | None:
        return self.state.opened if self.state else None

    @property
    def text(self) -> str:
        """What the user asked for, without what was piped in or added to it."""
        text = self.opened.text if self.opened else ""
        return own_words(text) or text

    @property
    def title(self) -> str:
        return task_title(self.text)

    @property
    def folder(self) -> Path | None:
        """The folder that the task works in."""
        return self.opened.folder if self.opened else None

    @property
    def parent_id(self) -> str | None:
        """The task that started this one; None if a person did."""
        return self.opened.parent_id if self.opened else None

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What could not be read of its journal."""
        return tuple(self.state.left_out) if self.state else ()

    @property
    def status(self) -> str:
        if self.problem:
            return "unreadable"
        if self.state is None or self.state.ended is None:
            return "open"
        outcome = self.state.ended.outcome
        return "open" if outcome == "completed" and not self.state.is_finished else outcome

    def mentions(self, text: str) -> bool:
        """Whether it contains this text; letter case does not count."""
        if not text:
            return True
        return self.state is not None and text.lower() in _OURS.sub("", as_markdown(self.state)).lower()

    def works_in(self, folder: Path) -> bool:
        return self.folder is not None and _same_folder(self.folder, folder)


_TASK_ID = re.compile(r"\w[\w.-]{0,199}", re.ASCII)


class TaskStore:
    """All tasks of one user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, task_id: str) -> Path:
        """The folder of a task. An id is one name, wherever it comes from: a journal may say anything."""
        if not _TASK_ID.fullmatch(task_id):
            raise UsageError(f"{quoted(task_id)} is not the id of a task; `joey tasks` lists them")
        return self.root / task_id

    def journal_path(self, task_id: str) -> Path:
        return self.folder(task_id) / JOURNAL

    def open(self, task_id: str, *, clock: Callable[[], float] = time.time) -> Journal:
        """The journal of a task, for writing. The task is the newest from now on."""
        journal = Journal(self.journal_path(task_id), clock=clock)
        with contextlib.suppress(OSError), open(self.root / ORDER, "ab", opener=private_file) as order:
            order.write(os.fsencode(f"{task_id}\n"))
        return journal

    def entries(self) -> list[TaskEntry]:
        """Every task, the newest first."""
        return [*self._newest_first()]

    def find(self, start: str, folder: Path | None = None) -> TaskEntry:
        """The task whose id begins with this; `last` is the newest that a person started, in this folder if given."""
        if start == "last":
            return self._last(folder)
        matching = [path for path in self._folders() if path.name.startswith(start)]
        if not start or not matching:
            raise UsageError(f"there is no task {start!r}; `joey tasks` lists them")
        if len(matching) > 1 and start not in [path.name for path in matching]:
            names = ", ".join([*(path.name for path in matching[:5]), *(["…"] if len(matching) > 5 else [])])
            raise UsageError(f"{start!r} is the beginning of {len(matching)} tasks: {names}")
        return read_entry(next((path for path in matching if path.name == start), matching[0]))

    def repair(self, task_id: str, workspace: Path) -> str:
        """Write a clean copy of a damaged task, with all that is kept with it, as a new task. Returns its id."""
        new_id = next(each for n in itertools.count(1) if not self.folder(each := f"{task_id}-repaired{n}").exists())
        with held(self.journal_path(task_id)):
            records = repaired(read_timed(self.journal_path(task_id)), new_id, workspace)
            try:
                shutil.copytree(self.folder(task_id), self.folder(new_id), symlinks=True, ignore=lambda *_: (JOURNAL,))
            except OSError as error:
                raise JournalError(f"cannot copy {self.folder(task_id)} to {self.folder(new_id)}: {error}") from None
            times = iter([at for at, _record in records])
            with self.open(new_id, clock=lambda: next(times)) as journal:
                for _at, record in records:
                    journal.append(record)
        return new_id

    def subtasks(self, task_id: str) -> list[str]:
        """The subtasks of a task, and theirs."""
        parents = {entry.task_id: entry.parent_id for entry in self.entries()}
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

    def _last(self, folder: Path | None) -> TaskEntry:
        for entry in self._newest_first():
            if entry.opened and not entry.parent_id and (folder is None or entry.works_in(folder)):
                return entry
        if folder is None or not self._folders():
            raise UsageError("there are no tasks yet")
        raise UsageError(f"no task works in {quoted(str(folder))}; `joey tasks` lists those of other folders")

    def _newest_first(self) -> Iterator[TaskEntry]:
        """Read one by one, so that whoever looks for the newest reads no others."""
        older = {path.name: path for path in self._folders()}
        newest = [path for name in self._opened_last_first() if (path := older.pop(name, None))]
        yield from map(read_entry, newest)
        yield from sorted(map(read_entry, older.values()), key=lambda entry: entry.changed, reverse=True)

    def _opened_last_first(self) -> list[str]:
        try:
            names = os.fsdecode((self.root / ORDER).read_bytes()).splitlines()
        except OSError:
            return []
        return [*dict.fromkeys(reversed(names))]

    def _folders(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        try:
            found = [*self.root.iterdir()]
        except OSError as error:
            raise JournalError(f"cannot read {self.root}: {error.strerror}; make it readable for your user") from error
        return sorted(path for path in found if not path.name.startswith(".") and _has_journal(path))


def _has_journal(path: Path) -> bool:
    try:
        return (path / JOURNAL).is_file()
    except OSError:  # it cannot be looked at, which is the reason it is listed with
        return True


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
            changed = at or changed
            if isinstance(record, TaskOpened):
                started = at
    except JournalError as error:
        return TaskEntry(path.name, path, changed=_file_time(path / JOURNAL), problem=str(error))
    problem = str(state.left_out[0]) if state.left_out and state.opened is None else None
    return TaskEntry(path.name, path, started, changed or _file_time(path / JOURNAL), state, problem)


def _file_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _same_folder(one: Path, other: Path) -> bool:
    return one == other or one.resolve() == other.resolve()
