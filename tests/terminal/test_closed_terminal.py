"""A terminal that is closed while something is being written to it or read from it."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest
from textual.drivers._writer_thread import WriterThread
from textual.pilot import Pilot

from joey.events import TaskFinished
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.driver import DroppingStream, LastingDriver
from joey.testing.script import Faults, reply
from screen_kit import ScratchServices, say, until


def test_writing_to_a_closed_terminal_blocks_nobody() -> None:
    controller, terminal = pty.openpty()
    os.close(controller)
    with os.fdopen(terminal, "w", buffering=1) as stream:
        writer = WriterThread(DroppingStream(stream))  # type: ignore[arg-type]
        writer.start()
        for _ in range(100):  # more than the queue takes
            assert writer.is_alive()
            writer.write("a line that nobody sees\n")
        writer.stop()
        release = os.open(os.devnull, os.O_WRONLY)
        os.dup2(release, terminal)
        os.close(release)


@pytest.mark.parametrize(
    ("number", "why"), [(signal.SIGQUIT, "ended by SIGQUIT"), (signal.SIGTERM, "ended by SIGTERM")]
)
async def test_a_signal_ends_the_terminal_and_the_task_says_which(
    tmp_path: Path, number: signal.Signals, why: str
) -> None:
    services = ScratchServices(tmp_path, [reply("Slowly, very slowly", faults=Faults(pause=5))])
    app = Interactive(services)

    async def drive(pilot: Pilot[None]) -> None:
        await say(pilot, "go")
        await until(pilot, "Slowly")
        os.kill(os.getpid(), number)

    await app.run_async(headless=True, size=(80, 24), auto_pilot=drive)
    assert [each for each in services.events if isinstance(each, TaskFinished)] == [TaskFinished("cancelled", why)]


@pytest.mark.parametrize("steps", range(1, 8))
async def test_closing_the_window_after_quitting_quits_all_the_same(tmp_path: Path, steps: int) -> None:
    services = ScratchServices(tmp_path, [reply("Slowly, very slowly", faults=Faults(pause=5))])
    app = Interactive(services)

    async def drive(pilot: Pilot[None]) -> None:
        await say(pilot, "go")
        await until(pilot, "Slowly")
        app.close()
        for _ in range(steps):  # at one of these it waits for the task
            await asyncio.sleep(0)
        app.close("the terminal was closed")

    async with asyncio.timeout(20):
        await app.run_async(headless=True, size=(80, 24), auto_pilot=drive)
    assert [each for each in services.events if isinstance(each, TaskFinished)] == [
        TaskFinished("cancelled", "Joey was closed")
    ]


async def test_a_terminal_that_cannot_be_read_any_more_is_no_error(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    assert app.driver_class is LastingDriver
    driver = LastingDriver(app, size=(80, 24))
    driver.fileno = os.open(tmp_path, os.O_RDONLY)  # what cannot be read, always
    driver.run_input_thread()
    os.close(driver.fileno)


class CountedStarts(LastingDriver):
    starts = 0

    def start_application_mode(self) -> None:
        self.starts += 1


async def test_the_signal_that_comes_with_a_closed_terminal_starts_nothing_again(tmp_path: Path) -> None:
    """The system sends SIGHUP and SIGCONT. Only after Ctrl+Z does the second mean that the user is back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGCONT, signal.SIGTSTP)}
    driver = CountedStarts(Interactive(ScratchServices(tmp_path, [])), size=(80, 24))
    try:
        os.kill(os.getpid(), signal.SIGCONT)
        assert driver.starts == 0
        driver._must_signal_resume = True  # as Ctrl+Z leaves it
        os.kill(os.getpid(), signal.SIGCONT)
        assert driver.starts == 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
