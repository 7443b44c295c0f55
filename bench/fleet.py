"""What a fleet adds to its tasks, on both databases beside a bare loop: per turn, with more workers, after a kill, and
while a thousand tasks wait for people. The model is a process of its own and answers after a time that is chosen.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from chaos.fleet import Machine
from chaos.postgres import postgres, postgres_programs

from bench.table import Table
from joey.app.running import run_within
from joey.app.sources import NO_SOURCES
from joey.app.tasks import Given, TaskOptions, open_task, prepare_task
from joey.fleet.fleet import Fleet, open_fleet
from joey.fleet.spec import TaskSpec
from joey.fleet.worker import Worker, WorkerOptions
from joey.messages import ToolUseBlock
from joey.testing.script import Faults, Scripted, reply
from joey.testing.server import LocalServer, ReceivedRequest

ROUNDS = 3
FEW, MANY = 20, 220
"""Turns of two tasks: the difference is what turns cost, without what opening a task does."""
WAITING = 1000
GROWTH = (1, 2, 4)
TASKS, SLOTS = 16, 2


def run() -> list[Table]:
    table = Table("A fleet beside a bare loop", ["", "limit", "bare loop", "SQLite", "PostgreSQL"])
    with _databases() as urls, _model() as model:
        bare = _per_turn(lambda turns: asyncio.run(_bare(model, turns)))
        turns = [_per_turn(partial(_measured, url, model)) for url in urls]
        table.add("CPU per turn, ms", "", *(f"{each * 1000:.1f}" for each in (bare, *turns)))
        table.add("  beside the bare loop", "", *(f"{each / bare:.2f}×" for each in (bare, *turns)))
        table.add("  added per turn, ms", "5", "", *(f"{(each - bare) * 1000:.1f}" for each in turns))
        growth = [[_throughput(url, model, count) for count in GROWTH] for url in urls]
        for place, count in enumerate(GROWTH[1:], 1):
            limit = "at least 3×" if count == 4 else ""
            table.add(f"{count} workers beside 1", limit, "", *(f"{each[place] / each[0]:.2f}×" for each in growth))
        table.add("continued after a kill, s", "2", "", *(f"{_recovery(url, model):.2f}" for url in urls))
        idle = [[_idle(url, count) for count in (0, WAITING)] for url in urls]
        for name, place, form in (("CPU of an idle worker, %", 0, "{:.1f}"), ("its memory, MB", 1, "{:.0f}")):
            cells = (" → ".join(form.format(each[place]) for each in both) for both in idle)
            table.add(f"{name}, 0 → {WAITING:,} tasks waiting", "", "", *cells)
    return [table]


@contextmanager
def _databases() -> Iterator[list[Callable[[], str | None]]]:
    """How a new database is made, of each kind."""
    programs = postgres_programs()
    if programs is None:
        raise SystemExit("PostgreSQL is not installed; apt-get install postgresql")
    with postgres(programs) as server:
        yield [lambda: None, server.new_database]


@contextmanager
def _model() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-m", "bench.fleet"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextmanager
def _fleet(folder: Path, url: str | None) -> Iterator[Fleet]:
    with open_fleet(NO_SOURCES.config({"fleet.folder": str(folder / "home" / "fleet"), "fleet.url": url})) as fleet:
        yield fleet


def _settings(model: str) -> dict[str, Any]:
    named = {"model": "anthropic/scripted", "base_url": model, "approvals.profile": "all", "sandbox": "off"}
    return {**named, "limits.max_turns": 10_000}


def _spec(name: str, folder: Path, model: str, turns: int, wait: float = 0.0) -> TaskSpec:
    (folder / "work").mkdir(exist_ok=True)
    prompt = f"bench turns={turns} wait={wait}"
    return TaskSpec(name, prompt, folder=str(folder / "work"), settings=_settings(model))


def _per_turn(measure: Callable[[int], float]) -> float:
    """Seconds of CPU per turn: the cheapest of some rounds, of a task with few turns and of one with many."""
    few, many = (min(measure(turns) for _ in range(ROUNDS)) for turns in (FEW, MANY))
    return (many - few) / (MANY - FEW)


async def _bare(model: str, turns: int) -> float:
    """Seconds of CPU of the same task without a fleet."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        spec = _spec("x", folder, model, turns)
        options = TaskOptions(folder / "work", dict(spec.settings), headless=True)
        setup = prepare_task(options, Given(store=folder / "store"))
        async with open_task(setup, spec.prompt, lambda _task, _event: None) as task:
            began = time.process_time()
            finished = await run_within(task, None)
            assert finished.outcome == "completed", finished.message
            return time.process_time() - began


def _measured(url: Callable[[], str | None], model: str, turns: int) -> float:
    return asyncio.run(_turns(url, model, turns))


