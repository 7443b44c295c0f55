"""The user's own words in the status line: the first line that a command of theirs prints.

    idle --something changed--> running --it ended--> idle (or running again, if something changed meanwhile)

The command gets what there is to know as JSON on its standard input, in the shape that Claude Code gave it, so that a
script for one works for the other. It runs beside everything else, one at a time, and never more often than EVERY. One
that fails, hangs or prints nothing is named in the line in its place; after MAX_FAILURES in a row it is left alone.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joey import __version__
from joey.system.visible import as_on_screen, one_line
from joey.task.own_commands import OwnCommandEnded, run_own_command
from joey.terminal.status import Status
from joey.tools.shell.environment import command_environment

EVERY = 0.3
TIMEOUT = 3.0
MAX_FAILURES = 3
_MAX_WORDS = 300


def status_json(status: Status, folder: Path, task: str, journal: Path | None) -> dict[str, Any]:
    """What the command is told. Names are those that Claude Code's status line has."""
    model, place = status.model, str(folder)
    used, window = status.last.total, status.window
    return {
        "hook_event_name": "Status",
        "session_id": task,
        "transcript_path": str(journal) if journal else "",
        "cwd": place,
        "model": {"id": model, "display_name": model.rpartition("/")[2]},
        "workspace": {"current_dir": place, "project_dir": place},
        "version": __version__,
        "output_style": {"name": "default"},
        "cost": {"total_cost_usd": status.cost or 0.0},
        "context_window": {
            "total_input_tokens": status.usage.input_tokens,
            "total_output_tokens": status.usage.output_tokens,
            "context_window_size": window or 0,
            "used_percentage": round(100 * used / window) if window else 0,
        },
        "mode": status.mode,
        "approvals": status.profile,
        "todos": {"done": status.todos_done, "all": status.todos},
    }


@dataclass(eq=False)
class StatusCommand:
    """Runs the command whenever something changed, and tells what it printed."""

    command: str
    folder: Path
    show: Callable[[str], None]
    timeout: float = TIMEOUT
    every: float = EVERY
    _failures: int = 0
    _next: Mapping[str, Any] | None = None
    _last: Mapping[str, Any] | None = None
    _running: asyncio.Task[None] | None = field(default=None)

    def changed(self, data: Mapping[str, Any]) -> None:
        """Something may be different now. Returns at once."""
        if self._failures >= MAX_FAILURES or data == (self._next or self._last):
            return
        self._next = data
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while (data := self._next) is not None:
            self._last, self._next = data, None
            self.show(await self._words(data))
            await asyncio.sleep(self.every)

    async def _words(self, data: Mapping[str, Any]) -> str:
        variables = command_environment(os.environ).variables
        try:
            ended = await run_own_command(
                self.command, self.folder, variables, self.timeout, json.dumps(data).encode() + b"\n"
            )
        except OSError as error:
            return self._failed(str(error.strerror or error))
        line = _first_line(ended)
        if ended.code != 0 or not line:
            how = "it took too long" if ended.code is None else f"exit code {ended.code}"
            return self._failed(how if ended.code != 0 else "it printed nothing")
        self._failures = 0
        return line

    def _failed(self, why: str) -> str:
        self._failures += 1
        end = "; it is not run again" if self._failures >= MAX_FAILURES else ""
        return f"status command: {why}{end}"

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)


def _first_line(ended: OwnCommandEnded) -> str:
    lines = as_on_screen(ended.output[:4_000]).strip().splitlines()
    return one_line(lines[0])[:_MAX_WORDS].strip() if lines else ""
