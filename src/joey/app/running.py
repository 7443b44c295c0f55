"""Running a task to its end, for front ends: signals, a time limit, and exit codes that tell how it ended.

The first Ctrl-C, SIGTERM or SIGQUIT cancels the task with every command that it started, and it can be resumed; a
second one ends the process at once. A closed terminal (SIGHUP) cancels it, too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from joey.commands import Cancel
from joey.events import Outcome, TaskFinished
from joey.system.signals import handled_signals, release_terminal
from joey.task.task import TaskHandle

EXIT_CODES: dict[Outcome, int] = {"completed": 0, "error": 1, "refused": 3, "limit": 4, "cancelled": 130}


async def run_headless(
    task: TaskHandle,
    *,
    seconds: float | None = None,
    at_the_last: Callable[[], None] = lambda: None,
    hang_up: Callable[[], None] = lambda: None,
) -> TaskFinished:
    """Run a task to its end, with signals and a time limit that cancel it cleanly.

    `at_the_last` is called when a second signal ends the process, where nothing else can be cleaned up any more;
    `hang_up` when the terminal was closed.
    """
    with interruptible(task, at_the_last, hang_up):
        return await run_within(task, seconds)


async def run_within(task: TaskHandle, seconds: float | None) -> TaskFinished:
    """Run a task to its end, or stop it after this time; 0 and None are no limit."""
    if not seconds:
        return await task.run()
    late = f"the time limit of {seconds:g} s was reached"
    timer = asyncio.get_running_loop().call_later(seconds, task.expire, late)
    try:
        return await task.run()
    finally:
        timer.cancel()


@contextmanager
def interruptible(
    task: TaskHandle, at_the_last: Callable[[], None] = lambda: None, hang_up: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """While this is open, a signal that would end the process cancels the task, and a second one ends the process.

    A closed terminal only ever cancels: the system and the shell may both report it. `hang_up` is called first then."""
    with handled_signals(_stopper(task, at_the_last, hang_up)):
        yield


def _stopper(
    task: TaskHandle, at_the_last: Callable[[], None], hang_up: Callable[[], None]
) -> Callable[[signal.Signals], None]:
    pressed = 0

    def stop(number: signal.Signals) -> None:
        nonlocal pressed
        if number == signal.SIGHUP:
            release_terminal()
            hang_up()
            task.send(Cancel("the terminal was closed"))
            return
        pressed += 1
        if pressed > 1:
            task.abandon()
            at_the_last()
            os._exit(EXIT_CODES["cancelled"])
        with suppress(OSError):
            print("\nStopping; press Ctrl-C again to end at once.", file=sys.stderr)
        task.send(Cancel("interrupted" if number == signal.SIGINT else f"ended by {number.name}"))

    return stop
