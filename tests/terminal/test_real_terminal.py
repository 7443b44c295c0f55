"""What only a real terminal shows: tmux, and pseudo-terminals with the line buffer of the kernel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import shutil
import sys
import time
from pathlib import Path

import pytest

from joey.app.services import Choices
from joey.terminal.plain.app import Plain
from joey.testing.script import Faults, Scripted, reply
from screen_kit import ScratchServices
from task_kit import call, done
from typist_kit import RandomModel, Tmux


def seen(terminal: Tmux, text: str) -> str:
    """The screen, once it shows this text."""
    for _ in range(600):
        screen = terminal.screen()
        if text in screen:
            return screen
        time.sleep(0.1)
    raise AssertionError(terminal.screen())


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_an_editor_that_fails_gives_the_screen_back_with_the_draft(tmp_path: Path) -> None:
    folder, home, model = tmp_path / "project", tmp_path / "home", RandomModel(1)
    folder.mkdir()
    home.mkdir()
    variables = {"HOME": str(home), "OPENAI_API_KEY": "x", "XDG_STATE_HOME": str(home / "state"), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m joey --model openai/m --base-url {model.url} --api chat"
    terminal = Tmux(tmp_path / "tmux", command, folder, {**variables, "EDITOR": "false", "VISUAL": ""})
    try:
        seen(terminal, "code mode")
        terminal.text("a draft")
        seen(terminal, "a draft")
        terminal.keys("C-g")
        assert "a draft" in seen(terminal, "false ended with exit code 1; nothing was taken over")
        terminal.text(" goes on")
        seen(terminal, "a draft goes on")
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()


class PlainTerminal:
    """Plain lines at a pseudo-terminal, with somebody who reads and types."""

    def __init__(self, folder: Path, *script: Scripted) -> None:
        self.services = ScratchServices(folder, script, "ask")
        self._controller, self._terminal = pty.openpty()
        os.set_blocking(self._controller, False)
        self._out = os.fdopen(os.dup(self._terminal), "w")
        self.running = asyncio.ensure_future(Plain(self.services, Choices(), self._out).run(self._terminal))
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    async def until(self, text: str) -> None:
        """Read until this has been shown, from there on where the last one ended."""
        while text not in self.shown:
            await asyncio.sleep(0.01)
            with contextlib.suppress(BlockingIOError):
                self.shown += os.read(self._controller, 65536).decode("utf-8", "replace")
        self.shown = self.shown.partition(text)[2]

    async def close(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        self._out.close()
        os.close(self._terminal)
        os.close(self._controller)


@pytest.mark.parametrize("key", ["y", "2", "3"])
async def test_a_line_begun_before_a_request_does_not_answer_it(tmp_path: Path, key: str) -> None:
    slowly = reply("I write it.", call("w", "write_to_file", path="a.txt", file_text="hello\n"), faults=Faults(pause=1))
    terminal = PlainTerminal(tmp_path, slowly, done())
    async with asyncio.timeout(60):
        await terminal.until("> ")
        terminal.type("go\n")
        await terminal.until("I write")
        terminal.type(key)
        await terminal.until(f"typed before this request: {key})")
        await terminal.until("or why not: ")
        terminal.type("\n")
        await terminal.until("or why not: ")
        assert not (terminal.services.folder / "a.txt").exists()
        terminal.type("y\n")
        await terminal.until("All done.")
    assert (terminal.services.folder / "a.txt").exists()
    await terminal.close()
