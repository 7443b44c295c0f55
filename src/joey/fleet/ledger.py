"""What is known of a fleet: batches, tasks, turns, costs, questions, the pace of requests, and workers.

    queued ──a worker begins──► running ──the end──► done (with an outcome)
      ▲                           │
      │ an answer, or its time    │ a question
      └────────── asks ◄──────────┘

A task belongs to the worker whose name is in its row. A worker that was taken for dead and is not finds another name
there, and what it wanted to write is refused (`NotOwnerError`): of two that did the same turn, one counts.

All functions here are one transaction each, and may be called again with the same arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

import sqlalchemy as sa

from joey.fleet import statements
from joey.fleet.database import BATCHES, COMMITS, PACES, TASKS, WORKERS, Database, FleetError
from joey.fleet.spec import TaskSpec

State: TypeAlias = Literal["queued", "running", "asks", "done"]
MAX_DEATHS = 20
"""How many workers may die over a task before it is given up: it may be what kills them."""
_FIRST_DELAY, _MAX_DELAY = 0.1, 2.0
_AT_ONCE = 500
"""Rows that are looked up with one statement."""


class NotOwnerError(FleetError):
    """Another worker has this task by now."""


@dataclass(frozen=True, slots=True)
class FleetTask:
    """A task as its row describes it."""

    id: str
    batch: str
    spec: TaskSpec
    state: State
    outcome: str
    message: str
    attempt: int
    leg: int
    worker: str
    turns: int
    cost: float
    base: str
    head: str
    question: str
    answer: str
    cancel: bool
    deaths: int
    changed: float

    @property
    def workflow(self) -> str:
        """The engine's name for what runs now, or runs next."""
        return workflow_of(self.id, self.attempt, self.leg)

    @property
    def journal(self) -> str:
        """The id of its journal, which is also the name of its folder."""
        return self.id if self.attempt == 1 else f"{self.id}.try{self.attempt}"


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A batch in the list of batches."""

    name: str
    max_cost: float | None
    spent: float
    created: float
    counts: Mapping[str, int]
    """How many tasks are in each state, or have each outcome."""


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A worker that reported for work, and what it does."""

    id: str
    host: str
    slots: int
    started: float
    running: int = 0


@dataclass(frozen=True, slots=True)
class TurnPermit:
    """Whether a task may take its next turn: a reason against it, or how long it must wait."""

    refusal: str = ""
    cancelled: bool = False
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What is known before a turn: whether the task was cancelled, what its batch may cost and did, and until when its
    provider wants no requests."""

    cancel: bool
    max_cost: float | None
    spent: float
    not_before: float


P = ParamSpec("P")
T = TypeVar("T")


def patiently(work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What a worker reads and writes: while the database is away, it waits. Everything here may be done again."""
    delay = _FIRST_DELAY
    while True:
        try:
            return work(*arguments, **options)
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError):
            time.sleep(delay)
            delay = min(_MAX_DELAY, delay * 2)


def workflow_of(task: str, attempt: int, leg: int) -> str:
    return f"{task}/{attempt}.{leg}"


