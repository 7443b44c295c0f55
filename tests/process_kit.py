"""Processes by where they run: a sandbox counts them by itself, so the ids that a command knows say nothing outside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path


def running_in(folder: Path) -> list[Path]:
    """The processes whose working folder is this one, or in it."""
    return [each for each in Path("/proc").glob("[0-9]*") if _works_in(each, folder)]


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink().is_relative_to(folder.resolve())
    except OSError:
        return False


def all_ended_in(folder: Path, seconds: float = 10) -> bool:
    """Whether nothing runs there any more, soon. Who was killed stays in the table until somebody looks."""
    end = time.monotonic() + seconds
    while running_in(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


async def until(condition: Callable[[], object], seconds: float = 40) -> None:
    """Wait until other processes have made this true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - they set no events here
            await asyncio.sleep(0.05)
