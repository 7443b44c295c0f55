"""How a task runs and ends: once, and with an end that is written down whatever happens.

Nothing a model, a tool or a provider does comes out as an exception. Two things do, once they are written down: a
cancellation that did not come through `cancel`, and a reader who went away (`joey run … | head`). A task that a hook
suspends has no end: it is closed, and whoever runs it is informed by the same exception.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from joey.errors import JoeyError
from joey.events import ContextKept, Outcome, TaskAborted, TaskFinished, TaskStarted, TodosChanged, UserMessageQueued
from joey.journal.journal import JournalError
from joey.journal.records import TaskEnded
from joey.messages import Block
from joey.task.config import Model, Suspended
from joey.task.hook_points import HookPoints
from joey.task.log import TaskLog
from joey.task.requests import report_attached
from joey.task.window import Window
from joey.tools.base import ToolMemory

Work: TypeAlias = Callable[[list[Block]], Awaitable[TaskFinished]]
"""What is done from the opening message to the end."""


class Lifecycle:
    """The one run of a task. `over`: nobody is there any more for what a front end wants."""

    def __init__(
        self, log: TaskLog, work: Work, window: Window, memory: ToolMemory, hooks: HookPoints, model: Model
    ) -> None:
        self._log = log
        self._model = model
        self._work = work
        self._window = window
        self._memory = memory
        self._hooks = hooks
        self._waiting = [message.text for message in log.state.queued]
        """What the user wrote to an earlier run, which no model has seen: it is sent now."""
        self._cancelled: str | None = None
        self._cancelled_as: Outcome = "cancelled"
        self._suspended = False
        self._running: asyncio.Task[object] | None = None
        self.over = False

    def cancel(self, reason: str, outcome: Outcome = "cancelled") -> None:
        if self._cancelled is None:
            self._cancelled, self._cancelled_as = reason, outcome
            if self._running is not None:
                self._running.cancel()

    def suspend(self) -> None:
        """Stop at once, without an end: `run` raises Suspended."""
        self._suspended = True
        if self._running is not None:
            self._running.cancel()

    def close(self) -> None:
        """Instead of running: release the journal."""
        if self._running is None:
            self.over = True
            self._log.close()

    async def run(self, opening: list[Block]) -> TaskFinished:
        self._running = asyncio.current_task()
        try:
            finished = await self._outcome(opening)
        except Suspended:
            await self._suspend()
            raise
        except BaseException:
            await self._stop(TaskFinished("cancelled", "interrupted"))
            raise
        return await self._stop(finished)

    async def compact(self) -> None:
        """Instead of running: summarize the old part of the conversation. Cancelled, it stays as it was."""
        self._running = asyncio.current_task()
        try:
            await self._window.compact()
        except asyncio.CancelledError:
            if self._cancelled is None:
                raise
            self._log.emit(ContextKept(self._cancelled))
        except JoeyError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the conversation is as it was
            self._log.emit_last(ContextKept(self._log.write_down(error)))
        finally:
            await self._suspend()

    async def _outcome(self, opening: list[Block]) -> TaskFinished:
        try:
            self._announce()
            if self._cancelled is None and not self._suspended:  # it may have come before the task began
                return await self._work(opening)
        except JoeyError as error:
            return TaskFinished("error", str(error))
        except (asyncio.CancelledError, BrokenPipeError):
            if self._cancelled is None and not self._suspended:
                raise
        except Exception as error:  # noqa: BLE001 - a bug of a front end, a provider or ours ends the task in words
            return TaskFinished("error", f"the task failed unexpectedly: {self._log.write_down(error)}")
        if self._suspended:
            raise Suspended
        self._log.emit_last(TaskAborted(self._cancelled or ""))
        return TaskFinished(self._cancelled_as, self._cancelled or "")

    def _announce(self) -> None:
        state, opened = self._log.state, self._log.state.opened
        assert opened is not None
        resumed, name, tokens = bool(state.messages), self._model.full_name, self._model.replies.context_window
        self._log.emit(TaskStarted(opened.text, state.mode, name, opened.protocol, opened.parent_id, resumed, tokens))
        if state.todos and not resumed:  # those it was given
            self._log.emit(TodosChanged(state.todos))
        if not resumed and opened.parent_id is None:  # the words of a subtask are its task's
            report_attached(self._log, opened.text, opened.attached)
        for text in self._waiting:
            self._log.emit(UserMessageQueued(text))

    async def _stop(self, finished: TaskFinished) -> TaskFinished:
        """Close what tools opened, which may have something to report, and then write down the end."""
        self.over = True
        try:
            try:
                await self._absorb_cancel()
                await asyncio.shield(self._hooks.end(finished.outcome))
                await asyncio.shield(self._memory.close())
            finally:
                finished = self._end(finished)
        finally:
            self._log.close()
        return finished

    async def _suspend(self) -> None:
        """Close what tools opened, and the journal, without an end."""
        self.over = True
        try:
            await self._absorb_cancel()
            await asyncio.shield(self._memory.close())
        finally:
            self._log.close()

    def _end(self, finished: TaskFinished) -> TaskFinished:
        ended = TaskEnded(finished.outcome, finished.message)
        try:
            if ended != self._log.state.ended:
                self._log.record(ended)
        except JournalError as error:
            finished = TaskFinished("error", str(error))
        self._log.emit_last(finished)
        return finished

    async def _absorb_cancel(self) -> None:
        """Our own cancellation, which may still be on its way when the loop has ended, must not hit our caller."""
        if (self._cancelled is not None or self._suspended) and self._running is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            self._running.uncancel()
