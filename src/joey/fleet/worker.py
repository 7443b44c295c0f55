"""A worker: a process that takes tasks from the queue, and does what its steps need.

Beside the tasks a thread looks twice a second whether this worker still holds its lock, whose lock can be had, and
which of its tasks somebody cancelled. It talks to the database by itself, so a database that is away for a while holds
up nothing but that.

A worker that stops suspends its tasks, which end what they started and close their journals, and puts them back into
the queue. One that was taken for dead while it was cut off stops without the latter: its tasks are others' by now.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from joey.errors import JoeyError
from joey.fleet.database import Database, FleetError
from joey.fleet.engine import Engine, QueueClient
from joey.fleet.fleet import Fleet
from joey.fleet.ledger import FleetTask, Ledger, NotOwnerError, WorkerLine, patiently
from joey.fleet.liveness import Locks, locks_of
from joey.fleet.recorded import RecordedTurn
from joey.fleet.session import Reply, Session, WorkerSetting
from joey.fleet.spec import TaskSpec
from joey.task.unexpected import write_down

_LOOK_EVERY = 0.5
_STOP_SECONDS = 20.0
EXIT_TAKEN_OVER = 75
"""What a worker exits with that was cut off, and whose tasks are others' by now: it can be started again."""


def new_worker_id() -> str:
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{token_hex(3)}"


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works."""

    slots: int = 10
    per_minute: float | None = None
    report: Callable[[str], None] = lambda _line: None


class Worker:
    """The steps of workflows, with the sessions of the tasks that are open here."""

    def __init__(self, database: Database, queue: QueueClient, options: WorkerOptions) -> None:
        self.id = new_worker_id()
        self._database = database
        self._queue = queue
        self._options = options
        self._ledger = Ledger(database)
        mirrors = database.folder / "mirrors"
        self._setting = WorkerSetting(self._ledger, database.tasks, database.works, mirrors, options.per_minute)
        self._sessions: dict[str, Session] = {}
        self._ids: dict[str, str] = {}
        self._stopped = asyncio.Event()
        self._taken_over = False

    # A worker's life

    async def run(self) -> int:
        """Work until `stop`; returns an exit code."""
        locks = locks_of(self._database, self.id)
        if not await asyncio.to_thread(locks.hold):
            raise FleetError("cannot hold the lock of this worker; check the database and its folder, then try again")
        me = WorkerLine(self.id, socket.gethostname(), self._options.slots, time.time())
        await asyncio.to_thread(self._ledger.report_for_work, me)
        self._queue.make_queue()
        engine = Engine(self._database, self.id, self._options.slots, self)
        loop, over = asyncio.get_running_loop(), threading.Event()
        watcher = threading.Thread(target=self._look_around, args=(locks, loop, over), daemon=True)
        engine.start()
        watcher.start()
        self._options.report(f"worker {self.id} works, {self._options.slots} tasks at once")
        for name in await asyncio.to_thread(patiently, self._queue.schedules.catch_up):
            self._options.report(f"schedule {name}: its last time was missed, and is made up for")
        await self._stopped.wait()
        over.set()
        suspended = [asyncio.create_task(session.suspend()) for session in [*self._sessions.values()]]
        if suspended:
            await asyncio.wait(suspended, timeout=_STOP_SECONDS)
        if self._taken_over:
            return EXIT_TAKEN_OVER  # what waits for the database may wait long; whoever called this ends the process
        await asyncio.to_thread(watcher.join)
        await asyncio.to_thread(self._hand_back)
        await asyncio.to_thread(engine.stop)
        loop.set_default_executor(ThreadPoolExecutor())  # the engine's own was the loop's, and ended with it
        locks.close()
        return 0

    def stop(self) -> None:
        self._stopped.set()

    def _hand_back(self) -> None:
        """Others need not wait until they notice that this worker is gone."""
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            self._queue.requeue(self.id)
            self._ledger.release(self.id, died=False)

    # Beside the tasks

    def _look_around(self, locks: Locks, loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
        while not over.wait(_LOOK_EVERY):
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                if not locks.hold():
                    continue
                workers = self._ledger.worker_ids()
                if self.id not in workers:
                    self._taken_over = True
                    self._options.report("this worker was cut off, and others have its tasks now; start it again")
                    loop.call_soon_threadsafe(self.stop)
                    return
                if locks.may_judge():
                    for each in workers:
                        if each != self.id:
                            self._take_over(each, locks)
                for task_id in self._ledger.to_cancel(self.id):
                    loop.call_soon_threadsafe(self._cancel, task_id)

    def _take_over(self, worker: str, locks: Locks) -> None:
        with locks.taken(worker) as dead:
            if not dead:
                return
            found = self._queue.requeue(worker)
            hopeless = self._ledger.release(worker, died=True)
            for task_id in hopeless:
                self._give_up(task_id)
            self._options.report(f"worker {worker} is gone; {found} of its tasks are in the queue again")

    def _give_up(self, task_id: str) -> None:
        task = self._ledger.task(task_id)
        if task is not None:
            self._queue.cancel(task.workflow)
            reason = f"{task.deaths} workers died while they had this task; look at what it runs, then retry it"
            self._ledger.finish(task_id, task.workflow, "error", reason)

    def _cancel(self, task_id: str) -> None:
        session = self._sessions.get(self._ids.get(task_id, ""))
        if session is not None:
            session.cancel()

    # The steps

    async def begin(self, task_id: str, workflow: str) -> dict[str, Any] | None:
        task = await asyncio.to_thread(patiently, self._ledger.own, task_id, workflow, self.id)
        return None if task is None else {"question": task.question, "answer": task.answer}

    async def turn(
        self, task_id: str, workflow: str, begun: dict[str, Any], step: int, before: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        try:
            session = self._sessions.get(workflow) or await self._open(task_id, workflow, begun, before)
            turn = await session.next_turn(step)
        except NotOwnerError:
            await self._close(workflow)
            raise
        except JoeyError as error:
            await self._close(workflow)
            turn = RecordedTurn({}, outcome="error", message=str(error))
        except Exception as error:  # noqa: BLE001 - a bug ends one task in words, not the worker
            await self._close(workflow)
            why = write_down(error, self._setting.folder)
            turn = RecordedTurn({}, outcome="error", message=f"the task failed unexpectedly: {why}")
        return turn.encoded()

    async def _open(
        self, task_id: str, workflow: str, begun: dict[str, Any], before: Sequence[dict[str, Any]]
    ) -> Session:
        task = await asyncio.to_thread(patiently, self._ledger.own, task_id, workflow, self.id)
        if task is None:
            raise NotOwnerError(f"task {task_id} is not to run any more")
        earlier = await asyncio.to_thread(patiently, self._queue.turns, task.id, task.attempt, task.leg - 1)
        recorded = [*earlier, *map(RecordedTurn.decoded, before)]
        reply = Reply(begun["question"], begun["answer"]) if begun["question"] and not before else None
        session = Session(self._setting, task, recorded, reply)
        self._sessions[workflow], self._ids[task_id] = session, workflow
        self._options.report(_opened_line(task, len(before)))
        await session.open()
        return session

    async def _close(self, workflow: str) -> None:
        session = self._sessions.pop(workflow, None)
        if session is not None:
            with contextlib.suppress(Exception):
                await session.suspend()

    async def park(self, task_id: str, workflow: str, request: str) -> None:
        def enqueue(connection: sa.Connection, next_workflow: str, spec: TaskSpec) -> None:
            self._queue.enqueue(connection, next_workflow, spec, delay=spec.answer_hours * 3600)

        await asyncio.to_thread(patiently, self._ledger.park, task_id, workflow, request, enqueue)
        self._options.report(f"{task_id}  waits for an answer")

    async def finish(self, task_id: str, workflow: str, outcome: str, message: str) -> None:
        await asyncio.to_thread(patiently, self._ledger.finish, task_id, workflow, outcome, message)
        if outcome == "completed":
            await asyncio.to_thread(self._remove_clone, task_id)
        self._options.report(f"{task_id}  {outcome}")

    def _remove_clone(self, task_id: str) -> None:
        """The result is in the database; the clone of a task that was not completed stays, for people to look at."""
        task = patiently(self._ledger.task, task_id)
        if task is not None and not task.spec.folder:
            shutil.rmtree(self._setting.clones / task.journal, ignore_errors=True)

    async def add_scheduled(self, at: str, context: str) -> None:
        added = await asyncio.to_thread(patiently, Fleet(self._database, self._queue).add_scheduled, at, context)
        self._options.report(f"schedule: {len(added.new)} tasks added")

    def forget(self, workflow: str) -> None:
        self._sessions.pop(workflow, None)


def _opened_line(task: FleetTask, recorded: int) -> str:
    how = f"continues after turn {task.turns}" if recorded or task.turns else "begins"
    return f"{task.id}  {how}"
