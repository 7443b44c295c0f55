"""What ends Joey ends what it started: signals and closed terminals, with real processes that would run on."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey_process import JoeyProcess, call, done
from process_kit import all_ended_in, running_in, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

SERVER = call("server", "execute_command", command="exec sleep 300", background=True)
BUILD = call("build", "execute_command", command="touch started; trap '' HUP; sleep 300; sleep 300")


class Terminal:
    """A terminal of its own, whose closing reaches the process as that of a window does."""

    def __init__(self, process: asyncio.subprocess.Process, controller: int) -> None:
        self.process = process
        self.shown = b""
        self._controller = controller
        asyncio.get_running_loop().add_reader(controller, self._read)

    def _read(self) -> None:
        self.shown += os.read(self._controller, 65536)

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    def close(self) -> None:
        if self._controller >= 0:
            asyncio.get_running_loop().remove_reader(self._controller)
            os.close(self._controller)
        self._controller = -1


@asynccontextmanager
async def opened(joey: JoeyProcess, *args: str, **variables: str) -> AsyncIterator[Terminal]:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
    environment = {"PATH": joey.path, "HOME": str(joey.home), "TERM": "xterm-256color", **joey.variables, **variables}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", *args, cwd=joey.workspace, env=environment,
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    window = Terminal(process, controller)
    try:
        yield window
    finally:
        window.close()
        if process.returncode is None:
            process.kill()
            await process.wait()


def commands(joey: JoeyProcess) -> int:
    """How many processes of commands there are, Joey's own left out."""
    return sum((each / "comm").read_text().strip() == "sleep" for each in running_in(joey.workspace))


def both_run(joey: JoeyProcess) -> bool:
    return (joey.workspace / "started").exists() and commands(joey) == 2


def options(model: LocalServer) -> tuple[str, ...]:
    return ("--model", "anthropic/scripted", "--base-url", model.anthropic_url, "--approve", "all", "--sandbox", "off")


SCRIPT = [reply(SERVER), reply(BUILD), done()]


async def settled(joey: JoeyProcess) -> bool:
    return await asyncio.to_thread(all_ended_in, joey.workspace)


async def test_a_hangup_ends_a_headless_task_with_every_command(joey: JoeyProcess) -> None:
    async with LocalServer(SCRIPT) as model:
        process = await joey.start("run", "go", *options(model))
        await until(lambda: both_run(joey))
        process.send_signal(signal.SIGHUP)
        _out, err = await process.communicate()
    assert await settled(joey)
    assert process.returncode == 130
    assert b"the terminal was closed" in err and b"Traceback" not in err


@pytest.mark.parametrize("flags", [("--plain",), ()], ids=["plain lines", "full screen"])
async def test_a_closed_terminal_ends_a_task_with_every_command(joey: JoeyProcess, flags: tuple[str, ...]) -> None:
    async with LocalServer(SCRIPT) as model, opened(joey, *flags, *options(model)) as terminal:
        await until(lambda: b"Joey" in terminal.shown)
        terminal.type("go\r")  # before the keyboard is read: what is typed at once counts, too
        await until(lambda: both_run(joey))
        terminal.close()
        async with asyncio.timeout(20):
            await terminal.process.wait()
        assert await settled(joey)
    ended = next(joey.home.glob(".local/state/joey/tasks/*/journal.jsonl")).read_text().splitlines()[-1]
    assert '"task_ended"' in ended and '"cancelled"' in ended, "the end is written down"


async def test_an_editor_gets_the_terminal_as_it_was_and_ctrl_c_at_the_first_frame_ends_nothing(
    joey: JoeyProcess,
) -> None:
    settings = joey.workspace / "settings"
    editor = joey.workspace / "editor"
    editor.write_text(f"#!/bin/sh\nstty -a > {settings}.part && mv {settings}.part {settings}\n")
    editor.chmod(0o755)
    async with opened(joey, "--model", "anthropic/scripted", EDITOR=str(editor)) as terminal:
        await until(lambda: b"Joey" in terminal.shown)
        terminal.type("a sentence\x03\x07")  # typed, cleared, and the editor
        await until(settings.exists)
    assert {"isig", "icanon", "echo", "icrnl"} <= set(settings.read_text().replace(";", " ").split())
