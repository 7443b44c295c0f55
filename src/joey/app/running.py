"""Running a task to its end, for front ends: Ctrl-C, a time limit, and exit codes that tell how it ended.

The first Ctrl-C cancels the task, and it can be resumed; a second one ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from joey.commands import Cancel
from joey.events import Outcome, TaskFinished
from joey.task.task import TaskHandle

EXIT_CODES: dict[Outcome, int] = {"completed": 0, "error": 1, "refused": 3, "limit": 4, "cancelled": 130}


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
    """While this is open, Ctrl-C cancels the task, and a second one ends the process."""
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
