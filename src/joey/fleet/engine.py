"""DBOS as Joey uses it: a task is a workflow, a turn is a step.

    begin ──► turn ──► turn ──► … ──► finish          the task ended: its outcome is written down
                                 └──► park            it asks: its next part is put into the queue, to start when the
                                                      answer is there or its time has come, and this part is over

A step that is recorded is never done again: a worker that continues a workflow gets what was recorded, and begins with
the first step that is not. Waiting for a person is a row in the queue that is not due yet; no worker has it.

Two things of the engine are used beyond its interface. Slots belong to a worker, while the engine keeps one number for
all workers in the database, so what it reads from there is changed on its way (`_with_slots`). And an execution that
was lost ends with the engine's own error for that (`_unless_lost`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions, Queue
from dbos._error import DBOSWorkflowCancelledError

from joey.fleet.database import Database, quiet_engine
from joey.fleet.ledger import NotOwnerError, workflow_of
from joey.fleet.recorded import RecordedTurn
from joey.fleet.schedules import SCHEDULED, Schedules
from joey.fleet.spec import TaskSpec
from joey.journal.records import VERSION

NAME = "joey-fleet"
QUEUE = "joey-tasks"
_TASK = "joey_task"
APP_VERSION = f"journal-{VERSION}"
"""A worker takes only tasks whose journals it can read."""
POLLING = 0.25
_UNLIMITED = 1_000_000
T = TypeVar("T")


def make_tables(url: str) -> None:
    """The tables of the engine."""
    quiet_engine()
    DBOS.migrate(url)


class TurnSteps(Protocol):
    """What one execution of a workflow does in its steps."""

    async def begin(self) -> dict[str, Any] | None: ...
    async def turn(self, begun: dict[str, Any], step: int, before: Sequence[dict[str, Any]]) -> dict[str, Any]: ...
    async def park(self, request: str) -> None: ...
    async def finish(self, outcome: str, message: str) -> None: ...


S = TypeVar("S", bound=TurnSteps)


class Work(Protocol[S]):
    """What a worker does for workflows."""

    async def take(self, task_id: str, workflow: str) -> S: ...
    async def let_go(self, part: S) -> None: ...
    async def add_scheduled(self, at: str, context: str) -> None: ...


class QueueClient:
    """The queue as commands use it: without running anything."""

    def __init__(self, database: Database) -> None:
        quiet_engine()
        self._client = DBOSClient(
            system_database_engine=database.engine,
            serializer=DBOSPortableJSONSerializer(),
            application_name=NAME,
            retry_connection_errors=False,
        )
        self.schedules = Schedules(self._client)

    def close(self) -> None:
        self._client.destroy()

    def enqueue(self, connection: sa.Connection, workflow: str, spec: TaskSpec, delay: float | None = None) -> None:
        """Put a part of a task into the queue, in a transaction of the caller's."""
        options: EnqueueOptions = {
            "workflow_name": _TASK, "queue_name": QUEUE, "workflow_id": workflow, "app_version": APP_VERSION,
            "queue_partition_key": spec.tenant,
        }  # fmt: skip
        if spec.priority:  # the engine's own 0, which comes first, cannot be named
            options["priority"] = spec.priority
        if delay is not None:
            options["delay_seconds"] = delay
        self._client.enqueue_in_transaction(connection, options, workflow.rpartition("/")[0])

    def wake(self, workflow: str) -> None:
        """A part that waits for its time need not wait any longer."""
        self._client.set_workflow_delay(workflow, delay_seconds=0)

    def cancel(self, workflow: str) -> None:
        """Take a part out of the queue."""
        self._client.cancel_workflow(workflow)

    def requeue(self, worker: str) -> int:
        """Put what a worker had back into the queue. Only for whoever holds that worker's lock."""
        found = self._client.list_workflows(executor_id=worker, status="PENDING", load_input=False, load_output=False)
        tasks = [each.workflow_id for each in found if each.name == _TASK]
        others = [each.workflow_id for each in found if each.name != _TASK]
        if tasks:
            self._client.resume_workflows(tasks, queue_name=QUEUE)
        if others:
            self._client.resume_workflows(others)
        return len(tasks)

    def pending(self, worker: str) -> list[str]:
        """The parts of tasks that this worker runs, as far as the database knows."""
        found = self._client.list_workflows(executor_id=worker, status="PENDING", load_input=False, load_output=False)
        return [each.workflow_id for each in found if each.name == _TASK]

    def resume(self, workflow: str) -> None:
        """Put a part back into the queue; an execution of it that still runs anywhere does not count any more."""
        self._client.resume_workflows([workflow], queue_name=QUEUE)

    def turns(self, task: str, attempt: int, legs: int) -> list[RecordedTurn]:
        """What is recorded of the first parts of a task."""
        found: list[RecordedTurn] = []
        for leg in range(1, legs + 1):
            steps = self._client.list_workflow_steps(workflow_of(task, attempt, leg))
            outputs = (each["output"] for each in steps if each["function_name"] == "turn")
            found += [RecordedTurn.decoded(output) for output in outputs if output is not None]
        return found

    # Limits

    def make_queue(self) -> None:
        self._client.register_queue(
            QUEUE,
            worker_concurrency=1,  # what counts until a worker has put its own number there (Engine.start)
            partition_concurrency=_UNLIMITED,
            polling_interval_sec=POLLING,
            on_conflict="never_update",
        )

    def limits(self) -> tuple[int | None, int | None]:
        """How many tasks run at once: of all, and of one tenant. None: as many as there are slots."""
        queue = self._queue()
        tenant = queue.partition_concurrency
        return queue.global_concurrency, None if tenant == _UNLIMITED else tenant

    def set_limits(self, total: int | None, tenant: int | None) -> None:
        """Change the limits; 0 removes one."""
        queue = self._queue()
        if tenant is not None:
            queue.set_partition_concurrency(tenant or _UNLIMITED)
        if total is not None:
            queue.set_global_concurrency(total or None)

    def _queue(self) -> Queue:
        self.make_queue()
        queue = self._client.retrieve_queue(QUEUE)
        assert queue is not None
        return queue


