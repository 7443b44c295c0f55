"""What a worker has in the database and not in hand is continued, however it was lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from chaos.postgres import postgres, postgres_programs
from dbos._sys_db import SystemDatabase

from fleet_kit import FleetKit, all_done, by_turn, done, journal_lines, repository, run_command, write
from joey.fleet.fleet import Fleet
from joey.fleet.ledger import FleetTask, Ledger
from joey.testing.script import Scripted
from joey.testing.server import LocalServer, ReceivedRequest

MODEL = by_turn(write(1, "a.txt", "one\n"), run_command(2, "echo two >> b.txt"), done())


@pytest.fixture
def kit(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FleetKit]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    if request.param == "sqlite":
        yield FleetKit(tmp_path)
        return
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; apt-get install postgresql")
    with postgres(programs) as server:
        yield FleetKit(tmp_path, server.new_database())


@dataclass(slots=True)
class Fault:
    """Something that happens once."""

    monkeypatch: pytest.MonkeyPatch
    in_second_turn: Callable[[Fleet], None] | None = None
    happened: list[str] = field(default_factory=list)

    def after(self, owner: type, name: str, error: Exception, number: int) -> None:
        """The call with this number, of those that return something, does its work, and then fails."""
        original = getattr(owner, name)
        calls: list[Any] = []

        def failing(*arguments: Any, **options: Any) -> Any:
            found = original(*arguments, **options)
            if found is None or found == ([], None):
                return found
            calls.append(found)
            if len(calls) == number:
                self.happened.append(name)
                raise error
            return found

        self.monkeypatch.setattr(owner, name, failing)


def claim_without_an_answer(fault: Fault) -> None:
    """The database has written that the task is this worker's, and the connection breaks."""
    gone = sa.exc.OperationalError("COMMIT", {}, sqlite3.OperationalError("server closed the connection unexpectedly"))
    fault.after(SystemDatabase, "start_queued_workflows", gone, 1)


def turn_without_an_answer(fault: Fault) -> None:
    """An error of the database that is not waited for."""
    gone = sa.exc.InternalError("COMMIT", {}, sqlite3.InternalError("the connection is in an unknown state"))
    fault.after(Ledger, "record_turn", gone, 2)


def execution_that_is_cancelled(fault: Fault) -> None:
    def cancel(_fleet: Fleet) -> None:
        for each in asyncio.all_tasks():
            if getattr(each.get_coro(), "__name__", "") == "_execute_workflow_async":
                each.cancel()

    fault.in_second_turn = cancel


def task_that_was_put_back_while_it_ran(fault: Fault) -> None:
    """Somebody took the worker for dead after a crash of the database, and was cut off before it wrote that down."""

    def put_back(fleet: Fleet) -> None:
        (worker,) = fleet.ledger.worker_ids()
        assert fleet.queue.requeue(worker) == 1

    fault.in_second_turn = put_back


FAULTS = [
    ("sqlite", claim_without_an_answer),
    ("postgresql", claim_without_an_answer),
    ("sqlite", turn_without_an_answer),
    ("sqlite", execution_that_is_cancelled),
    ("sqlite", task_that_was_put_back_while_it_ran),
    ("postgresql", task_that_was_put_back_while_it_ran),
]


@pytest.mark.parametrize(("kit", "fault_of"), FAULTS, indirect=["kit"])
async def test_a_task_that_its_worker_lost_is_continued_by_it(
    kit: FleetKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault_of: Callable[[Fault], None]
) -> None:
    fault = Fault(monkeypatch)
    fault_of(fault)
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    with kit.open() as fleet:

        def model(request: ReceivedRequest) -> Scripted:
            if fault.in_second_turn and len(server.requests) == 2:
                fault.happened.append("in the second turn")
                fault.in_second_turn(fleet)
            return MODEL(request)

        async with LocalServer(model) as server:
            kit.server = server
            fleet.add("b", [kit.spec("x", source)])
            await kit.work_until(fleet, lambda: all_done(fleet), slots=1)
        task = fleet.task("b.x")
        assert len(fault.happened) == 1 and (task.outcome, task.turns) == ("completed", 3), task.message
        assert sum('"type":"task_ended"' in line for line in journal_lines(fleet, task)) == 1
        assert sum(turn.turns for turn in fleet.queue.turns("b.x", 1, 1)) == 3


@pytest.mark.parametrize("kit", ["sqlite"], indirect=True)
async def test_a_task_that_is_lost_again_and_again_is_given_up(
    kit: FleetKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_arguments: Any, **_options: Any) -> None:
        raise sa.exc.InternalError("COMMIT", {}, sqlite3.InternalError("the disk is broken"))

    monkeypatch.setattr(Ledger, "record_turn", failing)
    kit.compare_every = 0.1
    task = await ended(kit, tmp_path)
    assert (task.outcome, task.turns) == ("error", 0) and "lost it again and again" in task.message
    assert sum("in the queue again" in line for line in kit.reports) == 5


@pytest.mark.parametrize("kit", ["sqlite"], indirect=True)
async def test_a_step_that_the_engine_cannot_record_ends_its_task_in_words(
    kit: FleetKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine records that instead of what the step returned, so nobody can continue."""
    record = SystemDatabase.record_operation_result
    calls: list[int] = []

    def failing(*arguments: Any, **options: Any) -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            raise ValueError("no room for this")
        record(*arguments, **options)

    monkeypatch.setattr(SystemDatabase, "record_operation_result", failing)
    task = await ended(kit, tmp_path)
    assert (task.state, task.outcome) == ("done", "error") and "no room for this; retry the task" in task.message


async def ended(kit: FleetKit, folder: Path) -> FleetTask:
    """A task after its end."""
    source = repository(folder / "source", {"a.txt": "zero\n"})
    with kit.open() as fleet:
        async with LocalServer(MODEL) as server:
            kit.server = server
            fleet.add("b", [kit.spec("x", source)])
            await kit.work_until(fleet, lambda: all_done(fleet), slots=1)
        return fleet.task("b.x")
