"""The one stream of events that a page listens to: changes of the list of tasks, and what happens in the task it shows.

    tasks    {"tasks": [changed summaries], "gone": [ids], "all": whether these are all}
    events   [events of the task, as in docs/events.md], with a place as the id
    idle     the task does not run (any more)
    reset    what the page shows is not where this stream begins: load the task again
    fleet    how the fleet looks now, see `web/fleets.py`

Somebody looks at the files only while somebody watches: at the watched tasks several times a second, at the others now
and then.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from joey.errors import JoeyError
from joey.journal.journal import is_held
from joey.web.follow import Follower, frame
from joey.web.table import Listed, TaskTable

LOOK_AT_WATCHED = 0.08
MORE_FOR_EACH = 0.003
"""The more pages watch, the larger and fewer the pieces they are sent: what a piece costs is mostly that it is one."""
LOOK_AT_ALL = 0.8
_HEARTBEAT = 15.0
_MAX_WAITING = 500
"""How many messages wait for a slow reader before it is sent away, to come back when it can."""


@dataclass(slots=True, eq=False)
class Watcher:
    """A page that listens. `place` is where it is as long as the task that it shows does not run."""

    task_id: str
    place: str
    follower: Follower | None = None
    frames: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)

    def give(self, data: bytes) -> None:
        if self.frames.qsize() < _MAX_WAITING:
            self.frames.put_nowait(data)
        elif self.frames.qsize() == _MAX_WAITING:
            self.frames.put_nowait(None)


class Hub:
    """Looks at the tasks for all pages at once."""

    def __init__(self, table: TaskTable, first: Callable[[], bytes] = bytes) -> None:
        """`first` is what whoever comes is sent besides."""
        self._table, self._first = table, first
        self._watchers: set[Watcher] = set()
        self._wanted = asyncio.Event()
        self._closed = False

    async def run(self) -> None:
        """Look, as long as somebody listens."""
        loop = asyncio.get_running_loop()
        next_all = 0.0
        while True:
            await self._wanted.wait()
            if loop.time() >= next_all:
                self.look_at_all()
                next_all = loop.time() + LOOK_AT_ALL
            else:
                self._look_at_watched()
            await asyncio.sleep(LOOK_AT_WATCHED + MORE_FOR_EACH * len(self._watchers))

    def look_at_all(self) -> None:
        changed, gone = self._table.refresh()
        if changed or gone:
            self.send(_tasks(changed, gone, everything=False))
        self._place_all()

    def _look_at_watched(self) -> None:
        for task_id in {watcher.task_id for watcher in self._watchers if watcher.task_id}:
            self._table.poll(task_id)
        self._place_all()

    def _place_all(self) -> None:
        for watcher in self._watchers:
            if watcher.task_id and (listed := self._table.tasks.get(watcher.task_id)) is not None:
                _place(watcher, listed)

    async def watch(self, task_id: str, place: str) -> AsyncIterator[bytes]:
        """What a page is sent, from this place of a task on; without a task, the list alone."""
        watcher = Watcher(task_id, place)
        self._table.refresh()
        watcher.give(b"retry: 1000\n\n" + _tasks([*self._table.shown.values()], [], everything=True) + self._first())
        self._begin(watcher)
        self._watchers.add(watcher)
        self._wanted.set()
        try:
            while not self._closed and (data := await _next(watcher)) is not None:
                yield data
        finally:
            self._forget(watcher)

    async def is_watched(self) -> None:
        """Wait until somebody watches."""
        await self._wanted.wait()

    def send(self, message: bytes) -> None:
        """Something for everybody."""
        for watcher in self._watchers:
            watcher.give(message)

    def _begin(self, watcher: Watcher) -> None:
        if not watcher.task_id:
            return
        try:
            listed = self._table.get(watcher.task_id)
        except JoeyError:
            watcher.give(frame("reset", b"{}"))
            return
        if listed.follower is None:
            _catch_up(watcher, listed)
        _place(watcher, listed)

    def _forget(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if watcher.follower is not None:
            watcher.follower.watchers.discard(watcher)
        if not self._watchers:
            self._wanted.clear()

    def send_away(self) -> None:
        """End all streams. Browsers come again by themselves, and continue where they were."""
        for watcher in self._watchers:
            watcher.frames.put_nowait(None)

    def close(self) -> None:
        """The server ends."""
        self._closed = True
        self.send_away()


async def _next(watcher: Watcher) -> bytes | None:
    try:
        return await asyncio.wait_for(watcher.frames.get(), _HEARTBEAT)
    except TimeoutError:
        return b": still here\n\n"


def _place(watcher: Watcher, listed: Listed) -> None:
    """See that a watcher follows the run that there is: it may have begun or ended since."""
    if watcher.follower is listed.follower:
        if listed.follower is None and watcher.place != listed.place and not is_held(listed.index.path):
            _catch_up(watcher, listed)  # a run may begin and end between two looks
        return
    if watcher.follower is not None:
        watcher.follower.watchers.discard(watcher)
        watcher.place = listed.place if listed.follower is None else watcher.follower.place
        if listed.follower is None:
            watcher.give(frame("idle" if listed.is_whole else "reset", b"{}", listed.place))
    watcher.follower = listed.follower
    if listed.follower is None:
        return
    missed = listed.follower.missed(watcher.place)
    if missed is None:
        watcher.give(frame("reset", b"{}", listed.place))
    elif missed:
        watcher.give(missed)
    listed.follower.watchers.add(watcher)


def _catch_up(watcher: Watcher, listed: Listed) -> None:
    """Nothing runs: a watcher who has not seen all of the task looks at it again."""
    if watcher.place != listed.place:
        watcher.give(frame("reset", b"{}", listed.place))
        watcher.place = listed.place


def _tasks(changed: list[dict[str, Any]], gone: list[str], *, everything: bool) -> bytes:
    data = {"tasks": changed, "gone": gone, "all": everything}
    return frame("tasks", json.dumps(data, separators=(",", ":")).encode())
