"""What is known of a fleet: who owns a task, what it cost, when a turn may begin, and who is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.postgres import postgres, postgres_programs

from fleet_kit import FleetKit
from joey.fleet.fleet import Fleet
from joey.fleet.ledger import MAX_DEATHS, FleetTask, Ledger, NotOwnerError, WorkerLine, patiently


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    kit = FleetKit(tmp_path_factory.mktemp("fleet"))
    if request.param == "sqlite":
        with kit.open() as fleet:
            yield fleet
        return
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; apt-get install postgresql")
    with postgres(programs) as server:
        kit.url = server.new_database()
        with kit.open() as fleet:
            yield fleet


@pytest.fixture
def task(fleet: Fleet, request: pytest.FixtureRequest) -> FleetTask:
    """A task that the worker `one` has."""
    batch = request.node.name.partition("[")[0][:60]
    fleet.add(batch, [FleetKit(Path("/")).spec("x", Path("/srv/x"))], budget=1.0)
    return owned(fleet, fleet.task(f"{batch}.x"), "one")


def owned(fleet: Fleet, task: FleetTask, worker: str) -> FleetTask:
    mine = fleet.ledger.own(task.id, task.workflow, worker)
    assert mine is not None
    return mine


def spent(fleet: Fleet, task: FleetTask) -> float:
    return next(each.spent for each in fleet.ledger.batches() if each.name == task.batch)


def test_a_turn_that_is_written_down_twice_counts_once_as_the_last(fleet: Fleet, task: FleetTask) -> None:
    fleet.ledger.record_turn(task, 1, turns=1, cost=0.25, commit=("b", "a", b"pack"), place="p")
    fleet.ledger.record_turn(task, 1, turns=1, cost=0.5, commit=("c", "a", b"pack"), place="p")
    fleet.ledger.record_turn(task, 2, turns=2, cost=0.125, commit=("d", "c", b"more"), place="p")
    now = fleet.task(task.id)
    assert (now.turns, now.cost, now.head, spent(fleet, task)) == (3, 0.625, "d", 0.625)
    assert fleet.ledger.commits(task.journal, "d") == [("c", b"pack"), ("d", b"more")]


def test_only_the_owner_writes(fleet: Fleet, task: FleetTask) -> None:
    other = owned(fleet, task, "two")
    with pytest.raises(NotOwnerError):
        fleet.ledger.record_turn(task, 1, turns=1, cost=9.0, commit=None, place="p")
    assert spent(fleet, task) == 0
    fleet.ledger.record_turn(other, 1, turns=1, cost=0.5, commit=None, place="p")
    assert fleet.task(task.id).cost == 0.5


def test_a_turn_must_not_begin_beyond_the_budget_or_after_a_cancellation(fleet: Fleet, task: FleetTask) -> None:
    assert fleet.ledger.permit(task, "p", None).refusal == ""
    fleet.ledger.record_turn(task, 1, turns=1, cost=1.5, commit=None, place="p")
    assert "reached its limit of $1" in fleet.ledger.permit(task, "p", None).refusal
    assert not fleet.ledger.cancel(fleet.task(task.id))
    assert fleet.ledger.permit(task, "p", None).cancelled
    assert fleet.ledger.to_cancel("one") == [task.id]


def test_all_wait_for_the_time_that_one_has_heard_of(fleet: Fleet, task: FleetTask) -> None:
    now = 1000.0
    ledger = Ledger(fleet.database, lambda: now)
    ledger.hold_back("place", 30)
    ledger.hold_back("place", 10)
    assert ledger.permit(task, "place", None).wait == 30
    assert ledger.permit(task, "elsewhere", None).wait == 0
    now = 1031.0
    assert ledger.permit(task, "place", None).wait == 0


def test_turns_are_spread_over_the_minute(fleet: Fleet, task: FleetTask) -> None:
    now = 5000.0
    ledger = Ledger(fleet.database, lambda: now)
    assert [ledger.permit(task, "spread", 30).wait for _ in range(3)] == [0, 2, 4]
    now = 5100.0
    assert ledger.permit(task, "spread", 30).wait == 0


def test_the_tasks_of_a_worker_that_is_gone_wait_again(fleet: Fleet, task: FleetTask) -> None:
    owned(fleet, task, "gone")
    fleet.ledger.report_for_work(WorkerLine("gone", "host", 1, 0.0))
    for death in range(MAX_DEATHS):
        assert fleet.ledger.release("gone", died=True) == []
        now = fleet.task(task.id)
        assert (now.state, now.worker, now.deaths) == ("queued", "", death + 1)
        owned(fleet, task, "gone")
    assert "gone" not in fleet.ledger.worker_ids()
    assert fleet.ledger.release("gone", died=True) == [task.workflow]


def test_a_task_has_one_outcome(fleet: Fleet, task: FleetTask) -> None:
    fleet.ledger.finish(task.id, task.workflow, "completed", "Done.")
    fleet.ledger.finish(task.id, task.workflow, "error", "No.")
    assert fleet.task(task.id).message == "Done."
    assert fleet.ledger.own(task.id, task.workflow, "two") is None


def test_while_the_database_is_away_a_worker_waits() -> None:
    import sqlalchemy as sa

    answers = iter([sa.exc.OperationalError("SELECT 1", {}, Exception("gone")), None])

    def read() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "back"

    assert patiently(read) == "back"
