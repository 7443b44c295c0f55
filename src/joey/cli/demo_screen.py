"""The demo in the interactive terminal: its task, in a terminal that closes when the result was accepted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from joey.app.services import Choices, Services
from joey.app.tasks import Given, TaskOptions
from joey.events import Event, TaskFinished
from joey.journal.store import TaskStore
from joey.messages import ImageBlock
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.terminal.screen.app import Interactive
from joey.terminal.scrollback import print_conversation
from joey.testing.hello_model import TASK


class DemoServices(Services):
    """The services of the scratch folder: of the user's own, only the settings of the terminal count."""

    def __init__(self, options: TaskOptions, given: Given, folder: Path, about: str) -> None:
        super().__init__(options, TaskStore(folder / "tasks"), given)
        self._folder, self._about = folder, about
        self.finished = TaskFinished("cancelled")
        self.when_accepted: Callable[[], object] = lambda: None

    @property
    def storage(self) -> Path:
        return self._folder

    def notices(self) -> Sequence[str]:
        return [self._about]

    @asynccontextmanager
    async def open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock] = ()
    ) -> AsyncIterator[TaskHandle]:
        def both(task_id: str, event: Event) -> None:
            watch(task_id, event)
            if isinstance(event, TaskFinished):
                self.finished = event
                if event.outcome == "completed":
                    self.when_accepted()

        async with super().open(prompt, choices, both, images) as task:
            yield task


async def show_demo(
    scripted: AbstractAsyncContextManager[tuple[TaskOptions, Given]], model: str, folder: Path, about: str
) -> TaskFinished:
    """Show the task until its result is accepted, or the user quits. Returns how it ended."""
    async with scripted as (options, given):
        services = DemoServices(options, given, folder, about)
        app = Interactive(services, Choices("code", model), first=TASK)
        services.when_accepted = app.close
        await app.run_async()
    print_conversation(app.transcript.entries, app.look)
    return services.finished
