"""Schedules: batches at times, once for each time, and what was missed."""

from __future__ import annotations

import os
import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleet_kit import FleetKit, by_turn, done, repository, worker_process
from joey.errors import UsageError
from joey.fleet.fleet import Fleet
from joey.testing.server import LocalServer

NIGHT = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)


async def test_two_workers_add_each_time_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second, by the real clock, seen by two processes."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    source = repository(tmp_path / "source", {"a.txt": "zero\n"})
    kit, workers = FleetKit(tmp_path), set[str]()

    def both_have_seen_some(fleet: Fleet) -> bool:
        workers.update(fleet.ledger.worker_ids())
        added = len(workers) == 2 and len(fleet.ledger.batches()) >= 3
        return added and any(task.outcome == "completed" for task in fleet.ledger.tasks())

    async with LocalServer(by_turn(done())) as kit.server:
        with kit.open() as fleet:
            fleet.schedule("often", "* * * * * *", [kit.spec("x", source)], 2.5)
            other = await worker_process(kit)
            try:
                await kit.work_until(fleet, lambda: both_have_seen_some(fleet))
            finally:
                fleet.queue.schedules.remove("often")
                os.kill(other.pid, signal.SIGTERM)
                await other.wait()
            names = [batch.name for batch in fleet.ledger.batches()]
            assert all(re.fullmatch(r"often-\d{8}-\d{6}", name) for name in names)
            assert {batch.max_cost for batch in fleet.ledger.batches()} == {2.5}
            assert len(fleet.ledger.tasks()) == len(names) == len({*names})
            assert len(kit.server.requests) <= len(names)


def test_a_time_that_comes_twice_is_added_once(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        fleet.schedule("nightly", "0 3 * * *", [kit.spec("x", Path("/srv/x"))], None)
        (context,) = [each.context for each in fleet.queue.schedules]
        assert [len(fleet.add_scheduled(NIGHT.isoformat(), context).new) for _ in range(2)] == [1, 0]
        assert [task.id for task in fleet.ledger.tasks()] == ["nightly-20260302-030000.x"]


@pytest.mark.parametrize(("catch_up", "days", "added"), [(True, 3, 1), (False, 3, 0), (True, 0, 0)])
def test_of_what_was_missed_the_last_is_made_up_for(tmp_path: Path, catch_up: bool, days: int, added: int) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        fleet.schedule("nightly", "0 3 * * *", [kit.spec("x", Path("/srv/x"))], None, catch_up=catch_up)
        (schedule,) = fleet.queue.schedules
        tomorrow = schedule.next_time(datetime.now(UTC))
        now = tomorrow + timedelta(days=days - 1, hours=2)
        assert schedule.missed(now) == (tomorrow + timedelta(days=days - 1) if added else None)


def test_names_and_times_are_checked_when_they_are_given(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    tasks = [kit.spec("x", Path("/srv/x"))]
    with kit.open() as fleet:
        fleet.schedule("nightly", "0 3 * * *", tasks, None)
        for name, times, words in (
            ("nightly", "0 4 * * *", "there is a schedule 'nightly' already"),
            ("other", "at noon", "'at noon' names no times"),
            ("../x", "0 3 * * *", "cannot be the name of a schedule"),
            ("x" * 70, "0 3 * * *", "cannot be the name of a batch"),
        ):
            with pytest.raises(UsageError, match=words):
                fleet.schedule(name, times, tasks, None)
        fleet.queue.schedules.remove("nightly")
        with pytest.raises(UsageError, match="there is no schedule 'nightly'"):
            fleet.queue.schedules.remove("nightly")
