"""Programs that Joey runs by itself to show what they print: ended in time, and their output bounded."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

MAX_CHARACTERS = 100_000
"""Characters that one mention may bring."""


async def run_program(
    command: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    *,
    with_errors: bool = False,
) -> tuple[int | None, str]:
    """Exit code and output of a program. None: it could not be started, or took too long and was ended."""
    errors = asyncio.subprocess.STDOUT if with_errors else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=errors,
            env={**environment, "LC_ALL": "C.UTF-8"}, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return None, str(error)
    output = _Output()
    try:
        async with asyncio.timeout(seconds):
            await output.take_all(process)
    except TimeoutError:
        return None, f"{output.text}\n[ended after {seconds:g} seconds]"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode, output.text


class _Output:
    """The beginning of what a program says, however much that is; the rest is counted."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._size = 0

    async def take_all(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(65536):
            self._size += len(data)
            self._kept += data[: max(0, MAX_CHARACTERS - len(self._kept))]
        await process.wait()

    @property
    def text(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        return text if self._size == len(self._kept) else f"{text}\n[cut: {self._size - len(self._kept)} more bytes]"
