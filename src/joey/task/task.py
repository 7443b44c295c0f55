"""The handle of a task, from the first message to its end: what front ends hold.

    task = TaskHandle.start(config, "Add a /hello endpoint")
    finished = await task.run()

Everything that happens comes out through `config.hooks.watch`; everything a front end wants goes in through `send`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from joey.commands import Answer, Cancel, Command, Condense, Revoke, Say, SetProfile, TakeBack
from joey.effects import Todo
from joey.errors import JoeyError, UsageError
from joey.events import TaskFinished
from joey.journal.journal import read_journal, read_timed
from joey.journal.records import ChildOpened, ModeSet, ProfileSet, TaskOpened, TodosSet, UserSaid, path_text
from joey.journal.replay import TaskState, replay
from joey.journal.store import TaskStore
from joey.messages import Block, ImageBlock, ResultBlock
from joey.permissions import Granted
from joey.protocols import get
from joey.task.assembly import Assembly
from joey.task.config import TaskConfig
from joey.task.lifecycle import Lifecycle
from joey.task.log import TaskLog
from joey.task.remote import Remote
from joey.task.request import ContextView, context_of
from joey.task.subtasks import Budget, Family, Taken
from joey.tools.builtin.new_task import NewTask
from joey.tools.shell.jobs import Jobs


class TaskHandle:
    """One task. Made with `start` or `resume`, then run (or compacted) once."""

    def __init__(
        self,
        config: TaskConfig,
        log: TaskLog,
        opening: list[Block],
        depth: int = 0,
        remote: Remote | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.config = config
        self._log = log
        self._remote = remote
        self._opening = opening
        budget = budget or Budget(config.limits, lambda: _taken_below(config.workspace.store, log.state))
        self._parts = parts = Assembly.of(config, log, _family(depth, budget))
        self._lifecycle = Lifecycle(log, parts.loop, parts.window, parts.toolbox.memory, parts.hooks, config.model)

    @classmethod
    def start(
        cls,
        config: TaskConfig,
        text: str,
        *,
        mode: str = "code",
        images: Sequence[ImageBlock] = (),
        attached: Sequence[ResultBlock] = (),
        todos: tuple[Todo, ...] = (),
        profile: str | None = None,
        parent: TaskOpened | None = None,
        task_id: str | None = None,
        depth: int = 0,
        budget: Budget | None = None,
    ) -> Self:
        """A new task. Its journal is open from now on, until it has run or is closed.

        `attached` is what the text names (joey.prompts)."""
        _check_mode(mode, config)
        task_id, model, folder = task_id or config.hooks.new_id(), config.model, config.workspace.folder
        name, protocol, blocks = model.full_name, model.protocol.name, (*attached, *images)
        opened = TaskOpened(
            task_id, text, path_text(folder), mode, name, protocol, base_url=model.base_url, attached=blocks
        )
        if parent is not None:
            opened = replace(opened, parent_id=parent.task_id, parent_call_id=parent.parent_call_id)
        with _opened_log(config, task_id, depth) as (config, log, remote):
            task = cls(config, log, [*opened.content], depth, remote, budget)
            log.record(opened)
            task._parts.supervisor.new_request(text)
            if todos:
                log.record(TodosSet(todos))
            if profile:
                log.record(ProfileSet(profile))
        return task

    @classmethod
    def resume(
        cls,
        config: TaskConfig,
        task_id: str,
        *,
        text: str = "",
        images: Sequence[ImageBlock] = (),
        mode: str | None = None,
        profile: str | None = None,
        messages: Sequence[UserSaid] = (),
        depth: int = 0,
        budget: Budget | None = None,
    ) -> Self:
        """A task that was interrupted or ended, to continue where it was, in the protocol it began with.

        What the user says to it (`text` and `images`, or the `messages` that its parent has for it) is on the disk
        before anything else happens, and sent as any message that waits."""
        if mode is not None:
            _check_mode(mode, config)
        with _opened_log(config, task_id, depth) as (config, log, remote):
            for _at, record in read_timed(config.workspace.store.journal_path(task_id)):
                log.state.apply(record)
            opened = log.state.opened
            if opened is None:
                raise UsageError(f"task {task_id} has nothing in its journal to resume")
            begun = bool(log.state.messages) or (bool(text) and _was_refused(log.state))
            task = cls(_as_opened(config, opened), log, [] if begun else [*opened.content], depth, remote, budget)
            new = [*messages, *([UserSaid(text, tuple(images))] if text or images else [])]
            if remote is not None:
                remote.resumes([message for message in new if message not in log.state.queued])
            _save_messages(log, new)
            if mode is not None and mode != log.state.mode:
                log.record(ModeSet(mode))
            if profile is not None and profile != log.state.profile:
                log.record(ProfileSet(profile))
            task._parts.supervisor.new_request(text or opened.text, underway=bool(log.state.messages) and not text)
        return task

    @property
    def id(self) -> str:
        return self._log.task_id

    @property
    def run_id(self) -> str:
        """What tells this run of the task from others, for whoever answers it from another process."""
        return self._remote.run if self._remote is not None else ""

    @property
    def state(self) -> TaskState:
        return self._log.state

    @property
    def workspace(self) -> Path:
        return self.config.workspace.folder

    @property
    def profile(self) -> str:
        """The profile of approvals that holds now."""
        return self._parts.toolbox.approvals.profile

    @property
    def permissions(self) -> tuple[Granted, ...]:
        """What the user allowed besides the settings, in this task or in this project."""
        return self._parts.toolbox.permissions.granted

    @property
    def running_commands(self) -> tuple[str, ...]:
        """The commands that run in the background."""
        return tuple(job.command for job in self._parts.toolbox.memory[Jobs].running)

    def stop_command(self, at: int) -> None:
        """End one of them."""
        self._parts.toolbox.memory[Jobs].running[at].kill_now()

    @property
    def waits_for_message(self) -> bool:
        """Whether the model is done, and the next message or an acceptance is what the task waits for. It still holds
        its journal and what its tools have opened: `Cancel` ends it as completed."""
        opened = self.state.opened
        return self._parts.requests.next_message is not None and opened is not None and opened.parent_id is None

    @property
    def context(self) -> ContextView:
        """What fills the model's window."""
        return context_of(self.config, self._log, self._parts.toolbox, self._parts.builder)

    def send(self, command: Command) -> bool:
        """Whatever a front end may ask, at any moment. False: nobody was there for it."""
        if self._lifecycle.over:
            return False
        alone, children = self._parts.subtasks.alone, [*self._parts.subtasks.running.values()]
        match command:
            case Cancel(task_id="") if self.waits_for_message:
                # There is nothing to stop: whoever leaves now leaves a task that is done.
                return self._parts.requests.answer(Answer(self._parts.requests.next_message or "", yes=True))
            case Cancel(reason, task_id) if task_id in ("", self.id):
                self._lifecycle.cancel(reason or "cancelled by the user")
                return True
            case Say() if alone is None:
                self._parts.requests.say(command)
                return True
            case TakeBack() if alone is None:
                return self._parts.requests.take_back()
            case Condense() if alone is None:
                self._parts.window.compact_next = True
                return True
            case Answer() if self._parts.requests.answer(command):
                return True
            case SetProfile(profile):
                self.config.profiles(profile)  # one that there is not is an error
                self._log.change_profile(profile)
                for child in children:
                    child.send(command)
                return True
            case Revoke(permission):
                return self._parts.toolbox.permissions.revoke(permission)
        # Whoever works now: the innermost subtask gets the command; of several, the one that takes it.
        return any(child.send(command) for child in children)

    def close(self) -> None:
        """Instead of `run`: release the journal of a task that is not going to run now. It can be resumed."""
        self._lifecycle.close()

    def suspend(self) -> None:
        """Stop a task that runs, at once and without an end: `run` raises `Suspended`, and it can be resumed."""
        self._lifecycle.suspend()

    def abandon(self) -> None:
        """Before the process ends without waiting for the task: nothing that it started continues to run."""
        self._parts.toolbox.memory[Jobs].kill_now()
        for child in self._parts.subtasks.running.values():
            child.abandon()

    async def run(self) -> TaskFinished:
        """Carry the task to its end. Nothing a model, a tool or a provider does comes out of here as an exception."""
        with self._remote.serving(self.send) if self._remote is not None else contextlib.nullcontext():
            return await self._lifecycle.run(self._opening)

    async def compact(self) -> None:
        """Instead of `run`: summarize the old part of the conversation, nothing else. Cancelled, it stays as it was."""
        await self._lifecycle.compact()


