"""Toad, a terminal program that speaks the protocol with code of its own, in front of `joey acp`, in a pseudo-terminal.

It needs a Python newer than ours: `make test` fetches both (`scripts/fetch_toad.py`); without them, this skips."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_kit import Desk, Desks
from joey.testing.script import reply
from joey_process import call
from process_kit import all_ended_in

TOAD = Path(__file__).parents[1] / ".cache" / "toad" / "toad"
CONTROL = re.compile(rb"\x1b(?:\[[0-9;?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_()][0-9A-Za-z]?)")


class Screen:
    """A program in a pseudo-terminal of 120 by 40. `text` is all that it wrote, without what steers the terminal."""

    def __init__(self, desk: Desk) -> None:
        agent = shlex.join([sys.executable, "-m", "joey", "acp", "--base-url", desk.server.anthropic_url])
        self._raw = b""
        self.process, self._screen = pty.fork()
        if self.process == 0:
            os.chdir(desk.workspace)
            environment = {**desk.environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(TOAD, [str(TOAD), "acp", agent, str(desk.workspace)], environment)
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.set_blocking(self._screen, False)

    @property
    def text(self) -> str:
        return CONTROL.sub(b"", self._raw).decode("utf-8", "replace")

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    async def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                try:
                    self._raw += os.read(self._screen, 65536)
                except BlockingIOError:
                    await asyncio.sleep(0.05)

    def close(self) -> None:
        os.kill(self.process, signal.SIGTERM)
        os.close(self._screen)
        os.waitpid(self.process, 0)


@pytest.mark.skipif(not TOAD.exists(), reason="Toad is not installed; `make test` fetches it with its Python")
async def test_toad_shows_an_edit_lets_it_be_approved_and_leaves_nothing_running(desks: Desks) -> None:
    write = call("a", "write_to_file", path="x.txt", file_text="one\n")
    desk = await desks.set_up(reply("I write it now.", write), reply("That was all."))
    screen = Screen(desk)
    try:
        await screen.until(lambda: "Code" in screen.text)  # the mode of the session is shown
        screen.press("Write a file")
        await screen.until(lambda: "Write a file" in screen.text)
        screen.press("\r")
        await screen.until(lambda: "Allow once" in screen.text)
        assert not (desk.workspace / "x.txt").exists()
        screen.press("\r")
        await screen.until(lambda: "That was all." in screen.text)
        assert (desk.workspace / "x.txt").read_text() == "one\n"
    finally:
        screen.close()
    assert all_ended_in(desk.workspace)
