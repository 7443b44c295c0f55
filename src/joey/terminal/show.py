"""A task shown on a console, event by event: replies grow in place, the rest is printed below one another.

A `Show` watches. Where the task asks something, it hands the request to `answer` and sends what comes back. On a
terminal the open reply is drawn again as it grows, some twenty times a second; elsewhere it is printed once, whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias, get_args

from rich.console import Console
from rich.live import Live

from joey.commands import Answer, Cancel
from joey.events import (
    Event,
    Request,
    StreamEvent,
    StreamFinished,
    TaskStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from joey.task.task import TaskHandle
from joey.terminal.picture import Picture, picture_of

Answering: TypeAlias = Callable[[Request], Awaitable[Answer]]

_SECONDS_A_FRAME = 0.05
_LINES_AROUND = 10
"""How many lines of a terminal an argument that grows leaves to what stands around it."""


class Show:
    """Give `watch` to the task's parts, then the task to `follow`; `close` when it is over."""

    def __init__(self, console: Console, answer: Answering) -> None:
        self._console = console
        self._answer = answer
        self._task: TaskHandle | None = None
        self._picture = Picture()
        self._live: Live | None = None
        self._drawn = 0.0
        self._answering: set[asyncio.Task[None]] = set()

    def follow(self, task: TaskHandle) -> None:
        self._task = task

    def hang_up(self) -> None:
        """The terminal is gone: say nothing more, and end the task with all that it started."""
        self._console.quiet = True
        if self._task is not None:
            self._task.send(Cancel("the terminal was closed"))

    def close(self) -> None:
        self._end_reply()
        for answering in self._answering:
            answering.cancel()

    def watch(self, _task_id: str, event: Event) -> None:
        if isinstance(event, get_args(StreamEvent)):
            self._picture.add(event)
            self._draw(at_once=isinstance(event, (ToolCallStarted, ToolCallFinished)))
            if isinstance(event, StreamFinished):
                self._end_reply()
            return
        # A reply that was cut off, by an error or by the user, stays on the screen as far as it came.
        self._end_reply()
        # The task itself was announced by whoever shows it.
        picture = None if isinstance(event, TaskStarted) else picture_of(event)
        if picture is not None:
            self._console.print(picture)
        if isinstance(event, get_args(Request)):
            answering = asyncio.ensure_future(self._reply_to(event))
            self._answering.add(answering)
            answering.add_done_callback(self._answering.discard)

    async def _reply_to(self, request: Request) -> None:
        assert self._task is not None
        try:
            answer = await self._answer(request)
        except (EOFError, OSError):
            self._task.send(Cancel("nobody is there to answer any more"))
        else:
            self._task.send(answer)

    # The open reply

    def _draw(self, *, at_once: bool) -> None:
        if not self._console.is_terminal or self._picture.is_empty:
            return
        if self._live is None:
            self._console.print()
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        now = time.monotonic()
        if at_once or now - self._drawn >= _SECONDS_A_FRAME:
            self._drawn = now
            most_lines = max(self._console.height - _LINES_AROUND, 3)
            self._live.update(self._picture.render(most_lines), refresh=True)

    def _end_reply(self) -> None:
        """Leave the whole reply on the screen, as it is now, and begin a new one."""
        if self._live is not None:
            self._live.update(self._picture.render())
            self._live.stop()
        elif not self._picture.is_empty:
            self._console.print()
            self._console.print(self._picture.render())
        self._live, self._picture = None, Picture()
