"""Other processes at a task: while it runs, they watch its events and send it commands (see `journal.live`).

It makes no difference who runs the task: a terminal, an editor, a script or a server. Commands of others are taken like
those of the front end itself, so the first answer to a request counts, and everybody sees it in the events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

from joey.commands import Command
from joey.errors import JoeyError
from joey.events import Event, UserMessageQueued
from joey.journal.live import Inbox, LiveFeed, discard_left_over
from joey.journal.records import UserSaid
from joey.task.config import TaskConfig

_WRITE_AFTER = 0.05
_LOOK_EVERY = 0.25


class Remote:
    """Whoever else watches and steers one task, subtasks included."""

    def __init__(self, task_id: str, folder: Path, journal: Path) -> None:
        self._task_id = task_id
        self.run = token_hex(8)
        """What tells this run of the task from others."""
        discard_left_over(folder)
        self._journal = journal
        self._begin: int | None = None
        self._messages: Sequence[UserSaid] = ()
        self._feed = LiveFeed(folder, journal, self.run, _later)
        self._inbox = Inbox(folder, self.run)

    def watched(self, config: TaskConfig) -> TaskConfig:
        """The config of the task, with all that happens in it written to the feed as well."""
        watch = config.hooks.watch

        def both(task_id: str, event: Event) -> None:
            self._feed.add(task_id, event, own=task_id == self._task_id)
            watch(task_id, event)

        return replace(config, hooks=replace(config.hooks, watch=both))

    def resumes(self, messages: Sequence[UserSaid]) -> None:
        """The task continues with these messages, which are about to be saved. Whoever watches has seen the journal as
        it is now, and sees them as events."""
        self._begin, self._messages = self._journal.stat().st_size, messages

    @contextlib.contextmanager
    def serving(self, send: Callable[[Command], bool]) -> Iterator[None]:
        """While this is open, others see the task and can send it commands."""
        self._feed.open(self._journal.stat().st_size if self._begin is None else self._begin)
        for message in self._messages:
            self._feed.add(self._task_id, UserMessageQueued(message.text), own=True)
        self._inbox.open()
        reading = asyncio.ensure_future(self._read(send))
        try:
            yield
        finally:
            reading.cancel()
            self._feed.flush()
            self._feed.close()
            self._inbox.close()

    async def _read(self, send: Callable[[Command], bool]) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            for command in self._inbox.commands():
                with contextlib.suppress(JoeyError):  # a profile that there is not, a full disk: as if it never came
                    send(command)


def _later(work: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(_WRITE_AFTER, work)
