"""A line from the person at the terminal, without holding up the loop and without a thread that nobody can end."""

from __future__ import annotations

import asyncio
import os
import sys
import termios


async def read_line() -> str:
    """The next line typed, without its end. EOFError when there will be none. Can be cancelled."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    source = sys.stdin.fileno()

    def ready() -> None:
        # A terminal hands over whole lines, so that one read never blocks and never takes more than one line.
        loop.remove_reader(source)
        try:
            typed.set_result(os.read(source, 65536))
        except OSError as error:
            typed.set_exception(error)

    loop.add_reader(source, ready)
    try:
        line = await typed
    finally:
        loop.remove_reader(source)
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").strip()


def forget_typed_ahead() -> None:
    """Drop what was typed before there was a question to read: an Enter too many must not say yes to it."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
