"""A task with nobody at the keyboard: progress on stderr, the result on stdout, an exit code that tells how it ended.

With `as_json`, every event is one line of JSON on stdout instead: the event as in docs/events.md, with `task` (the id
of the task it belongs to) and, in the first line, `schema` (the version of this format).

The first Ctrl-C cancels the task and leaves it resumable; a second one ends the process at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from joey.commands import Cancel
from joey.events import Event, Outcome, TaskFinished
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.terminal.writer import Writer
from joey.wire import encode

SCHEMA = 1
EXIT_CODES: dict[Outcome, int] = {"completed": 0, "error": 1, "refused": 3, "limit": 4, "cancelled": 130}


def printing(out: TextIO) -> Watcher:
    """A watcher that prints plain lines. The result is not among them: it goes to stdout."""
    return Writer(out, grows=True, results=False).watch


def printing_json(out: TextIO) -> Watcher:
    """A watcher that prints every event as a line of JSON."""
    first = True

    def watch(task_id: str, event: Event) -> None:
        nonlocal first
        head = {"schema": SCHEMA, "task": task_id} if first else {"task": task_id}
        first = False
        out.write(json.dumps({**head, **encode(event)}) + "\n")
        out.flush()

    return watch


async def run_headless(
    task: TaskHandle, *, seconds: float | None = None, at_the_last: Callable[[], None] = lambda: None
) -> TaskFinished:
    """Run a task to its end, with Ctrl-C and a time limit that both cancel it cleanly.

    `at_the_last` is called when a second Ctrl-C ends the process, where nothing else can be cleaned up any more.
    """
    with interruptible(task, at_the_last):
        return await run_within(task, seconds)


async def run_within(task: TaskHandle, seconds: float | None) -> TaskFinished:
    """Run a task to its end, or cancel it after this time."""
    if not seconds:
        return await task.run()
    late = f"the time limit of {seconds:g} s was reached"
    timer = asyncio.get_running_loop().call_later(seconds, task.send, Cancel(late))
    try:
        finished = await task.run()
    finally:
        timer.cancel()
    return TaskFinished("limit", late) if finished.message == late else finished


@contextmanager
def interruptible(task: TaskHandle, at_the_last: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Meanwhile Ctrl-C cancels the task, and a second one ends the process."""
    loop = asyncio.get_running_loop()
    stop = _stopper(task, at_the_last)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _stopper(task: TaskHandle, at_the_last: Callable[[], None]) -> Callable[[], None]:
    pressed = 0

    def stop() -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            task.abandon()
            at_the_last()
            os._exit(EXIT_CODES["cancelled"])
        print("\nStopping; press Ctrl-C again to end at once.", file=sys.stderr)
        task.send(Cancel("interrupted"))

    return stop
