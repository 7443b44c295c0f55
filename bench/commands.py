"""A command in its sandbox beside a bare one, started the same way: what each costs after the first."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from bench.table import Table
from joey.sandbox import Sandbox, Walls, open_sandbox
from joey.tools.shell.job import start
from joey.tools.shell.output import CommandOutput

COMMANDS = 60
COMMAND = "true"


def run() -> list[Table]:
    return [asyncio.run(_compare())]


async def _compare() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        began = perf_counter()
        sandbox = await open_sandbox(Walls(workspace))
        opening = perf_counter() - began
        bare, inside = [], []
        for _ in range(COMMANDS):  # by turns, so that a busy machine is busy for both
            bare.append(await _seconds(workspace, None))
            inside.append(await _seconds(workspace, sandbox))
        level = str(sandbox.held.level)
        sandbox.close()
    title = f"A command in its sandbox ({level}) beside a bare one (`{COMMAND}`, medians of {COMMANDS})"
    table = Table(title, ["", "ratio"])
    table.add("bare", "1.00")
    table.add("in the sandbox of the task", f"{statistics.median(inside) / statistics.median(bare):.2f}")
    table.add("opening the sandbox, once a task", f"{opening / statistics.median(bare):.1f}")
    return table


async def _seconds(workspace: Path, sandbox: Sandbox | None) -> float:
    output = CommandOutput(workspace.parent / "storage")
    began = perf_counter()
    job = await start(
        COMMAND, workspace, output, lambda _text: None, environment={"PATH": "/usr/bin:/bin"}, sandbox=sandbox
    )
    await job.ended()
    return perf_counter() - began
