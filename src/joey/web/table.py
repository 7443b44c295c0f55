"""All tasks of this machine as a page lists them, kept up to date by looking at their files.

Nobody has to report anything to this server: a task in a terminal, an editor or a script is here because its journal is
in the folder of tasks, and it runs because its journal is locked and a feed lies beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.errors import UsageError
from joey.journal.journal import is_held
from joey.journal.live import LIVE
from joey.journal.store import TaskStore
from joey.system.filenames import quoted
from joey.web.follow import Follower
from joey.web.index import JournalIndex
from joey.wire import encode


@dataclass(slots=True, eq=False)
class Listed:
    """A task in the table. `follower` is there while it runs."""

    task_id: str
    index: JournalIndex
    follower: Follower | None = None
    is_whole: bool = True
    """Whether the last run was followed to its end: then its watchers have seen all that the journal has."""

    @property
    def place(self) -> str:
        """Where a watcher is who has seen everything."""
        return self.follower.place if self.follower else f"j{self.index.size}"

    @property
    def status(self) -> str:
        """`waiting`: for an answer; `ready`: done, and the next message is the user's; `running`; or how it ended."""
        if self.follower is not None:
            waits = [self._waits(each) for each in self.follower.pending.values()]
            return "waiting" if "waiting" in waits else "ready" if waits else "running"
        return self.index.ended.outcome if self.index.ended else "interrupted"

    def _waits(self, request: dict[str, Any]) -> str:
        """Nobody has to accept the result of a task, but a plan, and what a subtask hands back."""
        is_result = request["type"] == "completion_requested" and not request.get("plan")
        return "ready" if is_result and request["task"] == self.task_id else "waiting"

    @property
    def summary(self) -> dict[str, Any]:
        index, opened = self.index, self.index.opened
        pending = next(iter(self.follower.pending.values()), None) if self.follower else None
        return {
            "id": self.task_id,
            "title": index.title,
            "folder": quoted(str(opened.folder)) if opened else None,
            "status": self.status,
            "run": self.follower.run if self.follower else None,
            "waits_for": pending["type"] if pending else None,
            "request": pending["request_id"] if pending else None,
            "mode": index.mode,
            "model": opened.model if opened else "",
            "profile": index.profile,
            "started": index.started,
            "changed": index.changed,
            "turns": index.turns,
            "usage": encode(index.usage),
            "context": index.context,
            "cost": index.cost,
            "todos": encode(index.todos),
        }


class TaskTable:
    """The tasks that a person started, and what changed since somebody looked."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self.tasks: dict[str, Listed] = {}
        self.shown: dict[str, dict[str, Any]] = {}
        """The summaries, as of the last look."""

    def refresh(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Look at all tasks: the summaries that changed, and the ids of tasks that are gone."""
        seen = set(self._folders())
        for task_id in seen:
            self._look(task_id)
        for task_id in [each for each in self.tasks if each not in seen]:
            self._drop(task_id)
        now = {
            task_id: each.summary
            for task_id, each in self.tasks.items()
            if each.index.opened is not None and each.index.opened.parent_id is None
        }
        changed = [each for task_id, each in now.items() if self.shown.get(task_id) != each]
        gone = [task_id for task_id in self.shown if task_id not in now]
        self.shown = now
        return changed, gone

    def _folders(self) -> Iterable[str]:
        try:
            with os.scandir(self._store.root) as found:
                return [each.name for each in found if not each.name.startswith(".")]
        except OSError:
            return []

    def _look(self, task_id: str) -> None:
        try:
            path = self._store.journal_path(task_id)
            listed = self.tasks.get(task_id)
            if listed is None:
                listed = Listed(task_id, JournalIndex(path))
            listed.index.update()
        except (OSError, UsageError):
            self._drop(task_id)
            return
        self.tasks[task_id] = listed
        self._follow(listed, path)

    def _follow(self, listed: Listed, journal: Path) -> None:
        """Begin or end following a task, and read what is new in it."""
        follower, feed = listed.follower, journal.parent / LIVE
        if follower is None:
            if feed.exists() and is_held(journal):
                listed.follower = _opened(feed)
                follower = listed.follower
        elif follower.is_over or not is_held(journal):
            follower.poll()
            self._end(listed)
            return
        if follower is not None:
            follower.poll()

    def _end(self, listed: Listed) -> None:
        follower, listed.follower = listed.follower, None
        assert follower is not None
        listed.is_whole = follower.finished
        listed.index.update()
        follower.close()

    def _drop(self, task_id: str) -> None:
        listed = self.tasks.pop(task_id, None)
        if listed is not None and listed.follower is not None:
            listed.follower.close()

    def poll(self, task_id: str) -> None:
        """Look at one task alone: a task that is watched is looked at more often than the rest."""
        self._look(task_id)

    def get(self, task_id: str) -> Listed:
        """A task, as it is now. UsageError if there is none."""
        if self._store.folder(task_id).is_dir():
            self._look(task_id)
        listed = self.tasks.get(task_id)
        if listed is None:
            raise UsageError(f"there is no task {task_id!r}")
        return listed

    def close(self) -> None:
        for task_id in [*self.tasks]:
            self._drop(task_id)


def _opened(feed: Path) -> Follower | None:
    try:
        return Follower(feed)
    except (OSError, ValueError, KeyError):
        return None  # it is gone again, or of another version
