"""Signals that end a program: from the keyboard, from whoever started it, from a terminal that was closed.

By default each of them ends the process at once, and the commands that it started run on, since each has a process
group of its own. So whoever runs commands handles all four and ends the commands first.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator, Sequence

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OFTEN_IGNORED = (signal.SIGHUP, signal.SIGQUIT)
"""`nohup` and shells that start programs in the background ignore these on purpose: then they stay ignored."""

_handlers: dict[signal.Signals, list[Callable[[signal.Signals], None]]] = {each: [] for each in ENDING}
"""Who handles each signal now; the last one is in charge."""


@contextlib.contextmanager
def handled_signals(
    handle: Callable[[signal.Signals], None], which: Sequence[signal.Signals] = ENDING
) -> Iterator[None]:
    """While this is open, the event loop passes on the signals that would end the process. Inside, another may take
    them over for a while."""
    loop = asyncio.get_running_loop()
    numbers = [each for each in which if each not in _OFTEN_IGNORED or signal.getsignal(each) != signal.SIG_IGN]
    for number in numbers:
        _handlers[number].append(handle)
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in numbers:
            _handlers[number].remove(handle)
            if _handlers[number]:
                loop.add_signal_handler(number, _handlers[number][-1], number)
            else:
                loop.remove_signal_handler(number)


def release_terminal() -> None:
    """The terminal is gone: what still reads from it finds the end, and what still writes to it is dropped. Otherwise
    each would be an error, in the middle of closing everything in order."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        if _is_terminal(descriptor):
            os.dup2(nothing, descriptor)
    os.close(nothing)


def _is_terminal(descriptor: int) -> bool:
    """Also one that was hung up, which answers every question with the same error."""
    try:
        os.ttyname(descriptor)
    except OSError as error:
        return error.errno == errno.EIO
    return True
