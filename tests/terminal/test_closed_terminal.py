"""A terminal that is closed while something is being written to it or read from it."""

from __future__ import annotations

import os
import pty
from pathlib import Path

from textual.drivers._writer_thread import WriterThread

from joey.terminal.screen.app import Interactive
from joey.terminal.screen.driver import DroppingStream, LastingDriver
from screen_kit import ScratchServices


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


async def test_a_terminal_that_cannot_be_read_any_more_is_no_error(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    assert app.driver_class is LastingDriver
    driver = LastingDriver(app, size=(80, 24))
    driver.fileno = os.open(tmp_path, os.O_RDONLY)  # what cannot be read, always
    driver.run_input_thread()
    os.close(driver.fileno)
