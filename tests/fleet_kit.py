"""A fleet in a scratch folder: repositories, a scripted model and workers in this process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joey.app.sources import NO_SOURCES
from joey.fleet.fleet import Fleet, open_fleet
from joey.fleet.ledger import FleetTask
from joey.fleet.spec import TaskSpec
from joey.fleet.worker import Worker, WorkerOptions
from joey.messages import ToolUseBlock
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer, ReceivedRequest


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


def write(number: int, path: str, text: str) -> Scripted:
    return reply(call(f"call-{number}", "write_to_file", path=path, file_text=text))


def run_command(number: int, command: str) -> Scripted:
    return reply(call(f"call-{number}", "execute_command", command=command))


def done(result: str = "All done.") -> Scripted:
    return reply(call("done", "attempt_completion", result=result))


def by_turn(*replies: Scripted) -> Callable[[ReceivedRequest], Scripted]:
    """A model that keeps no state: it answers by how many replies the conversation has."""

    def answer(request: ReceivedRequest) -> Scripted:
        taken = int(sum(message["role"] == "assistant" for message in request.body["messages"]))
        return replies[min(taken, len(replies) - 1)]

    return answer


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder, "first")
    return folder


def commit_all(folder: Path, message: str) -> str:
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@dataclass(slots=True)
class FleetKit:
    """One fleet. `machine` is a folder: another one is another machine."""

    folder: Path
    url: str | None = None
    server: LocalServer | None = None
    machine: str = "one"
    compare_every: float = 1.0
    reports: list[str] = field(default_factory=list)

    @contextmanager
    def open(self, machine: str = "") -> Iterator[Fleet]:
        flags = {"fleet.folder": str(self.folder / (machine or self.machine)), "fleet.url": self.url}
        with open_fleet(NO_SOURCES.config(flags)) as fleet:
            yield fleet

    def spec(self, name: str, place: Path, **changes: Any) -> TaskSpec:
        settings: dict[str, Any] = {"approvals.profile": "all", "sandbox": "off"}
        if self.server is not None:
            settings |= {"model": "anthropic/claude-sonnet-4-5", "base_url": self.server.url}
        settings |= changes.pop("settings", {})
        return TaskSpec(name, f"Do {name}.", str(place), settings=settings, **changes)

    async def work_until(
        self, fleet: Fleet, finished: Callable[[], bool], slots: int = 4, seconds: float = 45.0
    ) -> int:
        """A worker in this process, until this is so."""
        worker = Worker(
            fleet.database,
            fleet.queue,
            WorkerOptions(slots, report=self.reports.append, compare_every=self.compare_every),
        )
        running = asyncio.create_task(worker.run())
        deadline = time.monotonic() + seconds
        while not finished() and not running.done() and time.monotonic() < deadline:  # noqa: ASYNC110 - asks a database
            await asyncio.sleep(0.05)
        worker.stop()
        code = await running
        assert finished(), f"not finished within {seconds} s: {self.reports}"
        return code


def all_done(fleet: Fleet) -> bool:
    return all(task.state == "done" for task in fleet.ledger.tasks())


def states(fleet: Fleet) -> dict[str, str]:
    return {task.id: task.outcome or task.state for task in fleet.ledger.tasks()}


def journal_lines(fleet: Fleet, task: FleetTask) -> list[str]:
    path = fleet.database.tasks / task.journal / "journals" / task.journal / "journal.jsonl"
    return path.read_text().splitlines()


async def worker_process(kit: FleetKit) -> asyncio.subprocess.Process:
    """A worker as a process of its own."""
    config = kit.folder / "config" / "joey"
    config.mkdir(parents=True)
    url = f"url = {json.dumps(kit.url)}\n" if kit.url else ""
    (config / "config.toml").write_text(f"[fleet]\nfolder = {json.dumps(str(kit.folder / kit.machine))}\n{url}")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(config.parent)}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "fleet", "work", "--slots", "2", env=environment, cwd=kit.folder,
        stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
