"""Batches that are added again and again, at times as cron has them, in UTC.

Every worker looks at the clock; whoever is first puts a time into the engine's queue, under a name made of the schedule
and the time, so that each time counts once. A time at which no worker ran is skipped. With `catch_up` the last one that
was missed is made up for when a worker starts, and only that one: after a week off, a nightly batch is added once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from croniter import croniter  # type: ignore[import-untyped]
from dbos import DBOSClient, error

from joey.errors import UsageError

SCHEDULED = "joey_scheduled_batch"
_INSTANT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is added when."""

    name: str
    times: str
    context: str
    """What `Fleet.add_scheduled` needs, as JSON. In it, `since` is when the schedule was made, and `catch_up` whether a
    time that was missed is made up for."""
    last: datetime | None

    def next_time(self, now: datetime) -> datetime:
        found: datetime = self._from(now).get_next(datetime)
        return found

    def missed(self, now: datetime) -> datetime | None:
        """The last time before now, if it came and nobody saw it, and it is to be made up for."""
        context: dict[str, Any] = json.loads(self.context)
        if not context.get("catch_up"):
            return None
        before: datetime = self._from(now).get_prev(datetime)
        known = self.last or datetime.fromisoformat(context["since"])
        return before if before > known else None

    def _from(self, now: datetime) -> croniter:
        return croniter(self.times, now, second_at_beginning=True)


class Schedules:
    """The schedules of a fleet."""

    def __init__(self, client: DBOSClient) -> None:
        self._client = client

    def __iter__(self) -> Iterator[Schedule]:
        for each in self._client.list_schedules():
            last = datetime.fromisoformat(each["last_fired_at"]) if each["last_fired_at"] else None
            yield Schedule(each["schedule_name"], each["schedule"], each["context"], last)

    def add(self, name: str, times: str, context: str) -> None:
        if name in [each.name for each in self]:
            raise UsageError(f"there is a schedule {name!r} already; `joey fleet unschedule {name}` removes it")
        try:
            self._client.create_schedule(schedule_name=name, workflow_name=SCHEDULED, schedule=times, context=context)
        except error.DBOSException:
            raise UsageError(
                f'{times!r} names no times; write minute, hour, day, month and weekday, such as "0 6 * * 1-5"'
            ) from None

    def remove(self, name: str) -> None:
        if name not in [each.name for each in self]:
            raise UsageError(f"there is no schedule {name!r}; `joey fleet schedules` lists them")
        self._client.delete_schedule(name)

    def catch_up(self, now: datetime | None = None) -> list[str]:
        """Make up for what was missed, once for all workers; the names of the schedules."""
        now = now or datetime.now(UTC)
        found = [(each.name, missed) for each in self if (missed := each.missed(now))]
        for name, missed in found:
            self._client.backfill_schedule(name, missed - _INSTANT, missed + _INSTANT)
        return [name for name, _ in found]
