"""One part of a task while a worker has it in hand: the steps of its workflow, and the session they share.

A part belongs to one execution of the workflow. When the engine runs the workflow again, in this worker or in another,
that one has a part and a session of its own, so the session here must be closed when the execution ends, however that
came: it holds the journal, and whoever continues the task would wait for it as long as this worker lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from joey.errors import JoeyError
from joey.fleet.engine import QueueClient
from joey.fleet.ledger import FleetTask, NotOwnerError, patiently
from joey.fleet.recorded import RecordedTurn
from joey.fleet.session import FleetSession, TurnReply, WorkerSetting
from joey.fleet.spec import TaskSpec
from joey.task.log import write_down


@dataclass(frozen=True, slots=True)
class PartSetting:
    """What all parts in a worker share."""

    worker: str
    queue: QueueClient
    session: WorkerSetting
    report: Callable[[str], None]


class Part:
    """The steps of one execution."""

    def __init__(self, setting: PartSetting, task_id: str, workflow: str) -> None:
        self.task_id = task_id
        self.workflow = workflow
        self._setting = setting
        self._ledger = setting.session.ledger
        self._session: FleetSession | None = None
        self._is_closed = self._is_suspended = False

    # The steps

    async def begin(self) -> dict[str, Any] | None:
        task = await self._own()
        return None if task is None else {"question": task.question, "answer": task.answer}

    async def turn(self, begun: dict[str, Any], step: int, before: Sequence[dict[str, Any]]) -> dict[str, Any]:
        try:
            session = self._session or await self._open(begun, before)
            turn = await session.next_turn(step)
        except (NotOwnerError, sa.exc.SQLAlchemyError):
            await self.close()
            raise
        except JoeyError as error:
            await self.close()
            turn = RecordedTurn({}, outcome="error", message=str(error))
        except Exception as error:  # noqa: BLE001 - a bug ends one task in words, not the worker
            await self.close()
            why = write_down(error, self._setting.session.folder)
            turn = RecordedTurn({}, outcome="error", message=f"the task failed unexpectedly: {why}")
        return turn.encoded()

    async def park(self, request: str) -> None:
        def enqueue(connection: sa.Connection, next_workflow: str, spec: TaskSpec) -> None:
            self._setting.queue.enqueue(connection, next_workflow, spec, delay=spec.answer_hours * 3600)

        await asyncio.to_thread(patiently, self._ledger.park, self.task_id, self.workflow, request, enqueue)
        self._setting.report(f"{self.task_id}  waits for an answer")

    async def finish(self, outcome: str, message: str) -> None:
        await asyncio.to_thread(patiently, self._ledger.finish, self.task_id, self.workflow, outcome, message)
        if outcome == "completed":
            await asyncio.to_thread(self._remove_clone)
        self._setting.report(f"{self.task_id}  {outcome}")

    async def _own(self) -> FleetTask | None:
        own = self._ledger.own
        return await asyncio.to_thread(patiently, own, self.task_id, self.workflow, self._setting.worker)

    async def _open(self, begun: dict[str, Any], before: Sequence[dict[str, Any]]) -> FleetSession:
        if self._is_closed or (task := await self._own()) is None:
            raise NotOwnerError(f"task {self.task_id} is not to run here any more")
        queue = self._setting.queue
        earlier = await asyncio.to_thread(patiently, queue.turns, task.id, task.attempt, task.leg - 1)
        recorded = [*earlier, *map(RecordedTurn.decoded, before)]
        reply = TurnReply(begun["question"], begun["answer"]) if begun["question"] and not before else None
        session = self._session = FleetSession(self._setting.session, task, recorded, reply)
        self._setting.report(_opened_line(task, len(before)))
        await session.open()
        return session

    def _remove_clone(self) -> None:
        """The result is in the database; the clone of a task that was not completed stays, for people to look at."""
        task = patiently(self._ledger.task, self.task_id)
        if task is not None and not task.spec.folder:
            shutil.rmtree(self._setting.session.clones / task.journal, ignore_errors=True)

    # Beside them

    def cancel(self) -> None:
        """End the task: somebody cancelled it."""
        if self._session is not None:
            self._session.cancel()

    async def suspend(self) -> None:
        """The worker stops: a turn under way is not recorded, and its step does not end, nor does a later one."""
        self._is_suspended = True
        if self._session is not None:
            await self._session.suspend()

    async def close(self) -> None:
        """This execution is over, or another has the task: end what runs, and let go of the journal."""
        self._is_closed = True
        if self._is_suspended:
            return
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(Exception):
                await session.suspend(lost=True)


def _opened_line(task: FleetTask, recorded: int) -> str:
    how = f"continues after turn {task.turns}" if recorded or task.turns else "begins"
    return f"{task.id}  {how}"
