"""Whole tasks on workers: to their end, through questions, deaths, limits, and on another machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from chaos.postgres import Postgres, postgres, postgres_programs

from fleet_kit import (
    FleetKit,
    all_done,
    by_turn,
    done,
    journal_lines,
    repository,
    run_command,
    states,
    worker_process,
    write,
)
from joey.errors import UsageError
from joey.fleet import results
from joey.fleet.database import PACES
from joey.fleet.fleet import Fleet
from joey.fleet.repositories import Mirror
from joey.testing.script import Failure, Faults, Scripted, reply
from joey.testing.server import LocalServer, ReceivedRequest

ONE_DATABASE = pytest.mark.parametrize("kit", ["sqlite"], indirect=True)
"""For what test_ledger.py tries on both."""
MODEL = by_turn(write(1, "a.txt", "one\n"), run_command(2, "echo two >> b.txt"), done())


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[Postgres]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; apt-get install postgresql")
    with postgres(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FleetKit]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    if request.param == "sqlite":
        yield FleetKit(tmp_path)
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    yield FleetKit(tmp_path, server.new_database())


@pytest.fixture
async def served(kit: FleetKit) -> AsyncIterator[FleetKit]:
    async with LocalServer(MODEL) as server:
        kit.server = server
        yield kit


async def test_tasks_run_to_their_end_and_their_results_are_patches(served: FleetKit, tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    with served.open() as fleet:
        added = fleet.add("batch", [served.spec(name, source) for name in ("x", "y", "z")])
        assert (len(added.new), fleet.add("batch", [served.spec("x", source)]).known) == (3, 1)
        assert await served.work_until(fleet, lambda: all_done(fleet)) == 0
        assert states(fleet) == {"batch.x": "completed", "batch.y": "completed", "batch.z": "completed"}
        made = [*results.patches(fleet, "batch", tmp_path / "out")]
        text = (tmp_path / "out" / "batch.x.patch").read_text()
        assert len(made) == 3 and "+one" in text and "+two" in text
        (task, *_) = fleet.named("batch.x")
        lines = journal_lines(fleet, task)
        turns = fleet.queue.turns("batch.x", 1, 1)
        assert sum('"type":"task_ended"' in line for line in lines) == 1
        assert sum(turn.turns for turn in turns) == task.turns == 3
        costs = [json.loads(line)["cost"] or 0.0 for line in lines if line.startswith('{"type":"turn_ended"')]
        assert task.cost == pytest.approx(sum(costs)) and task.cost > 0
        assert fleet.ledger.batches()[0].spent == pytest.approx(3 * sum(costs))
        assert fleet.ledger.workers() == []


async def test_a_question_waits_without_a_slot_and_its_answer_continues_on_another_machine(
    served: FleetKit, tmp_path: Path
) -> None:
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    settings = {"approvals.profile": "edits"}
    with served.open() as fleet:
        fleet.add("b", [served.spec(name, source, settings=settings) for name in ("x", "y")])
        await served.work_until(fleet, lambda: set(states(fleet).values()) == {"asks"}, slots=1)
        with pytest.raises(UsageError, match="answer yes or no"):
            fleet.answer("b.x", "perhaps")
        fleet.answer("b.x", "yes")
        fleet.answer("b.y", "no, not here")
    if served.url is None:
        shutil.rmtree(tmp_path / "one" / "tasks")
        shutil.rmtree(tmp_path / "one" / "clones")
        shutil.rmtree(tmp_path / "one" / "mirrors")
    with served.open("two" if served.url else "one") as fleet:
        await served.work_until(fleet, lambda: all_done(fleet))
        assert states(fleet) == {"b.x": "completed", "b.y": "completed"}, [
            task.message for task in fleet.ledger.tasks()
        ]
        assert files_of(fleet, "b.x") == {"a.txt": "one\n", "b.txt": "two\n"}
        assert files_of(fleet, "b.y") == {"a.txt": "one\n"}
        assert not (fleet.database.works / "b.x").exists()
        assert any("not here" in line for line in journal_lines(fleet, fleet.task("b.y")))
        assert [task.turns for task in fleet.ledger.tasks()] == [3, 3]
    assert served.server is not None and len(served.server.requests) == 6


async def test_a_killed_worker_is_noticed_and_no_recorded_turn_is_done_again(served: FleetKit, tmp_path: Path) -> None:
    """A real process, killed in its second turn: a command that waits."""
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    flag = tmp_path / "begun"
    slow = run_command(2, f"echo x >> trace.txt; touch {flag}; sleep 60")
    model = by_turn(write(1, "a.txt", "one\n"), slow, done())
    async with LocalServer(model) as server:
        served.server = server
        with served.open() as fleet:
            fleet.add("b", [served.spec("x", source)])
            victim = await worker_process(served)
            await until(flag.exists)
            os.kill(victim.pid, signal.SIGKILL)
            await victim.wait()
            await served.work_until(fleet, lambda: all_done(fleet))
            task = fleet.task("b.x")
            assert (task.outcome, task.turns, task.deaths) == ("completed", 3, 1)
            assert len(server.requests) == 3
            assert files_of(fleet, "b.x")["trace.txt"] == "x\n"
            assert any("worker" in line and "is gone" in line for line in served.reports)
            assert sum('"type":"task_ended"' in line for line in journal_lines(fleet, task)) == 1


def files_of(fleet: Fleet, task_id: str) -> dict[str, str]:
    """The files of a task's result."""
    task = fleet.task(task_id)
    mirror = Mirror.of(task.spec.repository, fleet.database.folder / "mirrors")
    names = mirror.git("ls-tree", "-r", "--name-only", task.head).split()
    return {name: mirror.git("show", f"{task.head}:{name}") for name in names}


