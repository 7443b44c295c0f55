"""One task on one model in one setting: in a folder of its own, with a time limit, and measured.

The task runs as `joey run` would run it, with the same approvals: files in the folder may be read and changed, the
programs below may run, and everything else is refused, since nobody is there to ask. Settings, tasks and instructions
of the user's own play no part.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from evals.checks import Result
from evals.task import Entry
from joey.app.running import run_headless
from joey.app.tasks import TaskOptions, open_task, prepare_task
from joey.config.files import settings_from
from joey.events import (
    Event,
    TaskFinished,
    ToolCallFinished,
    ToolCallMalformed,
    ToolRunFinished,
    TurnFinished,
)
from joey.usage import Usage

ALLOWED = (
    "python3", "python3 -c", "python3 -m unittest", "python3 -m pytest", "python", "python -c", "python -m unittest",
    "python -m pytest", "pytest", "ls", "cat", "head", "tail", "wc", "grep", "sort", "uniq", "cut", "echo", "printf",
    "mkdir", "cp", "mv", "rm", "touch", "find", "pwd", "diff", "sed", "awk", "tr", "tee",
)  # fmt: skip
"""Programs that may run. The policy keeps what they write to the folder, as far as it can be read off their line."""
DENIED = ("python3 -m", "python -m", "pip", "pip3")
"""Python's modules, but for the tests above: the longer rule decides. A model that is lost installs things."""
MAX_TURNS = 15


@dataclass(frozen=True, slots=True)
class Setting:
    """How the model is spoken to."""

    protocol: str
    grammar: bool

    @property
    def name(self) -> str:
        return f"{self.protocol}{'+grammar' if self.grammar else ''}"


@dataclass(frozen=True, slots=True)
class Served:
    """Which model, and where."""

    model: str
    base_url: str | None = None


@dataclass(slots=True)
class Measured:
    """What came of a run. Everything here goes into the JSON line."""

    task: str
    family: str
    half: str
    model: str
    setting: str
    solved: bool = False
    problem: str = ""
    outcome: str = ""
    answer: str = ""
    turns: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    malformed: int = 0
    no_call: int = 0
    calls: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    """The end of what another agent printed, to see why it failed."""

    @property
    def line(self) -> dict[str, Any]:
        return asdict(self)


class Meter:
    """Watches a task and counts."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._called = False

    def watch(self, _task_id: str, event: Event) -> None:
        measured = self._measured
        match event:
            case ToolCallFinished(_, name, arguments):
                self._called = True
                measured.calls.append({"name": name, "arguments": arguments})
            case ToolCallMalformed(_, name, source):
                self._called = True
                measured.malformed += 1
                measured.calls.append({"name": name, "malformed": source})
            case ToolRunFinished(result=result) if measured.calls:
                measured.calls[-1]["result"] = result.text[:1000]
            case TurnFinished(usage=usage):
                self._turn(usage)
            case _:
                pass

    def _turn(self, usage: Usage) -> None:
        measured = self._measured
        measured.turns += 1
        measured.tokens_in += usage.input_tokens
        measured.tokens_cached += usage.cache_read_tokens
        measured.tokens_out += usage.output_tokens
        measured.no_call += not self._called
        self._called = False


def run_one(entry: Entry, served: Served, setting: Setting, *, seconds: float) -> Measured:
    """Do the task and judge it. A server that fails is a result too; a model that is not there is a UsageError.

    Raises KeyboardInterrupt when it was stopped, which then is no result.
    """
    measured = Measured(entry.task.name, entry.family, entry.half, served.model, setting.name)
    with tempfile.TemporaryDirectory(prefix="joey-eval-") as scratch, _own_home(Path(scratch) / "home"):
        folder = Path(scratch).resolve() / "work"
        folder.mkdir()
        entry.task.lay_out(folder)
        began = time.monotonic()
        finished = asyncio.run(_do(entry, served, setting, folder, measured, seconds))
        if finished.outcome == "cancelled":  # by a signal; it says nothing about the model
            raise KeyboardInterrupt
        measured.outcome, measured.answer = finished.outcome, finished.message
        measured.seconds = round(time.monotonic() - began, 2)
        # Only a completed task has answered; a limit's own words must not pass for an answer.
        answer = measured.answer if measured.outcome == "completed" else ""
        measured.problem = measured.problem or entry.task.problem(Result(folder, answer)) or ""
        measured.solved = not measured.problem and measured.outcome == "completed"
    return measured


async def _do(
    entry: Entry, served: Served, setting: Setting, folder: Path, measured: Measured, seconds: float
) -> TaskFinished:
    flags = settings_from(
        {
            "model": served.model,
            "base_url": served.base_url,
            "protocol": setting.protocol,
            "grammar": "llama.cpp" if setting.grammar else "off",
            "prompt": "small",
            "approve": "edits",
            "allow": ALLOWED,
            "deny": DENIED,
            "max_turns": MAX_TURNS,
        }
    )
    setup = prepare_task(TaskOptions(folder, flags, headless=True))
    async with open_task(setup, entry.task.prompt, Meter(measured).watch) as task:
        return await run_headless(task, seconds=seconds)


def _own_home(home: Path) -> AbstractContextManager[Any]:
    """Meanwhile, settings and journals are kept in a folder of their own."""
    return patch.dict(os.environ, {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")})
