"""The page of `joey web`: a long task opened beside an empty one, and fifty watchers beside one.

The server is a process of its own, so that its CPU can be told from that of those who watch. Times are medians; what a
browser does with the answer is counted in tests/web.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import httpx2

from bench.table import Table
from joey.journal.records import MessageAdded, RunBegan, RunEnded, TaskEnded, TaskOpened, TurnEnded
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.testing.script import Faults, reply
from joey.testing.server import LocalServer
from joey.usage import Usage

TURNS = 2_500
"""Two messages each."""
OPENED = 15
WATCHERS = 50
WORDS = "word " * 400


def run() -> list[Table]:
    return [asyncio.run(_measure())]


async def _measure() -> Table:
    title = f"The page: a task of {2 * TURNS:,} messages opened, and {WATCHERS} watchers of a task (CPU of the server)"
    table = Table(title, ["", "ratio"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task_id, turns in (("empty", 0), ("long", TURNS)):
            _write_task(folder / "home/.local/state/joey/tasks", task_id, turns)
        table.add("an empty task opened", "1.00")
        table.add("the long one", f"{await _opening(folder):.2f}")
        one, many = [await _watched(folder, count) for count in (1, WATCHERS)]
        table.add("one watcher of a stream", "1.00")
        table.add(f"{WATCHERS} watchers", f"{many / one:.2f}")
    return table


def _write_task(folder: Path, task_id: str, turns: int) -> None:
    with TaskStore(folder).open(task_id) as journal:
        journal.append(TaskOpened(task_id, "A task", str(folder), "code", "anthropic/claude-sonnet-5-5", "native"))
        journal.append(MessageAdded(Message("user", (TextBlock("A task"),))))
        for n in range(turns):
            use = ToolUseBlock(f"c{n}", "read_file", {"path": f"f{n}.py"})
            journal.append(MessageAdded(Message("assistant", (TextBlock(f"Step {n}."), use))))
            journal.append(TurnEnded(Usage(100 + n, 10), 0.001))
            journal.append(RunBegan(f"c{n}", "read_file"))
            result = ToolResult((TextBlock("x" * 200),))
            journal.append(RunEnded(f"c{n}", "read_file", result))
            journal.append(MessageAdded(Message("user", (ToolResultBlock(f"c{n}", result.content),))))
        journal.append(TaskEnded("completed", "Done."))


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[tuple[Process, httpx2.AsyncClient]]:
    """`joey web` as people run it, with a model that streams."""
    (folder / "work").mkdir(exist_ok=True)
    async with LocalServer([reply(WORDS, faults=Faults(pause=0.01))] * 2) as model:
        flags = ("--port", "0", "--model", "anthropic/claude-sonnet-5-5", "--base-url", model.anthropic_url)
        variables = {**os.environ, "HOME": str(folder / "home"), "ANTHROPIC_API_KEY": "k"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "web", *flags, cwd=folder / "work", env=variables, stdout=PIPE, stderr=PIPE
        )
        assert process.stdout is not None
        found = re.search(rb"(http://\S+)/\?token=(\S+)", await process.stdout.readline())
        assert found is not None
        headers = {"authorization": f"Bearer {found[2].decode()}"}
        limits = httpx2.Limits(max_connections=WATCHERS + 10)
        try:
            async with httpx2.AsyncClient(
                base_url=found[1].decode(), headers=headers, timeout=60, limits=limits
            ) as client:
                yield process, client
        finally:
            process.terminate()
            await process.wait()


async def _opening(folder: Path) -> float:
    taken: dict[str, list[float]] = {"empty": [], "long": []}
    async with _server(folder) as (_, client):
        for _ in range(OPENED):  # by turns, so that a busy machine is busy for both
            for task_id, times in taken.items():
                began = perf_counter()
                (await client.get(f"/api/v1/tasks/{task_id}")).raise_for_status()
                times.append(perf_counter() - began)
    return statistics.median(taken["long"]) / statistics.median(taken["empty"])


async def _watched(folder: Path, watchers: int) -> float:
    """The CPU that a streaming task costs the server with so many watchers, in seconds."""
    async with _server(folder) as (process, client):
        task_id = (await client.post("/api/v1/tasks", json={"text": "Talk."})).json()["id"]
        place = (await client.get(f"/api/v1/tasks/{task_id}")).json()["place"]
        before = _cpu(process.pid)
        await asyncio.gather(*(_watch(client, task_id, place) for _ in range(watchers)))
        return _cpu(process.pid) - before


async def _watch(client: httpx2.AsyncClient, task_id: str, place: str) -> None:
    """Listen like a browser, until the run is over."""
    query = {"task": task_id, "after": place}
    async with client.stream("GET", "/api/v1/events", params=query) as answer:
        async for line in answer.aiter_lines():
            if line in ("event: idle", "event: reset"):
                return


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
