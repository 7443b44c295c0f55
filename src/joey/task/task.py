"""The handle of a task, from the first message to its end: what front ends hold.

    task = TaskHandle.start(config, "Add a /hello endpoint")
    finished = await task.run()

Everything that happens comes out through `config.hooks.watch`; everything a front end wants goes in through `send`.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from joey.commands import Answer, Cancel, Command, Condense, Revoke, Say, SetProfile, TakeBack
from joey.effects import Todo
from joey.errors import JoeyError, UsageError
from joey.events import TaskFinished
from joey.journal.journal import read_journal, read_timed
from joey.journal.records import ChildOpened, ModelSet, ModeSet, ProfileSet, TaskOpened, TodosSet, UserSaid, path_text
from joey.journal.replay import TaskState, replay
from joey.journal.store import TaskStore
from joey.messages import Block, ImageBlock, ResultBlock
from joey.permissions import Granted
from joey.policy.paths import Workspace
from joey.protocols import get
from joey.task.completion import Completion
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.forms import FormRequests
from joey.task.hook_points import HookPoints
from joey.task.lifecycle import Lifecycle
from joey.task.limits import LimitChecks
from joey.task.log import TaskLog
from joey.task.loop import Loop
from joey.task.merges import Merges
from joey.task.profiles.base import Supervisor
from joey.task.remote import Remote
from joey.task.request import ContextView, RequestBuilder, context_of
from joey.task.requests import Requests
from joey.task.run_calls import ToolRunner
from joey.task.subtasks import Budget, Family, Subtasks, Taken
from joey.task.toolbox import Toolbox
from joey.task.turn import Turns
from joey.task.user_words import current_request
from joey.task.window import Window
from joey.tools.builtin.new_task import NewTask
from joey.tools.shell.job import Job
from joey.tools.shell.jobs import Jobs


@dataclass(frozen=True, slots=True)
class Assembly:
    """The working parts of a task, each made with those it needs."""

    log: TaskLog
    hooks: HookPoints
    toolbox: Toolbox
    supervisor: Supervisor
    requests: Requests
    subtasks: Subtasks
    builder: RequestBuilder
    window: Window
    completion: Completion
    loop: Loop

    @classmethod
    def of(cls, config: TaskConfig, log: TaskLog, family: Family) -> Self:
        folder = config.workspace.folder
        paths = config.workspace.paths or Workspace.of(folder)
        toolbox = Toolbox(config, log, paths)
        supervisor = config.profile.supervisor(folder, paths, config.limits)
        hooks = HookPoints(config, log, toolbox, is_subtask=family.depth > 0)
        requests = Requests(config, log, supervisor, hooks.notify)
        toolbox.ask_form = FormRequests(config, log, requests).ask
        subtasks = Subtasks(config, log, toolbox, family)
        builder = RequestBuilder(config, log, toolbox, supervisor)
        window = Window(config, log, builder, hooks)
        checks = EditChecks(config, log, toolbox, requests)
        completion = Completion(config, log, requests, toolbox, supervisor, hooks, checks)
        turns = Turns(config, log, toolbox, builder, window, supervisor)
        merges = Merges(config, log, toolbox, subtasks, checks)
        runner = ToolRunner(config, log, requests, toolbox, supervisor, completion, subtasks, merges, hooks, checks)
        limits = LimitChecks(config, log, requests, toolbox, family)
        parts = builder, turns, runner, completion, limits, hooks, checks
        loop = Loop(config, log, toolbox, supervisor, requests, *parts)
        return cls(log, hooks, toolbox, supervisor, requests, subtasks, builder, window, completion, loop)


class TaskHandle:
    """One task. Made with `start` or `resume`, then run (or compacted) once."""

    def __init__(
        self,
        config: TaskConfig,
        parts: Assembly,
        opening: list[Block],
        remote: Remote | None = None,
    ) -> None:
        self.config = config
        self._log = log = parts.log
        self._remote = remote
        self._opening = opening
        self._parts = parts
        self._lifecycle = Lifecycle(log, parts.loop.run, parts.window, parts.toolbox.memory, parts.hooks, config.model)

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
            parts = Assembly.of(config, log, _family(config, log, depth, budget))
            task = cls(config, parts, [*opened.content], remote)
            log.record(opened)
            parts.supervisor.new_request(text)
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
            config = _as_opened(config, opened)
            parts = Assembly.of(config, log, _family(config, log, depth, budget))
            task = cls(config, parts, [] if begun else [*opened.content], remote)
            new = [*messages, *([UserSaid(text, tuple(images))] if text or images else [])]
            if remote is not None:
                remote.resumes([message for message in new if message not in log.state.queued])
            _save_messages(log, new)
            if other := _other_model(config, opened):
                log.record(other)
            if mode is not None and mode != log.state.mode:
                log.record(ModeSet(mode))
            if profile is not None and profile != log.state.allowed.profile:
                log.record(ProfileSet(profile))
            request = text or _next_request(log.state)
            underway = bool(log.state.messages) and not request
            parts.supervisor.new_request(request or _request_under_way(log.state), underway=underway)
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
    def queued(self) -> tuple[UserSaid, ...]:
        """The messages that no model has read yet: its own, and then those for the subtask that works in its place."""
        alone = self._parts.subtasks.alone
        return (*self.state.queued, *(alone.queued if alone is not None else ()))

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
    def jobs(self) -> tuple[Job, ...]:
        """What runs in the background."""
        return tuple(job for job in self._parts.toolbox.memory[Jobs].running if job.is_detached)

    @property
    def running_commands(self) -> tuple[str, ...]:
        """The commands that run in the background."""
        return tuple(job.command for job in self.jobs)

    def stop_command(self, at: int) -> None:
        """End one of them."""
        self.jobs[at].kill_now()

    @property
    def waits_for_message(self) -> bool:
        """Whether the model is done, and the next message or an acceptance is what the task waits for. It still holds
        its journal and what its tools have opened: `Cancel` ends it, as completed if it is no plan that waits."""
        opened = self.state.opened
        return self._parts.requests.next_message is not None and opened is not None and opened.parent_id is None

    @property
    def _is_done(self) -> bool:
        """Whether it waits for a message, and there is nothing left to decide."""
        return self.waits_for_message and not self.plan_waits

    @property
    def plan_waits(self) -> bool:
        """Whether that is a plan, about which the user has to decide."""
        return self._parts.requests.plan_waits

    @property
    def has_stopped(self) -> bool:
        """Whether something keeps it from continuing, such as an error of the provider, and the user is asked."""
        return self._parts.requests.has_stopped

    @property
    def compacts_next(self) -> bool:
        """Whether the conversation is to be compacted before the next request: `Condense` was sent and is not done."""
        return self._parts.window.compact_next

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
            case Cancel(task_id="") if self._is_done:
                # There is nothing to stop: whoever leaves now leaves a task that is done.
                return self._parts.requests.answer(Answer(self._parts.requests.next_message or "", yes=True))
            case Cancel(reason, task_id) if task_id in ("", self.id):
                self._lifecycle.cancel(reason or "cancelled by the user")
                return True
            case Say() if alone is None:
                self._parts.requests.say(command)
                return True
            case TakeBack():  # the newest are those of the subtask
                return (alone is not None and alone.send(command)) or self._parts.requests.take_back()
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

    def expire(self, reason: str) -> None:
        """Stop a task whose time is over, as `Cancel` does. It ends as at any other limit, unless it is done."""
        if self._is_done:
            self.send(Cancel(reason))
        elif not self._lifecycle.over:
            self._lifecycle.cancel(reason, "limit")

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


def _family(config: TaskConfig, log: TaskLog, depth: int, budget: Budget | None) -> Family:
    """Children are tasks like any other."""
    shared = budget or Budget(config.limits, lambda: _taken_below(config.workspace.store, log.state))

    def start(config: TaskConfig, opened: ChildOpened, parent: TaskOpened) -> TaskHandle:
        subtask, task_id, below = opened.subtask, opened.child_id, depth + 1
        assert subtask is not None
        return TaskHandle.start(
            config, subtask.message, mode=subtask.mode, todos=tuple(subtask.todos or ()), parent=parent,
            task_id=task_id, depth=below, budget=shared,
        )  # fmt: skip

    def resume(config: TaskConfig, task_id: str, messages: Sequence[UserSaid]) -> TaskHandle:
        return TaskHandle.resume(config, task_id, messages=messages, depth=depth + 1, budget=shared)

    return Family(start, resume, shared, depth)


def _taken_below(store: TaskStore, state: TaskState) -> dict[str, Taken]:
    """What the subtasks of a task took so far, as their journals have it."""
    found: dict[str, Taken] = {}
    has_some = state.opened is not None and NewTask.name in state.calls.counts
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


def _other_model(config: TaskConfig, opened: TaskOpened) -> ModelSet | None:
    """What the task continues with, if that is not what it had: the next time it is resumed, it keeps that. A server
    that was named for a provider stays known to the task while it uses another one."""
    now = ModelSet(config.model.full_name, config.model.base_url)
    same_provider = now.model.partition("/")[0] == opened.model.partition("/")[0]
    if now == ModelSet(opened.model, opened.base_url) or (opened.base_url and not same_provider):
        return None
    return now


def _next_request(state: TaskState) -> str:
    """A message that no model has read, to a task that was done: it is the next request."""
    was_done = state.ended is not None and state.ended.outcome == "completed"
    return state.queued[-1].text if was_done and state.queued else ""


def _request_under_way(state: TaskState) -> str:
    """What an interrupted task was to do."""
    return current_request(state.messages) or (state.opened.text if state.opened is not None else "")


def _was_refused(state: TaskState) -> bool:
    """Whether a hook kept the first message from the model: another one takes its place."""
    return state.ended is not None and state.ended.outcome == "refused"


def _check_mode(mode: str, config: TaskConfig) -> None:
    if mode not in config.modes:
        near = difflib.get_close_matches(mode, [*config.modes], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"unknown mode {mode!r}; {hint}available modes: {', '.join(config.modes)}")


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
