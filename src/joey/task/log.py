"""What has happened in a task, and telling of it.

Two ways to say that something happened: `record` writes it down (and it is true from then on), `emit` tells whoever
watches. Recording comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from joey.effects import Todo
from joey.events import Event, ModeChanged, ProfileChanged, TodosChanged
from joey.journal.journal import Journal
from joey.journal.records import ModeSet, ProfileSet, Record, TodosSet
from joey.journal.replay import TaskState
from joey.task.unexpected import write_down

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
        if profile != self.state.profile:
            self.record(ProfileSet(profile))
            self.emit(ProfileChanged(profile))

    def change_todos(self, todos: tuple[Todo, ...]) -> None:
        self.record(TodosSet(todos))
        self.emit(TodosChanged(todos))
