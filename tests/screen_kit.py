"""The interactive terminal with a scripted model, in a scratch folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from textual.pilot import Pilot

from joey.app.model_parts import input_expander
from joey.app.services import Choices, Services
from joey.app.tasks import TaskOptions
from joey.events import Event
from joey.mcp.config import ServerConfig
from joey.messages import ImageBlock
from joey.policy import Workspace
from joey.prompts import Library
from joey.system.place import NamedPlace
from joey.task.log import Watcher
from joey.task.opening import resume_task, start_task
from joey.task.request import ContextView
from joey.task.task import TaskHandle
from joey.terminal.screen.app import Interactive
from joey.testing.script import Scripted
from task_kit import Kit, changed


class ScratchServices(Services):
    """Services of real parts and a scripted model, which remember the events."""

    def __init__(self, folder: Path, script: Iterable[Scripted], policy: str = "all") -> None:
        self.kit = Kit(folder, script, policy=policy)
        super().__init__(TaskOptions(self.kit.workspace), self.kit.store)
        library = Library(self.kit.workspace, folder / "user")
        expand_input = input_expander(Workspace.of(self.kit.workspace), library, sees_images=True)
        self.kit.change(expand_input=expand_input)
        self.events: list[Event] = []
        self.kept: dict[str, str] = {}
        """Settings that the terminal kept, which are the user's and not of this machine's."""

    def setting(self, name: str) -> Any:
        return self.kept.get(name) or super().setting(name)

    def keep_setting(self, name: str, value: str) -> None:
        self.kept[name] = value

    @property
    def storage(self) -> Path:
        return self.kit.workspace.parent

    def place(self) -> NamedPlace:
        return NamedPlace("~/project", "main")

    def profile(self, kept: str = "") -> str:
        return kept or "ask"

    async def profiles(self) -> Sequence[str]:
        return ["ask", "edits", "plan"]

    def open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock] = ()
    ) -> AbstractAsyncContextManager[TaskHandle]:
        return self._open(prompt, choices, watch, images)

    @asynccontextmanager
    async def _open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock]
    ) -> AsyncIterator[TaskHandle]:
        def both(task_id: str, event: Event) -> None:
            self.events.append(event)
            watch(task_id, event)

        config = changed(self.kit.config, watch=both, label=choices.model or "scripted/model")
        if choices.resume:
            yield resume_task(config, choices.resume, text=prompt, mode=choices.mode, images=images)
        else:
            mode = choices.mode or "code"
            request = await config.hooks.expand_input(prompt, mode)
            yield start_task(config, prompt, mode=mode, images=images, attached=request.attached)

    async def context(self, choices: Choices) -> ContextView:
        with closing(resume_task(self.kit.config, choices.resume or "")) as task:
            return task.context

    def modes(self) -> Sequence[tuple[str, str]]:
        return [(mode.slug, mode.name) for mode in self.kit.config.modes.values()]

    def tools(self, mode: str) -> Sequence[tuple[str, str]]:
        specs = self.kit.config.tools(self.kit.config.modes[mode]).specs
        return [(spec.name, spec.description.strip().split("\n")[0]) for spec in specs]

    def servers(self) -> Sequence[ServerConfig]:
        return [ServerConfig("library", "stdio", Path("mcp.json"), "user", command="python", args=("library.py",))]

    def notices(self) -> Sequence[str]:
        return ["this folder is not trusted"]

    def files(self) -> Sequence[str]:
        return ["a.txt", "src/", "src/server.py"]

    def commands(self) -> Mapping[str, str]:
        return {"review": "look at what changed"}


def words(drawn: RenderableType, width: int = 100) -> str:
    """The text of what is drawn, without colour."""
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def on_screen(app: Interactive) -> str:
    """The screen as text."""
    width, height = app.size
    return "\n".join("".join(s.text for s in line) for line in app.screen._compositor.render_strips())[
        : (width + 1) * height
    ]


async def until(pilot: Pilot[None], text: str, *, gone: bool = False) -> str:
    """Wait until the screen says this; returns the screen."""
    app = pilot.app
    assert isinstance(app, Interactive)
    for _ in range(400):
        screen = on_screen(app)
        if (text in screen) is not gone:
            return screen
        await pilot.pause(0.02)
    raise AssertionError(f"{text!r} {'is still' if gone else 'is not'} on the screen:\n{on_screen(app)}")


async def say(pilot: Pilot[None], text: str) -> None:
    """Type and press Enter."""
    await pilot.press(*(_key(character) for character in text), "enter")


def _key(character: str) -> str:
    named = {" ": "space", "/": "slash", ".": "full_stop", "@": "at", ",": "comma", "-": "minus", "?": "question_mark"}
    return named.get(character, character)
