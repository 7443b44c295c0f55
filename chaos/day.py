"""A day in an hour: many long tasks in one process, with large outputs. What is held must not grow with their number.

Each task has its turns and one command that prints many megabytes. After every task the process is looked at: its
memory, its open descriptors, its children and the temporary files: it has a folder for them to itself.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joey
from joey.messages import ToolUseBlock
from joey.testing.script import ScriptedReply, reply
from joey.testing.server import LocalServer, ReceivedRequest


@dataclass(frozen=True, slots=True)
class Held:
    """What the process holds at one moment."""

    kilobytes: int
    descriptors: int
    children: int
    temporary: int


def held() -> Held:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    children = sum(len(each.read_text().split()) for each in Path("/proc/self/task").glob("*/children"))
    temporary = list(Path(tempfile.gettempdir()).iterdir())
    return Held(resident, len(list(Path("/proc/self/fd").iterdir())), children, len(temporary))


@dataclass(slots=True)
class LongTalk:
    """A model that runs a command in each turn, every tenth with a large output, until it had its turns."""

    turns: int
    megabytes: int

    def __call__(self, request: ReceivedRequest) -> ScriptedReply:
        turn = sum(message["role"] == "assistant" for message in request.body["messages"]) + 1
        if turn > self.turns:
            return reply(_call(turn, "attempt_completion", result="finished"))
        large = f"head -c {self.megabytes << 20} /dev/zero | tr '\\0' x | fold -w 100"
        line = large if turn == 2 else f"echo turn {turn}"
        return reply("Next.", _call(turn, "execute_command", command=line))


def _call(turn: int, tool: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(f"id_{turn}", tool, arguments)


async def day(tasks: int, turns: int, megabytes: int) -> list[Held]:
    """What was held after each task."""
    folder = Path(tempfile.mkdtemp(prefix="day-"))
    before = dict(os.environ)
    (folder / "tmp").mkdir()
    (folder / "work").mkdir()
    os.environ |= {"HOME": str(folder), "TMPDIR": str(folder / "tmp"), "ANTHROPIC_API_KEY": "k"}
    tempfile.tempdir = None  # it is looked up again, in the environment
    try:
        async with LocalServer(LongTalk(turns, megabytes)) as server:
            return [await _one(server, folder / "work") for _ in range(tasks)]
    finally:
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)


async def _one(server: LocalServer, workspace: Path) -> Held:
    settings = {"base_url": server.anthropic_url}
    async with joey.Task(
        "Work.", model="anthropic/scripted", workspace=workspace, approve="all", settings=settings
    ) as task:
        async for _ in task:
            pass
    server.requests.clear()
    return held()


def growth(series: list[Held]) -> dict[str, tuple[float, float]]:
    """Each figure in the second quarter of the day and in the last one, as means. The first quarter warms up."""
    quarter = max(1, len(series) // 4)
    early, late = series[quarter : 2 * quarter] or series[:1], series[-quarter:]
    return {name: (_mean(early, name), _mean(late, name)) for name in Held.__dataclass_fields__}


def _mean(series: list[Held], name: str) -> float:
    return float(sum(getattr(each, name) for each in series) / len(series))


def grown(series: list[Held]) -> list[str]:
    """The figures that grew: memory by more than a tenth, anything else at all."""
    found = growth(series)
    allowed = {"kilobytes": found["kilobytes"][0] * 0.1}
    return [f"{name} grew from {a:.0f} to {b:.0f}" for name, (a, b) in found.items() if b > a + allowed.get(name, 0.5)]
