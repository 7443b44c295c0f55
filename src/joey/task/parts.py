"""What a task is made of, put together by the composition root (`joey.app`), by a test, or by you."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from joey.checkpoints import CheckpointLimits
from joey.events import Event
from joey.journal.store import TaskStore
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.prompts import UserInput
from joey.protocols import Parser, Protocol
from joey.providers.base import Provider
from joey.providers.catalogue import Prices
from joey.task.prompt import Surroundings
from joey.task.settings import TaskSettings
from joey.tools.toolset import Toolset

Watcher: TypeAlias = Callable[[str, Event], None]
"""Is told of every event, with the id of the task it belongs to. It must not block, and it cannot steer."""


def new_task_id(now: datetime | None = None) -> str:
    """Ids sort by time, so that a list of folders is a list of tasks."""
    return f"{(now or datetime.now()).strftime('%Y%m%d-%H%M%S')}-{token_hex(5)}"  # noqa: DTZ005 - local time is meant


async def _as_typed(text: str, _mode: str) -> UserInput:
    return UserInput(text)


@dataclass(frozen=True, slots=True)
class Parts:
    """The pieces of a task. Nothing here is global: two tasks with different parts do not know of each other."""

    provider: Provider
    model: str
    protocol: Protocol
    workspace: Path
    store: TaskStore
    modes: Mapping[str, Mode]
    toolset: Callable[[Mode], Toolset]
    """The tools of a mode. Asked before every turn: return the same object as long as nothing changed."""
    policy: Settings = field(default_factory=Settings)
    settings: TaskSettings = field(default_factory=TaskSettings)
    surroundings: Surroundings | None = None
    paths: Workspace | None = None
    """What the policy knows of the disk; made from the workspace when left out."""
    checkpoints: CheckpointLimits | None = None
    """How much of the files is kept before they are changed; None keeps nothing."""
    asked: Callable[[str, str], Awaitable[UserInput]] = _as_typed
    """What the user typed, with what it names (joey.prompts), in a mode. Given only the user's own words."""
    prices: Prices = field(default_factory=Prices)
    label: str = ""
    """The model's full name, provider/model, for the journal; the model itself when left out."""
    headless: bool = False
    """Whether nobody is there: then what would be asked is denied, with the reason."""
    watch_parser: Callable[[Parser], Parser] = lambda parser: parser
    """Wraps the parser of each reply, to show what it is given and makes of it."""
    watch: Watcher = lambda _task_id, _event: None
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    new_id: Callable[[], str] = new_task_id
