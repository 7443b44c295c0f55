"""What the interactive terminal needs from the outside, as an interface: the composition root fills it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joey.journal.replay import TaskState
from joey.messages import ImageBlock
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.terminal.past import Past


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user has chosen so far. None: as the command line, the settings or the task say."""

    mode: str | None = None
    model: str | None = None
    resume: str | None = None
    """The id of the task to go on with; None begins a new one."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in the list of tasks."""

    task_id: str
    status: str
    text: str


class Workshop(Protocol):
    """Opens tasks and knows what there is. Whatever cannot be had is a JoeyError that says why."""

    @property
    def folder(self) -> Path:
        """Where the work is done."""
        ...

    @property
    def past(self) -> Past:
        """What the user said here before."""
        ...

    def open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock] = ()
    ) -> AbstractAsyncContextManager[TaskHandle]:
        """A task, new or resumed. It is run by whoever opened it."""
        ...

    def image(self, path: Path) -> ImageBlock:
        """A picture from a file."""
        ...

    def modes(self) -> Sequence[tuple[str, str]]:
        """The modes there are: slug and name."""
        ...

    def tools(self, mode: str) -> Sequence[tuple[str, str]]:
        """The tools of a mode: name and the first sentence of what it does."""
        ...

    def tasks(self) -> Sequence[TaskLine]:
        """The tasks there have been, the one that changed last first."""
        ...

    def state(self, start: str) -> tuple[str, TaskState]:
        """The id and the state of the task whose id begins like this (`last`: the newest)."""
        ...

    def servers(self) -> Sequence[tuple[str, str]]:
        """The MCP servers that are set up: name and what is run, or where it is."""
        ...

    def notices(self) -> Sequence[str]:
        """What the user should know before anything begins."""
        ...

    def files(self) -> Sequence[str]:
        """The files and folders of the workspace, for mentions."""
        ...

    def commands(self) -> Mapping[str, str]:
        """The user's own slash commands and skills, and what each is for: such a line is for the model."""
        ...

    def undo(self, task_id: str, *, do: bool) -> str:
        """Put the files back to before the last turn of a task that changed something, or say what that would do."""
        ...
