"""Commands that a task runs by itself, such as hooks and checks: ended in time, and their output bounded.

What a command gets to read is a file that was unlinked, so that one that does not read it cannot hold us up. Output
beyond the bounds is read and dropped, so that a command that prints without end is not blocked by us before its time is
over. It has ended when its shell has: what it left behind may hold its output open for a moment, and is ended then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from joey.sandbox import Sandbox
from joey.tools.shell.job import CLOSING_GRACE, Process, shell, start_process

MAX_OUTPUT = 1_000_000
"""Bytes that are kept of standard output, and of standard error."""
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class OwnCommandEnded:
    """How the command ended. `code` is None where it took too long and was killed."""

    code: int | None
    output: str
    errors: str
    overflow: bool = False
    """Whether it printed more than is kept."""


async def run_own_command(
    command: str,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    data: bytes = b"",
    sandbox: Sandbox | None = None,
) -> OwnCommandEnded:
    """Run it to its end. Raises OSError if it cannot be started; cancelled, it is killed."""
    output, errors = _Pipe(), _Pipe()
    try:
        process = await _start(command, data, cwd, environment, sandbox, output, errors)
        code = await _ended(process, seconds, output, errors)
    finally:
        output.close()
        errors.close()
    return OwnCommandEnded(code, output.text, errors.text, output.overflow or errors.overflow)


async def _start(
    command: str,
    data: bytes,
    cwd: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox | None,
    output: _Pipe,
    errors: _Pipe,
) -> Process:
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        descriptors = (given.fileno(), output.theirs, errors.theirs)
        process = await start_process((shell(), "-c", command), cwd, environment, descriptors, sandbox)
    output.watch()
    errors.watch()
    return process


async def _ended(process: Process, seconds: float, output: _Pipe, errors: _Pipe) -> int | None:
    code = None
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                code = await process.wait()
            async with asyncio.timeout(CLOSING_GRACE):
                await output.closed.wait()
                await errors.closed.wait()
            return code
    finally:
        if code is None or not (output.closed.is_set() and errors.closed.is_set()):
            process.signal_group(signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # it was killed: nothing of it stays
        async with asyncio.timeout(CLOSING_GRACE):
            await process.wait()
    return code


@dataclass(eq=False)
class _Pipe:
    """One stream of output, read by the event loop as it comes."""

    ours: int = -1
    theirs: int = -1
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    overflow: bool = False
    _kept: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.ours, self.theirs = os.pipe()

    def watch(self) -> None:
        """The process has its end: only it holds that open from now on."""
        os.close(self.theirs)
        self.theirs = -1
        os.set_blocking(self.ours, False)
        asyncio.get_running_loop().add_reader(self.ours, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self.ours, _CHUNK)
        except BlockingIOError:
            return
        room = MAX_OUTPUT - len(self._kept)
        self._kept += data[:room]
        self.overflow = self.overflow or len(data) > room
        if not data:
            asyncio.get_running_loop().remove_reader(self.ours)
            self.closed.set()

    def close(self) -> None:
        for each in (self.ours, self.theirs):
            if each >= 0:
                asyncio.get_running_loop().remove_reader(each)
                os.close(each)
        self.ours = self.theirs = -1

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")
