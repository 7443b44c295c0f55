"""A task made of real parts in a scratch folder, with a scripted model and a user who answers by rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from joey import protocols
from joey.commands import Answer
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    QuestionRequested,
    Request,
    TaskFinished,
)
from joey.journal.journal import Journal
from joey.journal.records import TaskOpened
from joey.journal.replay import TaskState
from joey.journal.store import TaskStore
from joey.messages import ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES
from joey.policy.settings import Settings
from joey.providers.base import ModelRequest
from joey.providers.retry import RetryPolicy
from joey.task.assembly import Assembly
from joey.task.config import Hooks, Model, TaskConfig, TaskWorkspace
from joey.task.log import TaskLog
from joey.task.opening import resume_task, start_task
from joey.task.profiles import choose_profile
from joey.task.settings import Replies, TaskLimits
from joey.task.subtasks import Budget, Family
from joey.task.task import TaskHandle
from joey.testing.script import Scripted, ScriptedProvider, reply
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

NO_WAITING = RetryPolicy(retries=2, first_delay=0.0)


def _childless(*_: Any) -> Any:
    raise AssertionError("this task has no children")


NO_FAMILY = Family(_childless, _childless, Budget(TaskLimits()))
SMALL: dict[str, Any] = {"prompt": "small", "context_window": 8192}
"""What makes a kit's model a small one."""


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


def done(call_id: str = "done", result: str = "All done.") -> Scripted:
    return reply(call(call_id, "attempt_completion", result=result))


def yes(request: Request) -> Answer:
    """A user who agrees to everything and picks the first suggestion."""
    text = request.suggestions[0].text if isinstance(request, QuestionRequested) and request.suggestions else ""
    return Answer(request.request_id, yes=True, text=text)


def changed(config: TaskConfig, **changes: Any) -> TaskConfig:
    """The config with these fields changed, each in the part that has it: `changed(config, watch=…, max_turns=1)`."""
    for name, value in changes.items():
        config = _changed(config, name, value)
    return config


def _changed(config: TaskConfig, name: str, value: Any) -> TaskConfig:
    model = config.model
    if name in _fields(Replies):
        return replace(config, model=replace(model, replies=replace(model.replies, **{name: value})))
    for part in ("model", "workspace", "limits", "hooks"):
        if name in _fields(type(getattr(config, part))):
            return replace(config, **{part: replace(getattr(config, part), **{name: value})})
    return replace(config, **{name: value})


def _fields(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


class Kit:
    """Config, provider, user and a list of all events."""

    def __init__(
        self,
        folder: Path,
        script: Iterable[Scripted] | Callable[[ModelRequest], Scripted],
        *,
        user: Callable[[Request], Answer | None] = yes,
        protocol: str = "native",
        policy: str = "all",
        prompt: str = "full",
        **changes: Any,
    ) -> None:
        """`changes` are fields of the config, whichever of its parts they belong to."""
        self.workspace = folder / "project"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.provider = ScriptedProvider(script)
        self.events: list[Event] = []
        self._expected: list[tuple[type, asyncio.Event]] = []
        self.by_task: list[tuple[str, Event]] = []
        self.user = user
        self.task: TaskHandle | None = None
        tools = builtin_tools()
        profile = choose_profile(prompt, changes.get("context_window"))  # type: ignore[arg-type]
        replies = profile.replies(Replies(retry=NO_WAITING, context_window=changes.get("context_window")))
        self.config = TaskConfig(
            Model(self.provider, "claude-sonnet-4-5", protocols.get(protocol), replies=replies),
            TaskWorkspace(self.workspace, TaskStore(folder / "tasks")),
            tools=lambda mode: build_toolset(mode, tools),
            modes={mode.slug: mode for mode in BUILTIN_MODES},
            approvals=Settings.for_profile(policy),
            profile=profile,
            hooks=Hooks(self.watch),
        )
        self.change(**changes)

    def change(self, **changes: Any) -> None:
        self.config = changed(self.config, **changes)

    def assemble(self, text: str = "Do it.") -> Assembly:
        """The parts of a task with nothing in its conversation yet."""
        folder, journal = self.store.folder("task"), Journal(self.store.journal_path("task"))
        log = TaskLog("task", folder, journal, self.config.hooks.watch, TaskState())
        log.record(TaskOpened("task", text, str(self.workspace), "code", "m", self.config.model.protocol.name))
        assembly = Assembly.of(self.config, log, NO_FAMILY)
        assembly.supervisor.new_request(text)
        return assembly

    @property
    def store(self) -> TaskStore:
        return self.config.workspace.store

    def watch(self, task_id: str, event: Event) -> None:
        self.events.append(event)
        for kind, seen in self._expected:
            if isinstance(event, kind):
                seen.set()
        self.by_task.append((task_id, event))
        if isinstance(event, (ApprovalRequested, QuestionRequested, CompletionRequested, ContinueRequested)):
            answer = self.user(event)
            if answer is not None and self.task is not None and not self.config.hooks.headless:
                # The request is emitted before anyone waits for the answer, as in a front end that answers at once.
                task = self.task
                asyncio.get_running_loop().call_soon(lambda: task.send(answer))

    async def run(self, text: str = "Do it.", **options: Any) -> TaskFinished:
        self.task = start_task(self.config, text, **options)
        return await self.task.run()

    async def resume(
        self,
        task_id: str,
        script: Iterable[Scripted] | Callable[[ModelRequest], Scripted],
        text: str = "",
        profile: str | None = None,
    ) -> TaskFinished:
        self.provider = ScriptedProvider(script)
        config = changed(self.config, provider=self.provider)
        self.task = resume_task(config, task_id, text=text, profile=profile)
        return await self.task.run()

    async def saw(self, kind: type) -> None:
        """Wait until an event of this kind has come."""
        seen = asyncio.Event()
        self._expected.append((kind, seen))
        if not self.of(kind):
            await seen.wait()

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def sent(self) -> list[Any]:
        """The messages of the last request."""
        return list(self.provider.requests[-1].messages)
