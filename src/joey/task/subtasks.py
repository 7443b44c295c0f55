"""Subtasks: tasks of their own, whose results are the answers to the calls that started them.

One alone works in its task's place: in its workspace, with its user, while it waits. Several of one reply run beside
each other (`journal.records.Placement`). Each is written down before it begins, with all that it needs, so that a task
that is resumed brings every one of them back: those that had not begun begin, those that had ended give their results.
None outlives its task: whatever ends the task ends them first.

What they may take is limited, each for itself and all of them together. A task and all below it share one budget. Each
subtask reports before a turn what it has taken so far; those of earlier runs are read from their journals once, when it
matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from joey.commands import Command
from joey.effects import SubtaskStarted
from joey.errors import JoeyError, UsageError
from joey.events import ModelChanged, SubtaskClosed, SubtaskOpened, TaskFinished
from joey.journal.journal import read_journal
from joey.journal.records import ChildOpened, Placement, TaskOpened, UserSaid, UserTookBack
from joey.journal.replay import TaskState, replay
from joey.messages import TextBlock, ToolResult
from joey.system.filenames import quoted
from joey.system.worktree_notes import Worktree
from joey.system.worktrees import counterpart
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.settings import TaskLimits
from joey.task.toolbox import Toolbox


class Taken(NamedTuple):
    """Turns, and dollars as far as prices are known."""

    turns: int = 0
    cost: float = 0.0

    @classmethod
    def by(cls, state: TaskState) -> Taken:
        return cls(state.spending.turns, state.spending.cost or 0.0)


@dataclass(slots=True, eq=False)
class Budget:
    """The budget of a task and its subtasks. `earlier` finds what subtasks of earlier runs took, by their ids."""

    limits: TaskLimits
    earlier: Callable[[], Mapping[str, Taken]] = dict
    _taken: dict[str, Taken] | None = field(default=None)

    def report(self, task_id: str, state: TaskState) -> None:
        """What a subtask has taken so far."""
        self._all[task_id] = Taken.by(state)

    @property
    def _all(self) -> dict[str, Taken]:
        if self._taken is None:
            self._taken = dict(self.earlier())
        return self._taken

    @property
    def taken(self) -> Taken:
        """What all subtasks took together."""
        return Taken(sum(each.turns for each in self._all.values()), sum(each.cost for each in self._all.values()))

    def exceeded(self, state: TaskState) -> str | None:
        """Why a subtask must not have another turn, or None."""
        own, everything, limits = Taken.by(state), self.taken, self.limits
        checks = (
            (own.turns, limits.subtask_turns, "the subtask reached its limit of turns ({:g})"),
            (own.cost, limits.subtask_cost, "the subtask reached its cost limit of ${:g}"),
            (everything.turns, limits.all_subtasks_turns, "the subtasks together reached their limit of turns ({:g})"),
            (everything.cost, limits.all_subtasks_cost, "the subtasks together reached their cost limit of ${:g}"),
        )
        reached = (why.format(limit) for taken, limit, why in checks if limit is not None and taken >= limit)
        return next(reached, None)


T = TypeVar("T")


async def all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order, when every one has ended. If one fails, the others go on to their end before that is
    raised. If the caller is cancelled, all of them are, and each has ended when the cancellation goes on: none is left
    to run by itself."""
    tasks = [asyncio.ensure_future(each) for each in works]
    cancelled: asyncio.CancelledError | None = None
    while pending := [each for each in tasks if not each.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
            for each in pending:
                each.cancel()
    errors = [each.exception() for each in tasks if not each.cancelled()]
    if cancelled is not None:
        raise cancelled
    if first := next(filter(None, errors), None):
        raise first
    return [each.result() for each in tasks]


class Child(Protocol):
    """A task as its parent sees it."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> TaskState: ...
    @property
    def queued(self) -> Sequence[UserSaid]: ...
    async def run(self) -> TaskFinished: ...
    def send(self, command: Command) -> bool: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Family:
    """How a task's children are made. `depth` is how deep the task itself is nested."""

    start: Callable[[TaskConfig, ChildOpened, TaskOpened], Child]
    resume: Callable[[TaskConfig, str, Sequence[UserSaid]], Child]
    budget: Budget
    depth: int = 0


@dataclass(slots=True, eq=False)
class Subtasks:
    """The subtasks of one task."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _family: Family
    running: dict[str, Child] = field(default_factory=dict)
    """Those that work now, by id."""
    _together: bool = False
    _workspace: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one that may change the workspace."""
    _refused: dict[str, str] = field(default_factory=dict)
    """Why a subtask does not work with the model that its agent names."""

    @property
    def alone(self) -> Child | None:
        """The one that works in the place of its task, if one does."""
        return None if self._together else next(iter(self.running.values()), None)

    def open(self, subtask: SubtaskStarted, call_id: str, *, beside: bool = False) -> ChildOpened | ToolResult:
        """Write a subtask down; it runs later. The result says why there can be none."""
        depth = self._family.depth
        if depth >= self._config.limits.max_depth:
            text = f"Subtasks are nested {depth} deep, which is the limit. Do this piece of the work yourself."
            return ToolResult((TextBlock(text),), is_error=True)
        placement, child_id = self._placement(subtask) if beside else "alone", self._config.hooks.new_id()
        worktree = _worktree_name(subtask.mode, child_id) if placement == "worktree" else ""
        model = self._config.agent_models.choose(self._config.mode(subtask.mode))
        opened = ChildOpened(child_id, call_id, subtask, placement, worktree, model.name)
        self._log.record(opened)
        self._refused[child_id] = model.refused
        return opened

    def _placement(self, subtask: SubtaskStarted) -> Placement:
        if self._config.reads_only or self._config.mode(subtask.mode).only_reads:
            return "reading"
        worktrees = self._config.workspace.worktrees
        return "worktree" if worktrees is not None and worktrees.suits(self._config.workspace.folder) else "in_turn"

    async def run(self, opened: ChildOpened) -> ToolResult:
        """Begin a subtask, or bring back one that an interruption left behind; its result, if it has one already."""
        try:
            state = self._own(opened)
            worktree = await self.worktree_of(opened, make=state is None)
            if state is not None and state.ended is not None and state.ended.outcome == "completed":
                return self._result(opened, state, TaskFinished("completed", state.ended.message))
            config = await self._with_model(opened, self._child_config(opened, worktree))
            child = (self._started if state is None else self._resumed)(opened, worktree, config)
            refused = self._refused.pop(opened.child_id, "")
            if refused and config.agent_models.is_news(refused):
                config.hooks.watch(opened.child_id, ModelChanged(config.model.full_name, refused))
        except JoeyError as error:
            return self._result(opened, TaskState(), TaskFinished("error", str(error)))
        return await self._run(opened, child)

    async def run_all(
        self, opened: Sequence[ChildOpened], ended: Callable[[ChildOpened, ToolResult], Awaitable[None]]
    ) -> None:
        """Run several at the same time, and hand each result over as it comes."""
        self._together = len(opened) > 1
        slots = asyncio.Semaphore(max(1, self._config.limits.parallel_subtasks))

        async def run_one(each: ChildOpened) -> None:
            await ended(each, await self._in_its_place(each, slots))

        try:
            await all_of(run_one(each) for each in opened)
        finally:
            self._together = False

    async def _in_its_place(self, opened: ChildOpened, slots: asyncio.Semaphore) -> ToolResult:
        if opened.placement in ("in_turn", "alone"):
            async with self._workspace, slots:
                return await self.run(opened)
        async with slots:
            return await self.run(opened)

    async def worktree_of(self, opened: ChildOpened, *, make: bool = False) -> Worktree | None:
        """The worktree that a subtask works in, made if it is not there yet; None if it has none. Raises JoeyError."""
        worktrees, folder = self._config.workspace.worktrees, self._config.workspace.folder
        if not opened.worktree or worktrees is None:
            return None
        known = worktrees.named(opened.worktree, folder)
        if not make or (known is not None and known.ready):
            return known
        return await asyncio.to_thread(worktrees.make, folder, opened.worktree, task=opened.child_id, with_changes=True)

    async def _with_model(self, opened: ChildOpened, config: TaskConfig) -> TaskConfig:
        """The config with the model that its agent has; with that of its task, if it cannot be had any more."""
        try:
            return await config.agent_models.applied(config, opened.model) if opened.model else config
        except JoeyError as error:
            self._refused[opened.child_id] = f"{opened.model} cannot be used: {error}"
            return config

    def _started(self, opened: ChildOpened, worktree: Worktree | None, config: TaskConfig) -> Child:
        parent = self._log.state.opened
        assert parent is not None
        assert opened.subtask is not None
        child = self._family.start(config, opened, replace(parent, parent_call_id=opened.call_id))
        self._announce(opened, opened.subtask.mode, worktree, config)
        return child

    def _resumed(self, opened: ChildOpened, worktree: Worktree | None, config: TaskConfig) -> Child:
        """What the user says on resuming is for whoever works, so what waits here waits there from now on, if only one
        does. It is saved there first: a process that dies in between leaves it in both, and the subtask does not save
        it twice."""
        if opened.worktree and worktree is None:
            raise UsageError(f"its worktree {opened.worktree} is gone, and with it the folder that it works in")
        waiting = () if self._together else tuple(self._log.state.queued)
        child = self._family.resume(config, opened.child_id, waiting)
        for _ in waiting:
            self._log.record(UserTookBack())
        if opened.placement != "alone":
            self._announce(opened, child.state.mode, worktree, config)
        return child

    def _announce(self, opened: ChildOpened, mode: str, worktree: Worktree | None, config: TaskConfig) -> None:
        beside, folder = opened.placement != "alone", worktree.folder if worktree is not None else ""
        model = config.model.full_name
        self._log.emit(SubtaskOpened(opened.child_id, mode, opened.call_id, beside, folder, model))

    def _own(self, opened: ChildOpened) -> TaskState | None:
        """The state of a subtask, which must name this task as the one it belongs to; None if it has not begun."""
        path = self._config.workspace.store.journal_path(opened.child_id)
        if opened.subtask is not None and not path.exists():
            return None
        state = replay(read_journal(path))
        if state.opened is None and opened.subtask is not None and not state.left_out:
            return None
        if state.opened is None or state.opened.parent_id != self._log.task_id:
            raise UsageError(f"the task {quoted(opened.child_id)} is no subtask of this one, so it is not continued")
        return state

    def _child_config(self, opened: ChildOpened, worktree: Worktree | None) -> TaskConfig:
        config = replace(self._config, approvals=self._toolbox.approvals)
        if worktree is not None:
            folder = counterpart(worktree, config.workspace.folder)
            config = replace(config, workspace=config.workspace.moved_to(folder))
        if opened.placement == "alone":
            return config
        return replace(config, hands_back=True, reads_only=config.reads_only or opened.placement == "reading")

    async def _run(self, opened: ChildOpened, child: Child) -> ToolResult:
        self.running[child.id] = child
        try:
            finished = await child.run()
        finally:
            del self.running[child.id]
            self._family.budget.report(child.id, child.state)
        return self._result(opened, child.state, finished)

    def _result(self, opened: ChildOpened, state: TaskState, finished: TaskFinished) -> ToolResult:
        """What the model is told of a subtask. What the user said too late for the subtask is for this task."""
        for message in state.queued:
            if message not in self._log.state.queued:  # a process may have died since it was written down here
                self._log.record(message)
        if not opened.worktree:  # what may be done in a worktree is not allowed in the workspace with it
            self._toolbox.permissions.grant(state.allowed.permissions, "task")
        text = wording.subtask_result(opened.child_id, finished.outcome, finished.message)
        beside, spent = opened.placement != "alone", state.spending
        self._log.emit(SubtaskClosed(opened.child_id, text, finished.outcome, spent.turns, spent.cost, beside))
        return ToolResult((TextBlock(text),), is_error=finished.outcome != "completed")


def _worktree_name(mode: str, child_id: str) -> str:
    """A name that tells people whose it is."""
    return f"{mode.strip('-')[:40] or 'subtask'}-{child_id[-6:].strip('.-') or 'x'}"
