"""A fleet under fire: the evals with a model that plays their solutions, workers killed, the database crashed.

What must be true at the end, whatever was killed: every task is completed, and its check passes on the commit that is
its result; every journal, written from the recorded steps, has one end; no call has two results; what the steps report
of turns and cost is what the journals say, the tasks' rows and the batches'; and no trace of a step is there twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from evals.checks import Result
from evals.task import Entry, all_tasks

from chaos.kills import Tally
from chaos.postgres import Postgres, postgres, postgres_programs
from chaos.reference import LOG, ReferencePlayer, prompt_for
from joey import protocols
from joey.app.sources import NO_SOURCES
from joey.fleet.fleet import Fleet, open_fleet
from joey.fleet.ledger import FleetTask, patiently
from joey.fleet.recorded import joined
from joey.fleet.repositories import Mirror
from joey.fleet.spec import TaskSpec
from joey.testing.server import LocalServer

SETTINGS = {
    "native": ("native", "anthropic/claude-sonnet-4-5"),
    "native-openai": ("native", "openai/scripted"),
    "xml": ("xml", "anthropic/claude-sonnet-4-5"),
    "xml-openai": ("xml", "openai/scripted"),
    "json_mix": ("json_mix", "anthropic/claude-sonnet-4-5"),
    "morph_xml": ("morph_xml", "anthropic/claude-sonnet-4-5"),
}
"""The protocol and the model of each setting, by its name, which is also the name of its batch."""
_TIMEOUT = 1800.0


@dataclass(frozen=True, slots=True)
class Fire:
    """How much is done, and what is done to it."""

    database: str
    tasks: int = 48
    settings: Sequence[str] = tuple(SETTINGS)
    workers: int = 4
    slots: int = 4
    kills: int = 20
    pause: float = 0.1
    seed: int = 1

    @property
    def words(self) -> str:
        what = f"{self.database}: {self.tasks * len(self.settings)} tasks, {self.workers} workers"
        return f"{what}, {self.kills} kills, a crash and a restart of the database"


@dataclass(slots=True)
class Machine:
    """Worker processes with a home of their own."""

    home: Path
    url: str | None
    slots: int
    wrapped_by: Sequence[str] = ()
    """A program that starts the workers."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, count: int) -> None:
        config = self.home / "config" / "joey"
        config.mkdir(parents=True, exist_ok=True)
        url = f"url = {json.dumps(self.url)}\n" if self.url else ""
        (config / "config.toml").write_text(f"[fleet]\nfolder = {json.dumps(str(self.home / 'fleet'))}\n{url}")
        for _ in range(count):
            self.workers.append(self._worker())

    def _worker(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        home = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}
        with (self.home / "workers.log").open("ab") as log:
            return subprocess.Popen(
                [*self.wrapped_by, sys.executable, "-m", "joey", "fleet", "work", "--slots", str(self.slots)],
                env={**kept, **keys, **home}, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def kill(self, place: int) -> None:
        """kill -9, and another one in its place."""
        self.workers[place].send_signal(signal.SIGKILL)
        self.workers[place].wait()
        self.workers[place] = self._worker()

    def replace_ended(self) -> int:
        """How many had ended by themselves, which are started again."""
        ended = [place for place, worker in enumerate(self.workers) if worker.poll() is not None]
        for place in ended:
            self.workers[place] = self._worker()
        return len(ended)

    def stop(self) -> None:
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(30)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


async def under_fire(fire: Fire, tally: Tally) -> None:
    """One run; what is not true at the end is added to the tally."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="joey-fleet-", ignore_cleanup_errors=True))
        )
        server: Postgres | None = None
        if fire.database == "postgresql":
            programs = postgres_programs()
            assert programs is not None, "PostgreSQL is not installed"
            server = stack.enter_context(postgres(programs))
        entries = list(all_tasks())[: fire.tasks]
        repositories = {entry.task.name: eval_repository(folder / "repos", entry) for entry in entries}
        player = ReferencePlayer({name: protocols.get(SETTINGS[name][0]) for name in fire.settings}, fire.pause)
        machine = Machine(folder / "home", server.new_database() if server else None, fire.slots)
        flags = {"fleet.folder": str(machine.home / "fleet"), "fleet.url": machine.url}
        async with LocalServer(player) as model:
            with open_fleet(NO_SOURCES.config(flags)) as fleet:
                for setting in fire.settings:
                    fleet.add(setting, [_spec(entry, setting, repositories, model) for entry in entries])
                machine.start(fire.workers)
                try:
                    await _shoot(fire, fleet, machine, server, tally)
                finally:
                    await asyncio.to_thread(machine.stop)
                tasks = patiently(fleet.ledger.tasks)
                tally.tasks += len(tasks)
                for task in tasks:
                    tally.faults += [f"{task.id}: {each}" for each in task_faults(fleet, task, entries, folder)]
                tally.faults += batch_faults(fleet)
        tally.at[f"{fire.database}: turns requested"] += sum(player.requested.values())
        tally.at[f"{fire.database}: turns requested again"] += sum(n - 1 for n in player.requested.values())


def _spec(entry: Entry, setting: str, repositories: dict[str, Path], model: LocalServer) -> TaskSpec:
    protocol, name = SETTINGS[setting]
    url = model.openai_url if name.startswith("openai/") else model.url
    settings = {
        "model": name, "base_url": url, "protocol": protocol, "approvals.profile": "all", "sandbox": "off"
    }  # fmt: skip
    if name.startswith("openai/"):
        settings["api"] = "chat"
    prompt = prompt_for(entry.task, setting)
    return TaskSpec(entry.task.name, prompt, str(repositories[entry.task.name]), settings=settings)


async def _shoot(fire: Fire, fleet: Fleet, machine: Machine, server: Postgres | None, tally: Tally) -> None:
    chance, total = random.Random(fire.seed), len(fleet.ledger.tasks())
    deadline = time.monotonic() + _TIMEOUT
    crashes = [0.35, 0.7]
    killed = 0
    while time.monotonic() < deadline:
        await asyncio.sleep(chance.uniform(0.2, 0.6))
        done = sum(task.state == "done" for task in await asyncio.to_thread(patiently, fleet.ledger.tasks)) / total
        if done == 1:
            break
        if killed < fire.kills and done >= 0.02 + 0.9 * killed / fire.kills:
            await asyncio.to_thread(machine.kill, chance.randrange(fire.workers))
            killed += 1
        if crashes and done >= crashes[0]:
            crashes.pop(0)
            await asyncio.to_thread(_crash, server, machine, "immediate" if crashes else "fast")
            tally.at[f"{fire.database}: databases ended"] += 1
        tally.at[f"{fire.database}: workers that ended by themselves"] += await asyncio.to_thread(machine.replace_ended)
    tally.kills += killed


def _crash(server: Postgres | None, machine: Machine, how: str) -> None:
    """SQLite has no server: there it ends with all who use it, at once."""
    if server is None:
        for worker in machine.workers:
            worker.send_signal(signal.SIGKILL)
        for place in range(len(machine.workers)):
            machine.kill(place)
        return
    server.stop(how)
    time.sleep(1.0)
    server.start()


def eval_repository(folder: Path, entry: Entry) -> Path:
    place = folder / entry.task.name
    place.mkdir(parents=True)
    (place / "README").write_text("A task of the evals.\n")
    entry.task.lay_out(place)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "-m", "first")):
        subprocess.run(["git", *command], cwd=place, check=True)
    return place


def task_faults(fleet: Fleet, task: FleetTask, entries: Sequence[Entry], folder: Path) -> list[str]:
    """What is not true of one task."""
    if task.outcome != "completed":
        return [f"{task.state} {task.outcome}: {task.message}"]
    turns = fleet.queue.turns(task.id, task.attempt, task.leg)
    records = [json.loads(line) for text in joined(turns).values() for line in text.splitlines()[1:]]
    kinds = Counter(record["type"] for record in records)
    calls = Counter(record["call_id"] for record in records if record["type"] == "run_ended")
    cost = sum(record["cost"] or 0.0 for record in records if record["type"] == "turn_ended")
    found = [] if kinds["task_ended"] == 1 else [f"{kinds['task_ended']} ends in its journal"]
    found += [f"call {name} has {count} results" for name, count in calls.items() if count > 1]
    if not kinds["turn_ended"] == task.turns == sum(turn.turns for turn in turns):
        found.append(f"{kinds['turn_ended']} turns in the journal, {task.turns} counted")
    if abs(cost - task.cost) > 1e-9:
        found.append(f"its journal cost {cost}, its row {task.cost}")
    work = folder / "check" / task.id / "work"
    mirror = Mirror.of(task.spec.repository, fleet.database.folder / "mirrors")
    mirror.clone(task.base, task.head or task.base, work)
    traces = Counter((work / LOG).read_text().split()) if (work / LOG).exists() else Counter[str]()
    found += [f"the trace {word!r} is there {count} times" for word, count in traces.items() if count > 1]
    name = task.id.partition(".")[2]
    shutil.rmtree(work / ".git")
    for ours in (LOG, "README"):
        (work / ours).unlink(missing_ok=True)
    problem = next(each for each in entries if each.task.name == name).task.problem(Result(work, task.message))
    return [*found, *([f"check: {problem}"] if problem else [])]


def batch_faults(fleet: Fleet) -> list[str]:
    sums: Counter[str] = Counter()
    for task in fleet.ledger.tasks():
        sums[task.batch] += task.cost  # type: ignore[assignment]
    return [
        f"batch {batch.name} cost {batch.spent}, its tasks {sums[batch.name]}"
        for batch in fleet.ledger.batches()
        if abs(batch.spent - sums[batch.name]) > 1e-6
    ]