def _family(depth: int, budget: Budget) -> Family:
    """Children are tasks like any other."""

    def start(config: TaskConfig, opened: ChildOpened, parent: TaskOpened) -> TaskHandle:
        subtask, task_id, below = opened.subtask, opened.child_id, depth + 1
        assert subtask is not None
        return TaskHandle.start(
            config, subtask.message, mode=subtask.mode, todos=tuple(subtask.todos or ()), parent=parent,
            task_id=task_id, depth=below, budget=budget,
        )  # fmt: skip

    def resume(config: TaskConfig, task_id: str, messages: Sequence[UserSaid]) -> TaskHandle:
        return TaskHandle.resume(config, task_id, messages=messages, depth=depth + 1, budget=budget)

    return Family(start, resume, budget, depth)


def _taken_below(store: TaskStore, state: TaskState) -> dict[str, Taken]:
    """What the subtasks of a task took so far, as their journals have it."""
    found: dict[str, Taken] = {}
    has_some = state.opened is not None and NewTask.name in state.counts
    for child in store.subtasks(state.opened.task_id) if has_some and state.opened else ():
        with contextlib.suppress(JoeyError, OSError):
            found[child] = Taken.by(replay(read_journal(store.journal_path(child))))
    return found


def _save_messages(log: TaskLog, messages: Sequence[UserSaid]) -> None:
    """One that waits already was saved before its parent could take note of it."""
    for message in messages:
        if message not in log.state.queued:
            log.record(message)
    if messages:
        log.sync()


def _as_opened(config: TaskConfig, opened: TaskOpened) -> TaskConfig:
    """The config of a task that exists: it keeps its protocol and its folder."""
    model = replace(config.model, protocol=get(opened.protocol))
    return replace(config, model=model, workspace=replace(config.workspace, folder=opened.folder))


def _was_refused(state: TaskState) -> bool:
    """Whether a hook kept the first message from the model: another one takes its place."""
    return state.ended is not None and state.ended.outcome == "refused"


def _check_mode(mode: str, config: TaskConfig) -> None:
    if mode not in config.modes:
        raise UsageError(f"unknown mode {mode!r}; available modes: {', '.join(config.modes)}")


@contextlib.contextmanager
def _opened_log(config: TaskConfig, task_id: str, depth: int) -> Iterator[tuple[TaskConfig, TaskLog, Remote | None]]:
    """The log of a task, closed again if it does not come to be; and who else may watch. What happens in a subtask is
    seen at the task that a person started."""
    store = config.workspace.store
    journal = store.open(task_id)
    try:
        remote = Remote(task_id, store.folder(task_id), journal.path) if depth == 0 else None
        config = remote.watched(config) if remote is not None else config
        yield config, TaskLog(task_id, store.folder(task_id), journal, config.hooks.watch, TaskState()), remote
    except BaseException:
        journal.close()
        raise
