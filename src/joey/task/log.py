"""What has happened in a task, and telling of it.

Two ways to say that something happened: `record` writes it down (and it is true from then on), `emit` tells whoever
watches. Recording comes first.

What nobody expected (a bug of a tool, of a front end, or of ours) ends in words and in a log of errors, not on the
screen. That log stands beside the task's journal. It holds the way to each error and none of the values on that way.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from joey.effects import Todo
from joey.events import Event, ModeChanged, ProfileChanged, TodosChanged
from joey.journal.journal import Journal
from joey.journal.records import ModeSet, ProfileSet, Record, TodosSet
from joey.journal.replay import TaskState
from joey.system.user_files import add_lines

LOG = "errors.log"
_MAX_BYTES = 1024 * 1024


def write_down(error: BaseException, folder: Path) -> str:
    """The error in a line, with the place of the log that says more."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    path = folder / LOG
    try:
        if path.exists() and path.stat().st_size >= _MAX_BYTES:
            path.unlink()
        text = f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{''.join(traceback.format_exception(error))}\n"
        add_lines(path, text.encode("utf-8", "backslashreplace"))
    except OSError as why:
        return f"{words} (the details could not be written to {path}: {why.strerror})"
    return f"{words} (details: {path})"


Watcher: TypeAlias = Callable[[str, Event], None]
"""Is told of every event, with the id of the task it belongs to. It must not block, and it cannot steer."""


class TaskLog:
    """The journal of one task, the state that it adds up to, and the watcher. `folder` is where a task keeps things."""

    def __init__(self, task_id: str, folder: Path, journal: Journal, watch: Watcher, state: TaskState) -> None:
        self.task_id = task_id
        self.folder = folder
        self.state = state
        self._journal = journal
        self._watch = watch

    def record(self, record: Record) -> None:
        self.state.apply(self._journal.append(record))

    def emit(self, event: Event) -> None:
        self._watch(self.task_id, event)

    def emit_last(self, event: Event) -> None:
        """One of the last events: what a front end does with it changes nothing any more."""
        try:
            self.emit(event)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the end is written down, whoever cannot show it
            self.write_down(error)

    def sync(self) -> None:
        """Make sure that what is recorded outlives the machine."""
        self._journal.sync()

    def close(self) -> None:
        self._journal.close()

    def write_down(self, error: BaseException) -> str:
        """What nobody expected, in a line; the details are in a file beside the journal."""
        return write_down(error, self.folder)

    def change_mode(self, mode: str, reason: str) -> None:
        if mode != self.state.mode:
            self.record(ModeSet(mode))
            self.emit(ModeChanged(mode, reason))

    def change_profile(self, profile: str) -> None:
        if profile != self.state.allowed.profile:
            self.record(ProfileSet(profile))
            self.emit(ProfileChanged(profile))

    def change_todos(self, todos: tuple[Todo, ...]) -> None:
        self.record(TodosSet(todos))
        self.emit(TodosChanged(todos))