async def until(true: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@ONE_DATABASE
async def test_a_batch_stops_at_its_budget_and_continues_with_another(served: FleetKit, tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    with served.open() as fleet:
        fleet.add("b", [served.spec("x", source)], budget=0.0)
        await served.work_until(fleet, lambda: all_done(fleet))
        task = fleet.task("b.x")
        assert (task.outcome, task.message) == ("limit", "the batch b reached its limit of $0")
        assert served.server is not None and not served.server.requests
        assert fleet.retry("b", settings={}, budget=5.0) == ["b.x"]
        await served.work_until(fleet, lambda: all_done(fleet))
        assert fleet.task("b.x").outcome == "completed"


@ONE_DATABASE
async def test_tasks_are_cancelled_in_the_queue_and_while_they_run(served: FleetKit, tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})

    def model(request: ReceivedRequest) -> Scripted:
        return reply("Thinking for long…" * 50, faults=Faults(pause=0.2))

    async with LocalServer(model) as server:
        served.server = server
        with served.open() as fleet:
            fleet.add("b", [served.spec(name, source) for name in ("x", "y")])
            cancelled: list[tuple[int, int]] = []

            def running_then_cancelled() -> bool:
                if "running" in states(fleet).values() and server.requests and not cancelled:
                    cancelled.append(fleet.cancel("b"))
                return all_done(fleet)

            await served.work_until(fleet, running_then_cancelled, slots=1)
            assert cancelled == [(1, 1)]
            assert set(states(fleet).values()) == {"cancelled"}
            assert fleet.retry("b", settings={}, again=True) == ["b.x", "b.y"]
            assert {task.journal for task in fleet.ledger.tasks()} == {"b.x.try2", "b.y.try2"}


@ONE_DATABASE
async def test_a_429_that_one_task_meets_holds_back_the_others(served: FleetKit, tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    answers = iter([Failure(429, "slow down", headers={"retry-after": "2"})])

    def model(request: ReceivedRequest) -> Scripted:
        return next(answers, None) or MODEL(request)

    async with LocalServer(model) as server:
        served.server = server
        with served.open() as fleet:
            fleet.add("b", [served.spec("x", source)])
            await served.work_until(fleet, lambda: all_done(fleet))
            assert fleet.task("b.x").outcome == "completed", fleet.task("b.x").message
            assert held_back(fleet) > 0


def held_back(fleet: Fleet) -> float:
    with fleet.database.engine.connect() as connection:
        return float(connection.scalar(sa.select(PACES.c.not_before)) or 0.0)
