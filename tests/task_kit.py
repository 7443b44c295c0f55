"""A task made of real parts in a scratch folder, with a scripted model and a user who answers by rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
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
from joey.journal.store import TaskStore
from joey.messages import ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES
from joey.policy.settings import Settings
from joey.providers.retry import RetryPolicy
from joey.task.parts import Parts
from joey.task.settings import TaskSettings
from joey.task.task import Task
from joey.testing.script import Scripted, reply
from joey.testing.scripted import ScriptedProvider
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

NO_WAITING = RetryPolicy(retries=2, first_delay=0.0)
SETTINGS = TaskSettings(retry=NO_WAITING)


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


def done(call_id: str = "done", result: str = "All done.") -> Scripted:
    return reply(call(call_id, "attempt_completion", result=result))


def yes(request: Request) -> Answer:
    """A user who agrees to everything and picks the first suggestion."""
    text = request.suggestions[0].text if isinstance(request, QuestionRequested) and request.suggestions else ""
    return Answer(request.request_id, yes=True, text=text)


class Kit:
    """Parts, provider, user and a list of all events."""

    def __init__(
        self,
        folder: Path,
        script: Iterable[Scripted],
        *,
        user: Callable[[Request], Answer | None] = yes,
        protocol: str = "native",
        policy: str = "all",
        settings: TaskSettings = SETTINGS,
        headless: bool = False,
    ) -> None:
        self.workspace = folder / "project"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.provider = ScriptedProvider(script)
        self.events: list[Event] = []
        self._expected: list[tuple[type, asyncio.Event]] = []
        self.by_task: list[tuple[str, Event]] = []
        self.user = user
        self.task: Task | None = None
        tools = builtin_tools()
        self.parts = Parts(
            provider=self.provider,
            model="claude-sonnet-4-5",
            protocol=protocols.get(protocol),
            workspace=self.workspace,
            store=TaskStore(folder / "tasks"),
            modes={mode.slug: mode for mode in BUILTIN_MODES},
            toolset=lambda mode: build_toolset(mode, tools),
            policy=Settings.for_profile(policy),
            settings=settings,
            headless=headless,
            watch=self.watch,
        )

    def watch(self, task_id: str, event: Event) -> None:
        self.events.append(event)
        for kind, seen in self._expected:
            if isinstance(event, kind):
                seen.set()
        self.by_task.append((task_id, event))
        if isinstance(event, (ApprovalRequested, QuestionRequested, CompletionRequested, ContinueRequested)):
            answer = self.user(event)
            if answer is not None and self.task is not None and not self.parts.headless:
                # The request is emitted before anyone waits for the answer, as in a front end that answers at once.
                task = self.task
                asyncio.get_running_loop().call_soon(lambda: task.send(answer))

    async def run(self, text: str = "Do it.", **options: Any) -> TaskFinished:
        self.task = Task.start(self.parts, text, **options)
        return await self.task.run()

    async def resume(self, task_id: str, script: Iterable[Scripted], text: str = "") -> TaskFinished:
        self.provider = ScriptedProvider(script)
        self.task = Task.resume(replace(self.parts, provider=self.provider), task_id, text=text)
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
