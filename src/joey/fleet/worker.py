"""A worker: a process that takes tasks from the queue, and does what its steps need.

Beside the tasks a thread looks twice a second whether this worker still holds its lock, whose lock can be had, and
which of its tasks somebody cancelled; every few seconds, whether it really runs what the database says is its own,
and puts the rest back into the queue. It talks to the database by itself, so a database that is away for a while holds
up nothing but that.

A worker that stops suspends its tasks, which end what they started and close their journals, and puts them back into
the queue. One that was taken for dead while it was cut off stops without the latter: its tasks are others' by now.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from secrets import token_hex

import sqlalchemy as sa

from joey.fleet.database import Database, FleetError
from joey.fleet.engine import FleetEngine, QueueClient
from joey.fleet.fleet import Fleet
from joey.fleet.ledger import MAX_DEATHS, Ledger, WorkerLine, patiently
from joey.fleet.liveness import Locks, locks_of
from joey.fleet.part import Part, PartSetting
from joey.fleet.session import WorkerSetting
from joey.system.signals import handled_signals

_LOOK_EVERY = 0.5
_STOP_SECONDS = 20.0
_MAX_RESUMED = 5
"""How often a worker puts a part that it lost back into the queue."""
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
    compare_every: float = 5.0
    """Seconds after which a worker compares the tasks that are its own in the database with those it has in hand."""


class Worker:
    """The steps of workflows, with the sessions of the tasks that are open here."""

    def __init__(self, database: Database, queue: QueueClient, options: WorkerOptions) -> None:
        self.id = new_worker_id()
        self._database = database
        self._queue = queue
        self._options = options
        self._ledger = Ledger(database)
        mirrors = database.folder / "mirrors"
        session = WorkerSetting(self._ledger, database.tasks, database.works, mirrors, options.per_minute)
        self._setting = PartSetting(self.id, queue, session, options.report)
        self._parts: dict[str, Part] = {}
        """By workflow: what this worker really has in hand."""
        self._missed: set[str] = set()
        """The workflows that the database said are this worker's when they were last compared, and were not in hand."""
        self._resumed: Counter[str] = Counter()
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
        engine = FleetEngine(self._database, self.id, self._options.slots, self)
        loop, over = asyncio.get_running_loop(), threading.Event()
        watcher = threading.Thread(target=self._look_around, args=(locks, loop, over), daemon=True)
        engine.start()
        watcher.start()
        self._options.report(f"worker {self.id} works, {self._options.slots} tasks at once")
        for name in await asyncio.to_thread(patiently, self._queue.schedules.catch_up):
            self._options.report(f"schedule {name}: its last time was missed, and is made up for")
        await self._stopped.wait()
        over.set()
        suspended = [asyncio.create_task(part.suspend()) for part in [*self._parts.values()]]
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
        compare_at = 0.0
        while not over.wait(_LOOK_EVERY):
            with contextlib.suppress(Exception):  # a look that fails is repeated; without this thread nobody looks
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
                if time.monotonic() >= compare_at:
                    compare_at = time.monotonic() + self._options.compare_every
                    self._resume_lost()

    def _take_over(self, worker: str, locks: Locks) -> None:
        with locks.taken(worker) as dead:
            if not dead:
                return
            found = self._queue.requeue(worker)
            hopeless = self._ledger.release(worker, died=True)
            for workflow in hopeless:
                reason = f"more than {MAX_DEATHS} workers died while they had it; look at what it runs, then retry it"
                self._give_up(workflow, reason)
            self._options.report(f"worker {worker} is gone; {found} of its tasks are in the queue again")

    def _give_up(self, workflow: str, reason: str) -> None:
        self._queue.cancel(workflow)
        self._ledger.finish(workflow.rpartition("/")[0], workflow, "error", reason)

    def _cancel(self, task_id: str) -> None:
        for part in self._parts.values():
            if part.task_id == task_id:
                part.cancel()

    def _resume_lost(self) -> None:
        """What the database says is this worker's, and nobody here runs, goes back into the queue.

        It came here and was lost: its claim was written and the answer of the database was not received, or the
        execution ended with an error of the database. Only what was missed twice, as an execution may just begin."""
        in_hand = {*self._parts}
        missed = {each for each in self._queue.pending(self.id) if each not in in_hand}
        lost, self._missed = missed & self._missed, missed - self._missed
        for workflow in sorted(lost):
            task_id = workflow.rpartition("/")[0]
            self._resumed[workflow] += 1
            if self._resumed[workflow] > _MAX_RESUMED:
                self._give_up(workflow, "its worker lost it again and again; check the database, then retry it")
            else:
                self._queue.resume(workflow)
                self._options.report(f"{task_id}  was not continued here; it is in the queue again")

    # The steps

    async def take(self, task_id: str, workflow: str) -> Part:
        """A part for an execution that begins; what an earlier one of the same workflow has open here is closed."""
        if (earlier := self._parts.get(workflow)) is not None:
            await earlier.close()
        part = self._parts[workflow] = Part(self._setting, task_id, workflow)
        return part

    async def let_go(self, part: Part) -> None:
        """An execution ended, however that came."""
        if self._parts.get(part.workflow) is part:
            del self._parts[part.workflow]
        await part.close()

    async def add_scheduled(self, at: str, context: str) -> None:
        added = await asyncio.to_thread(patiently, Fleet(self._database, self._queue).add_scheduled, at, context)
        self._options.report(f"schedule: {len(added.new)} tasks added")


async def serve(fleet: Fleet, slots: int, per_minute: float | None, *, attached: bool = False) -> int:
    """Work until somebody wants this to end; returns an exit code."""
    worker = Worker(fleet.database, fleet.queue, WorkerOptions(slots, per_minute, _report))
    loop, pressed = asyncio.get_running_loop(), 0

    def stop(_number: signal.Signals) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            os._exit(130)  # its lock is released with it: others take over
        worker.stop()

    if attached:
        threading.Thread(target=_wait_for_end, args=(loop, worker), daemon=True).start()
    with handled_signals(stop):
        code = await worker.run()
    if code == EXIT_TAKEN_OVER:
        os._exit(code)
    return code


def _wait_for_end(loop: asyncio.AbstractEventLoop, worker: Worker) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(worker.stop)


def _report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
