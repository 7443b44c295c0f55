"""Subtasks: a task of its own, whose result is the answer to the call that started it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from joey.commands import Command
from joey.effects import SubtaskStarted
from joey.errors import JoeyError, UsageError
from joey.events import SubtaskClosed, SubtaskOpened, TaskFinished
from joey.journal.journal import read_journal
from joey.journal.records import ChildOpened, TaskOpened, UserSaid, UserTookBack
from joey.journal.replay import TaskState, replay
from joey.messages import TextBlock, ToolResult
from joey.system.filenames import quoted
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.toolbox import Toolbox


class Child(Protocol):
    """A task as its parent sees it."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> TaskState: ...
    async def run(self) -> TaskFinished: ...
    def send(self, command: Command) -> bool: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Family:
    """How a task's children are made. `depth` is how deep the task itself is nested."""

    start: Callable[[TaskConfig, SubtaskStarted, TaskOpened], Child]
    resume: Callable[[TaskConfig, str, Sequence[UserSaid]], Child]
    depth: int = 0


@dataclass(slots=True, eq=False)
class Subtasks:
    """The subtasks of one task, one at a time."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _family: Family
    running: Child | None = None

    async def run(self, subtask: SubtaskStarted, call_id: str) -> ToolResult:
        depth = self._family.depth
        if depth >= self._config.limits.max_depth:
            text = f"Subtasks are nested {depth} deep, which is the limit. Do this piece of the work yourself."
            return ToolResult((TextBlock(text),), is_error=True)
        opened = self._log.state.opened
        assert opened is not None
        child = self._family.start(self._child_config(), subtask, replace(opened, parent_call_id=call_id))
        self._log.record(ChildOpened(child.id, call_id))
        self._log.emit(SubtaskOpened(child.id, subtask.mode))
        return await self._run(child)

    async def resume(self, child_id: str) -> ToolResult:
        """A subtask that an interruption of this task left behind: its result if it has one, else it continues.

        What the user says on resuming is for whoever works, so what waits here waits there from now on. It is saved
        there first: a process that dies in between leaves it in both, and the subtask does not save it twice.
        """
        try:
            state = self._own(child_id)
            if state.ended is not None and state.ended.outcome == "completed":
                return self._result(child_id, state, TaskFinished("completed", state.ended.message))
            waiting = self._log.state.queued
            child = self._family.resume(self._child_config(), child_id, waiting)
        except JoeyError as error:
            return self._result(child_id, TaskState(), TaskFinished("error", str(error)))
        for _ in waiting:
            self._log.record(UserTookBack())
        return await self._run(child)

    def _own(self, child_id: str) -> TaskState:
        """The state of a subtask, which must name this task as the one it belongs to."""
        state = replay(read_journal(self._config.workspace.store.journal_path(child_id)))
        if state.opened is None or state.opened.parent_id != self._log.task_id:
            raise UsageError(f"the task {quoted(child_id)} is no subtask of this one, so it is not continued")
        return state

    def _child_config(self) -> TaskConfig:
        return replace(self._config, approvals=self._toolbox.approvals)

    async def _run(self, child: Child) -> ToolResult:
        self.running = child
        try:
            finished = await child.run()
        finally:
            self.running = None
        return self._result(child.id, child.state, finished)

    def _result(self, child_id: str, state: TaskState, finished: TaskFinished) -> ToolResult:
        """What the model is told of a subtask. What the user said too late for the subtask is for this task."""
        for message in state.queued:
            if message not in self._log.state.queued:  # a process may have died since it was written down here
                self._log.record(message)
        self._toolbox.permissions.grant(state.permissions, "task")
        text = wording.subtask_result(child_id, finished.outcome, finished.message)
        self._log.emit(SubtaskClosed(child_id, text))
        return ToolResult((TextBlock(text),), is_error=finished.outcome != "completed")