class Ledger:
    """Reads and writes the tables."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._engine = database.engine
        # One statement is one round trip then; SQLite has none to save, and its transactions are set up otherwise.
        reading = {} if database.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._reading = database.engine.execution_options(**reading)
        self._clock = clock

    # Batches and tasks

    def add(
        self,
        batch: str,
        tasks: Sequence[tuple[str, TaskSpec]],
        max_cost: float | None,
        enqueue: Callable[[sa.Connection, str, TaskSpec], None],
    ) -> list[str]:
        """Add the tasks that are not there yet, and put them into the queue; returns their ids."""
        with self._engine.begin() as connection:
            row = self.database.insert(BATCHES).values(name=batch, max_cost=max_cost, spent=0.0, created=self._clock())
            changes = {"max_cost": max_cost} if max_cost is not None else {"name": batch}
            connection.execute(row.on_conflict_do_update(index_elements=["name"], set_=changes))
            there = self._existing(connection, [task_id for task_id, _ in tasks])
            new = [(task_id, spec) for task_id, spec in tasks if task_id not in there]
            for task_id, spec in new:
                connection.execute(
                    sa.insert(TASKS).values(
                        id=task_id, batch=batch, spec=spec.text, state="queued", changed=self._clock()
                    )
                )
                enqueue(connection, workflow_of(task_id, 1, 1), spec)
        return [task_id for task_id, _ in new]

    def _existing(self, connection: sa.Connection, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            found.update(connection.scalars(sa.select(TASKS.c.id).where(TASKS.c.id.in_(some))))
        return found

    def task(self, task_id: str) -> FleetTask | None:
        with self._reading.connect() as connection:
            row = connection.execute(sa.select(TASKS).where(TASKS.c.id == task_id)).mappings().first()
        return _task(row) if row else None

    def tasks(self, batch: str | None = None, states: Iterable[str] = ()) -> list[FleetTask]:
        """The tasks of a batch or of all, in the order of their ids."""
        query = sa.select(TASKS).order_by(TASKS.c.id)
        query = query.where(TASKS.c.batch == batch) if batch else query
        query = query.where(TASKS.c.state.in_(list(states))) if states else query
        with self._reading.connect() as connection:
            return [_task(row) for row in connection.execute(query).mappings()]

    def batches(self) -> list[BatchLine]:
        """All batches, the newest first."""
        what = sa.case((TASKS.c.state == "done", TASKS.c.outcome), else_=TASKS.c.state)
        counted = sa.select(TASKS.c.batch, what, sa.func.count()).group_by(TASKS.c.batch, what)
        counts: dict[str, dict[str, int]] = {}
        with self._reading.connect() as connection:
            for batch, state, count in connection.execute(counted):
                counts.setdefault(batch, {})[state] = count
            rows = connection.execute(sa.select(BATCHES).order_by(BATCHES.c.created.desc())).all()
        return [BatchLine(row.name, row.max_cost, row.spent, row.created, counts.get(row.name, {})) for row in rows]

    # A task in a worker

    def own(self, task_id: str, workflow: str, worker: str) -> FleetTask | None:
        """The task, which is this worker's from now on. None: it is not to run (any more), or not this part of it."""
        with self._engine.begin() as connection:
            attempt, leg = (int(part) for part in workflow.rpartition("/")[2].split("."))
            connection.execute(
                sa.update(TASKS)
                .where(TASKS.c.id == task_id, TASKS.c.state != "done", TASKS.c.attempt == attempt, TASKS.c.leg == leg)
                .values(worker=worker, state="running", changed=self._clock())
            )
            owned = sa.select(TASKS).where(TASKS.c.id == task_id, TASKS.c.worker == worker, TASKS.c.leg == leg)
            row = connection.execute(owned).mappings().first()
        return _task(row) if row and row["state"] == "running" else None

    def record_turn(
        self, task: FleetTask, step: int, *, turns: int, cost: float, commit: tuple[str, str, bytes] | None, place: str
    ) -> TurnLimits:
        """Write down what a turn took and changed; what holds for the next one. Raises NotOwnerError."""
        with self._engine.begin() as connection:
            before = self._turn_before(connection, task.workflow, step, turns, cost)
            spent = {"the_cost": cost - before[1], "the_batch": task.batch}
            owner = {"the_task": task.id, "the_worker": task.worker, "the_leg": task.leg}
            taken = {"the_turns": turns - before[0], "the_cost": cost - before[1], "the_time": self._clock()}
            head = {"the_head": commit[0] if commit else None}
            _check_owner(task, connection.execute(statements.COUNT_TURN, {**owner, **taken, **head}))
            if spent["the_cost"]:
                connection.execute(statements.SPEND, spent)
            if commit is not None:
                sha, parent, pack = commit
                kept = self.database.insert(COMMITS).values(task=task.journal, sha=sha, parent=parent, pack=pack)
                connection.execute(kept.on_conflict_do_nothing())
            return _limits(connection, task, place)

    def _turn_before(
        self, connection: sa.Connection, workflow: str, step: int, turns: int, cost: float
    ) -> tuple[int, float]:
        """Write down a turn; what was written down for it before, by somebody who did not come to record its step."""
        values = {"the_workflow": workflow, "the_step": step, "the_turns": turns, "the_cost": cost}
        if connection.execute(statements.ADD_TURN[self._engine.dialect.name], values).first() is not None:
            return 0, 0.0
        before = connection.execute(statements.READ_TURN, values).one()
        connection.execute(statements.CHANGE_TURN, values)
        return before.turns, before.cost

    def note_base(self, task: FleetTask, base: str) -> None:
        mine = (TASKS.c.id == task.id) & (TASKS.c.worker == task.worker) & (TASKS.c.leg == task.leg)
        with self._engine.begin() as connection:
            _check_owner(task, connection.execute(sa.update(TASKS).where(mine).values(base=base)))

    def finish(self, task_id: str, workflow: str, outcome: str, message: str) -> None:
        """The one outcome of a task."""
        attempt, leg = (int(part) for part in workflow.rpartition("/")[2].split("."))
        with self._engine.begin() as connection:
            connection.execute(
                sa.update(TASKS)
                .where(TASKS.c.id == task_id, TASKS.c.state != "done", TASKS.c.attempt == attempt, TASKS.c.leg == leg)
                .values(state="done", outcome=outcome, message=message, worker="", question="", changed=self._clock())
            )

    def park(
        self, task_id: str, workflow: str, question: str, enqueue: Callable[[sa.Connection, str, TaskSpec], None]
    ) -> None:
        """The task waits for a person. Its next part is in the queue already, for when the answer or its time comes."""
        attempt, leg = (int(part) for part in workflow.rpartition("/")[2].split("."))
        with self._engine.begin() as connection:
            row = connection.execute(sa.select(TASKS).where(TASKS.c.id == task_id)).one()
            if row.state == "done" or (row.attempt, row.leg) != (attempt, leg):
                return  # it was done before, and the engine did not come to write that down
            waits = {"state": "asks", "question": question, "answer": "", "leg": leg + 1, "worker": ""}
            connection.execute(sa.update(TASKS).where(TASKS.c.id == task_id).values(**waits, changed=self._clock()))
            enqueue(connection, workflow_of(task_id, attempt, leg + 1), TaskSpec.read(row.spec))

    def commits(self, journal: str, head: str) -> list[tuple[str, bytes]]:
        """The commits of a task up to one of them, the oldest first, each with what it adds."""
        with self._reading.connect() as connection:
            rows = connection.execute(sa.select(COMMITS).where(COMMITS.c.task == journal)).all()
        by_sha = {row.sha: row for row in rows}
        chain: list[tuple[str, bytes]] = []
        while head in by_sha:
            row = by_sha.pop(head)
            chain.append((row.sha, row.pack))
            head = row.parent
        return chain[::-1]

    # What people want of it

    def answer(self, task: FleetTask, answer: str) -> bool:
        """Keep an answer for the part of the task that waits for it; the first counts. False: it does not wait."""
        return self._change(task, ("asks",), {"answer": answer}, TASKS.c.answer == "")

    def cancel(self, task: FleetTask) -> bool:
        """End a task that does not run, at once; True if that was so. One that runs is ended by its worker."""
        with self._engine.begin() as connection:
            connection.execute(sa.update(TASKS).where(TASKS.c.id == task.id).values(cancel=True))
        ended = {"state": "done", "outcome": "cancelled", "message": "cancelled by the user", "question": ""}
        return self._change(task, ("queued", "asks"), ended)

    def retry(
        self, task: FleetTask, spec: TaskSpec, *, again: bool, enqueue: Callable[[sa.Connection, str, TaskSpec], None]
    ) -> bool:
        """Put a task that ended into the queue again: to continue, or with `again` from the beginning."""
        attempt, leg = (task.attempt + 1, 1) if again else (task.attempt, task.leg + 1)
        values: dict[str, Any] = {
            "attempt": attempt,
            "leg": leg,
            "spec": spec.text,
            "deaths": 0,
            "answer": "",
            "question": "",
        }
        values |= {"base": "", "head": ""} if again else {}
        with self._engine.begin() as connection:
            changed = sa.update(TASKS).where(TASKS.c.id == task.id, TASKS.c.state == "done", TASKS.c.leg == task.leg)
            values |= {"state": "queued", "outcome": "", "message": "", "cancel": False, "changed": self._clock()}
            if connection.execute(changed.values(**values)).rowcount != 1:
                return False
            enqueue(connection, workflow_of(task.id, attempt, leg), spec)
        return True

    def set_max_cost(self, batch: str, max_cost: float) -> None:
        with self._engine.begin() as connection:
            connection.execute(sa.update(BATCHES).where(BATCHES.c.name == batch).values(max_cost=max_cost))

    def _change(
        self, task: FleetTask, states: Sequence[str], values: Mapping[str, Any], *more: sa.ColumnElement[bool]
    ) -> bool:
        there = sa.and_(TASKS.c.id == task.id, TASKS.c.state.in_(states), TASKS.c.leg == task.leg, *more)
        with self._engine.begin() as connection:
            done = connection.execute(sa.update(TASKS).where(there).values(**values, changed=self._clock()))
        return done.rowcount == 1

    # Before a turn

    def limits(self, task: FleetTask, place: str) -> TurnLimits:
        """What may hold back the next turn."""
        with self._reading.connect() as connection:
            return _limits(connection, task, place)

    def permit(
        self, task: FleetTask, place: str, per_minute: float | None, limits: TurnLimits | None = None
    ) -> TurnPermit:
        """Whether the next turn may begin: not for a task that was cancelled, nor beyond the cost of its batch; and not
        before the time that somebody heard from the provider.

        With a rate, a turn takes the next free time: the row is a bucket of one token, which all workers share."""
        limits, now = limits or self.limits(task, place), self._clock()
        if limits.cancel:
            return TurnPermit(cancelled=True)
        if limits.max_cost is not None and limits.spent >= limits.max_cost:
            return TurnPermit(f"the batch {task.batch} reached its limit of ${limits.max_cost:g}")
        if limits.not_before > now:
            return TurnPermit(wait=limits.not_before - now)
        return TurnPermit(wait=self._reserve(place, now, 60.0 / per_minute) if per_minute else 0.0)

    def _reserve(self, place: str, now: float, apart: float) -> float:
        """Take the next time at which a request may go; the seconds until then."""
        first = self.database.insert(PACES).values(place=place, not_before=0.0, next_at=now + apart)
        later = sa.case((PACES.c.next_at > now, PACES.c.next_at), else_=now) + apart
        taken = first.on_conflict_do_update(index_elements=["place"], set_={"next_at": later}).returning(
            PACES.c.next_at
        )
        with self._engine.begin() as connection:
            return max(0.0, float(connection.execute(taken).scalar_one()) - apart - now)

    def hold_back(self, place: str, seconds: float) -> None:
        """A provider wants to be left alone: nobody sends there before."""
        until = self._clock() + seconds
        row = self.database.insert(PACES).values(place=place, not_before=until, next_at=0.0)
        latest = sa.case((PACES.c.not_before > until, PACES.c.not_before), else_=until)
        with self._engine.begin() as connection:
            connection.execute(row.on_conflict_do_update(index_elements=["place"], set_={"not_before": latest}))

    # Workers

    def report_for_work(self, worker: WorkerLine) -> None:
        row = self.database.insert(WORKERS).values(
            id=worker.id, host=worker.host, slots=worker.slots, started=worker.started
        )
        with self._engine.begin() as connection:
            connection.execute(row.on_conflict_do_nothing())

    def workers(self) -> list[WorkerLine]:
        running = (
            sa.select(TASKS.c.worker, sa.func.count().label("running"))
            .where(TASKS.c.state == "running")
            .group_by(TASKS.c.worker)
            .subquery()
        )
        query = sa.select(WORKERS, sa.func.coalesce(running.c.running, 0).label("running"))
        query = query.outerjoin(running, running.c.worker == WORKERS.c.id).order_by(WORKERS.c.started)
        with self._reading.connect() as connection:
            return [WorkerLine(*row) for row in connection.execute(query)]

    def worker_ids(self) -> list[str]:
        with self._reading.connect() as connection:
            return list(connection.scalars(sa.select(WORKERS.c.id)))

    def to_cancel(self, worker: str) -> list[str]:
        """The tasks that this worker runs and somebody cancelled."""
        mine = (TASKS.c.worker == worker) & (TASKS.c.state == "running") & TASKS.c.cancel
        with self._reading.connect() as connection:
            return list(connection.scalars(sa.select(TASKS.c.id).where(mine)))

    def release(self, worker: str, *, died: bool) -> list[str]:
        """A worker is gone: its tasks wait in the queue again, and its row is removed. Returns the workflows of those
        to give up."""
        running = (TASKS.c.worker == worker) & (TASKS.c.state == "running")
        values: dict[str, Any] = {"state": "queued", "worker": ""}
        if died:
            values["deaths"] = TASKS.c.deaths + 1
        with self._engine.begin() as connection:
            dead = sa.select(TASKS).where(running, TASKS.c.deaths >= MAX_DEATHS)
            hopeless = connection.execute(dead).mappings().all()
            connection.execute(sa.update(TASKS).where(running).values(**values))
            connection.execute(sa.delete(WORKERS).where(WORKERS.c.id == worker))
        return [_task(row).workflow for row in hopeless]


def _task(row: sa.RowMapping) -> FleetTask:
    return FleetTask(**{**row, "spec": TaskSpec.read(row["spec"])})


def _limits(connection: sa.Connection, task: FleetTask, place: str) -> TurnLimits:
    row = connection.execute(statements.LIMITS, {"the_task": task.id, "the_place": place}).one()
    return TurnLimits(row.cancel, row.max_cost, row.spent, row.not_before or 0.0)


def _check_owner(task: FleetTask, changed: sa.CursorResult[Any]) -> None:
    if changed.rowcount != 1:
        raise NotOwnerError(f"task {task.id} is another worker's by now")