async def _turns(url: Callable[[], str | None], model: str, turns: int) -> float:
    """Seconds of CPU of a worker, from the beginning of its task to the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, _fleet(Path(place), url()) as fleet:
        fleet.add("b", [_spec("x", Path(place), model, turns)])
        reports: asyncio.Queue[float] = asyncio.Queue()
        options = WorkerOptions(1, report=lambda _line: reports.put_nowait(time.process_time()))
        worker = Worker(fleet.database, fleet.queue, options)
        running = asyncio.create_task(worker.run())
        _started, opened, ended = [await reports.get() for _ in range(3)]
        worker.stop()
        await running
        assert fleet.task("b.x").outcome == "completed", fleet.task("b.x").message
        return ended - opened


def _throughput(url: Callable[[], str | None], model: str, workers: int) -> float:
    """Tasks per second that wait for a model, from the first begun to the last ended. Each worker has had a task
    before: the first one loads what tasks need."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, _fleet(Path(place), url()) as fleet:
        machine = Machine(Path(place) / "home", fleet.database.shared_url, SLOTS)
        machine.start(workers)
        try:
            _until(lambda: len(fleet.ledger.worker_ids()) == workers)
            first = [_spec(f"t{number}", Path(place), model, 2, 2.0) for number in range(workers * SLOTS)]
            _finish(fleet, "first", first)
            began = time.perf_counter()
            _finish(fleet, "b", [_spec(f"t{number}", Path(place), model, 3, 1.0) for number in range(TASKS)])
            return TASKS / (time.perf_counter() - began)
        finally:
            machine.stop()


def _finish(fleet: Fleet, batch: str, tasks: Sequence[TaskSpec]) -> None:
    fleet.add(batch, tasks)
    _until(lambda: all(task.state == "done" for task in fleet.ledger.tasks(batch)))
    assert all(task.outcome == "completed" for task in fleet.ledger.tasks(batch))


def _recovery(url: Callable[[], str | None], model: str) -> float:
    """Seconds from a kill -9 until another worker has the task."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, _fleet(Path(place), url()) as fleet:
        machine = Machine(Path(place) / "home", fleet.database.shared_url, 1)
        machine.start(2)
        try:
            _until(lambda: len(fleet.ledger.worker_ids()) == 2)
            time.sleep(8)  # both may take others for dead by now
            fleet.add("b", [_spec("x", Path(place), model, 5, 60.0)])
            _until(lambda: fleet.task("b.x").state == "running")
            victim = fleet.task("b.x").worker
            began = time.perf_counter()
            next(each for each in machine.workers if f"-{each.pid}-" in victim).kill()
            _until(lambda: fleet.task("b.x").worker not in ("", victim))
            return time.perf_counter() - began
        finally:
            fleet.cancel("b")
            machine.stop()


def _idle(url: Callable[[], str | None], waiting: int) -> tuple[float, float]:
    """The CPU in percent and the memory of a worker with nothing to do, while so many tasks wait for people."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, _fleet(Path(place), url()) as fleet:
        fleet.add("b", [_spec(f"t{number}", Path(place), "http://127.0.0.1:1", 1) for number in range(waiting)])
        for task in fleet.ledger.tasks():
            fleet.ledger.own(task.id, task.workflow, "gone")
            fleet.queue.cancel(task.workflow)  # the part that put the question is over
            fleet.ledger.park(
                task.id, task.workflow, json.dumps({"type": "question_requested", "question": "?"}),
                lambda at, name, spec: fleet.queue.enqueue(at, name, spec, delay=86_400),
            )  # fmt: skip
        machine = Machine(Path(place) / "home", fleet.database.shared_url, 10)
        machine.start(1)
        try:
            _until(lambda: len(fleet.ledger.worker_ids()) == 1)
            time.sleep(3)
            pid, before = machine.workers[0].pid, _cpu(machine.workers[0].pid)
            time.sleep(10)
            return (_cpu(pid) - before) * 10, _memory(pid)
        finally:
            machine.stop()


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100


def _memory(pid: int) -> float:
    line = next(each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _until(true: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def _answer(request: ReceivedRequest) -> Scripted:
    """A todo list in each turn, after the time that the prompt names."""
    text = json.dumps(request.body["messages"][0])
    turns, wait = (text.partition(f"{name}=")[2].split('"')[0].split("\\n")[0].split()[0] for name in ("turns", "wait"))
    taken = sum(message["role"] == "assistant" for message in request.body["messages"])
    faults = Faults(pause=float(wait) / 4) if float(wait) else Faults()
    if taken + 1 >= int(turns):
        return reply(ToolUseBlock("done", "attempt_completion", {"result": "Done."}), faults=faults)
    return reply(ToolUseBlock(f"c{taken}", "update_todo_list", {"todos": f"[x] step {taken}"}), faults=faults)


async def _serve() -> None:
    async with LocalServer(_answer) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
