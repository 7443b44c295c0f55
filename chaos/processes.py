"""Joey as people start it, in a scratch folder with a scratch home, and every way to end it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

from chaos.starter import Forked


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def traceback(self) -> bool:
        return "Traceback (most recent call last)" in self.out + self.err


@dataclass(slots=True)
class Place:
    """A home and a workspace of their own."""

    folder: Path
    home: Path = field(init=False)
    workspace: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home, self.workspace = self.folder / "home", self.folder / "project"
        self.home.mkdir(parents=True)
        self.workspace.mkdir()

    @property
    def tasks(self) -> Path:
        return self.home / ".local/state/joey/tasks"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        """`joey` with these arguments, in a session of its own."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", *args,
            cwd=self.workspace, env=self.environment, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

    async def joey(self, *args: str) -> Ended:
        return await ended(await self.start(*args))

    def running(self) -> list[int]:
        """The processes that work in this folder. A sandbox numbers them by itself, so they are found by where."""
        return [int(each.name) for each in Path("/proc").glob("[0-9]*") if self._holds(each)]

    def _holds(self, process: Path) -> bool:
        try:
            return (process / "cwd").readlink().is_relative_to(self.folder.resolve())
        except OSError:
            return False

    def end_all(self) -> None:
        for pid in self.running():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    async def settled(self, seconds: float = 10) -> bool:
        """Whether nothing runs here any more, soon."""
        for _ in range(int(seconds * 20)):
            if not self.running():
                return True
            await asyncio.sleep(0.05)
        return False


async def ended(process: asyncio.subprocess.Process | Forked, seconds: float = 180) -> Ended:
    """The end of a process. One that does not end in time is killed, and says so."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        return Ended(-1, "", f"did not end within {seconds:g} s")
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
