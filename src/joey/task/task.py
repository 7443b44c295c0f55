"""The handle of a task, from the first message to its end: what front ends hold.

    task = start_task(config, "Add a /hello endpoint")
    finished = await task.run()

Everything that happens comes out through `config.hooks.watch`; everything a front end wants goes in through `send`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from joey.commands import Answer, Cancel, Command, Condense, Revoke, Say, SetProfile, TakeBack
from joey.events import TaskFinished
from joey.journal.records import UserSaid
from joey.journal.replay import TaskState
from joey.messages import Block
from joey.permissions import Granted
from joey.task.assembly import Assembly
from joey.task.config import TaskConfig
from joey.task.lifecycle import Lifecycle
from joey.task.remote import Remote
from joey.task.request import ContextView, context_of
from joey.tools.shell.job import Job
from joey.tools.shell.jobs import Jobs


class TaskHandle:
    """One task. Made with `start_task` or `resume_task` (task/opening.py), then run (or compacted) once."""

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