class FleetEngine:
    """The engine in a worker. Started inside a running event loop, it runs workflows there."""

    def __init__(self, database: Database, worker: str, slots: int, work: Work[Any]) -> None:
        quiet_engine()
        config: DBOSConfig = {
            "name": NAME,
            "system_database_engine": database.engine,
            "serializer": DBOSPortableJSONSerializer(),
            "application_version": APP_VERSION,
            "executor_id": worker,
            "run_migrations": False,
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.5,  # nothing is looked up where nobody waits
            "scheduler_polling_interval_sec": 5.0,
            "log_level": "CRITICAL",
        }
        self._dbos = DBOS(config=config)
        _register(work)
        self._slots = slots

    def start(self) -> None:
        DBOS.launch()
        system: Any = self._dbos._sys_db  # noqa: SLF001 - DBOS shows it nowhere else
        system.get_queue = _with_slots(system.get_queue, self._slots)
        system.list_queues = _all_with_slots(system.list_queues, self._slots)

    def stop(self) -> None:
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=0)


def _with_slots(read: Callable[..., Any], slots: int) -> Callable[..., Any]:
    def changed(*arguments: Any, **options: Any) -> Any:
        queue = read(*arguments, **options)
        return _given_slots(queue, slots)

    return changed


def _all_with_slots(read: Callable[..., Any], slots: int) -> Callable[..., Any]:
    return lambda *arguments, **options: [_given_slots(each, slots) for each in read(*arguments, **options)]


def _given_slots(queue: Any, slots: int) -> Any:
    if queue is not None and queue.name == QUEUE:
        queue._worker_concurrency = slots  # noqa: SLF001 - as above
    return queue


def _register(work: Work[S]) -> None:
    @DBOS.workflow(name=_TASK, max_recovery_attempts=None)
    async def run_task(task_id: str) -> str:
        workflow = DBOS.workflow_id
        assert workflow is not None
        steps = await work.take(task_id, workflow)
        try:
            return await _unless_lost(_run, steps)
        except Exception as error:  # the engine could not write a step down, and wrote that down instead
            await _unless_lost(steps.finish, "error", f"the engine failed: {error}; retry the task")
            raise
        finally:
            await work.let_go(steps)

    @DBOS.workflow(name=SCHEDULED, max_recovery_attempts=None)
    async def run_schedule(at: str, context: str) -> None:
        await _step("add", work.add_scheduled, str(at), context)


async def _run(steps: TurnSteps) -> str:
    begun: dict[str, Any] | None = await _step("begin", steps.begin)
    if begun is None:
        return "superseded"
    recorded: list[dict[str, Any]] = []
    while True:
        turn = await _step("turn", steps.turn, begun, len(recorded) + 1, tuple(recorded))
        recorded.append(turn)
        outcome, message = str(turn["outcome"]), str(turn["message"])
        if outcome == "asks":
            await _step("park", steps.park, message)
            return outcome
        if outcome:
            await _step("finish", steps.finish, outcome, message)
            return outcome


async def _step(name: str, work: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    return await DBOS.run_step_async({"name": name}, partial(_unless_lost, work), *arguments)


async def _unless_lost(work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    """An error of the database, or another worker that has the task, says nothing of the task: the engine must not
    write it down as what came of a step or of the workflow. This is the one error that it does not write down; the
    execution then waits for what another makes of the workflow, and its worker notices that nobody has it in hand."""
    try:
        return await work(*arguments)
    except (NotOwnerError, sa.exc.SQLAlchemyError) as error:
        raise DBOSWorkflowCancelledError(str(error)) from None
