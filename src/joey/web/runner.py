"""The tasks that run in the server itself. They are tasks like any other: a terminal sees them, and may answer them.

A task that is done is ended at once, so that a terminal or an editor can continue it; the next message from the page
resumes it. Only one with commands in the background stays open, as long as they run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from joey.app.services import Choices, Services
from joey.commands import Answer, Cancel, Command
from joey.errors import JoeyError, UsageError
from joey.events import CompletionRequested, Event
from joey.messages import ImageBlock
from joey.task.task import TaskHandle

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants of a task that begins or continues. None: as the settings or the task say."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    mode: str | None = None
    model: str | None = None
    profile: str | None = None


class Runner:
    """Starts and resumes tasks, and passes commands to those that run here."""

    def __init__(self, services: Callable[[Path], Services]) -> None:
        self._services = services
        self.tasks: dict[str, TaskHandle] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, folder: Path, wanted: Wanted) -> str:
        """A new task. Its id, once it runs; JoeyError if it cannot."""
        services = self._services(folder)
        choices = services.first_choices()
        chosen = replace(choices, mode=wanted.mode or choices.mode, model=wanted.model or choices.model)
        return await self._open(services, replace(chosen, profile=await _profile(services, wanted)), wanted)

    async def resume(self, task_id: str, folder: Path, wanted: Wanted) -> str:
        """A task that does not run, continued with a message, or where it was interrupted."""
        found = self._services(folder)
        task_id, state, opened = found.state(task_id)
        if state.is_finished and not (wanted.text or wanted.images):
            raise UsageError("this task is finished; write what to do next")
        services = found.in_folder_of(opened)
        own = services.choices_for(opened, named=False)
        choices = replace(own, mode=wanted.mode, model=wanted.model or own.model, resume=task_id)
        return await self._open(services, replace(choices, profile=await _profile(services, wanted)), wanted)

    async def _open(self, services: Services, choices: Choices, wanted: Wanted) -> str:
        opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        watching = _Watching()
        task = services.open(wanted.text, choices, watching.watch, wanted.images)
        running = asyncio.ensure_future(self._run(task, opened, watching))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await opened

    async def _run(
        self, opening: AbstractAsyncContextManager[TaskHandle], opened: asyncio.Future[str], watching: _Watching
    ) -> None:
        task_id = ""
        try:
            async with opening as task:
                task_id, watching.task = task.id, task
                self.tasks[task_id] = task
                opened.set_result(task_id)
                await task.run()
        except JoeyError as error:
            _failed(opened, error)
        except Exception as error:  # noqa: BLE001 - a bug of ours ends this task, not the server
            _LOG.exception("the task %s failed", task_id)
            _failed(opened, JoeyError(f"the task failed unexpectedly: {error}"))
        finally:
            self.tasks.pop(task_id, None)

    def send(self, task_id: str, run: str, command: Command) -> bool | None:
        """Give a command to a task that runs here. False: nobody was there for it; None: it does not run here."""
        task = self.tasks.get(task_id)
        if task is None:
            return None
        return task.run_id == run and task.send(command)

    async def close(self) -> None:
        """End all tasks; they can be resumed."""
        for task in [*self.tasks.values()]:
            task.send(Cancel("the server was stopped"))
        if self._running:
            await asyncio.wait(self._running)


class _Watching:
    """Ends a task that is done: nobody needs to accept what stands there, and the next message resumes it."""

    def __init__(self) -> None:
        self.task: TaskHandle | None = None

    def watch(self, task_id: str, event: Event) -> None:
        task = self.task
        if task is None or task_id != task.id or not isinstance(event, CompletionRequested) or event.plan:
            return
        if not task.running_commands:
            asyncio.get_running_loop().call_soon(task.send, Answer(event.request_id, yes=True))


def _failed(opened: asyncio.Future[str], error: JoeyError) -> None:
    if not opened.done():
        opened.set_exception(error)


async def _profile(services: Services, wanted: Wanted) -> str | None:
    if wanted.profile is None:
        return None
    allowed: Sequence[str] = await services.profiles()
    if wanted.profile not in allowed:
        raise UsageError(f"the approval profile {wanted.profile!r} is not available here; use {', '.join(allowed)}")
    return wanted.profile
