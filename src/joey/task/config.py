"""What a task is made of, put together by the composition root (`joey.app`), by a test, or by you."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from joey.checkpoints import CheckpointLimits
from joey.commands import Answer
from joey.errors import UsageError
from joey.events import Request
from joey.journal.project_permissions import ProjectPermissions
from joey.journal.store import TaskStore
from joey.mcp.servers import McpServers
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.prompts import UserInput
from joey.protocols.base import Parser, Protocol
from joey.providers.base import Provider, ReasoningOptions
from joey.providers.catalogue import Prices
from joey.system.worktrees import Worktrees
from joey.task.log import Watcher
from joey.task.profiles.base import Profile
from joey.task.prompt import PromptContext
from joey.task.settings import NO_CHECKS, NO_HOOKS, CheckSettings, HookSettings, Replies, TaskLimits
from joey.tools.base import EditorFiles
from joey.tools.toolset import Toolset
from joey.usage import Usage


def new_task_id(now: datetime | None = None) -> str:
    """Ids sort by time, so that a list of folders is a list of tasks."""
    return f"{(now or datetime.now()).strftime('%Y%m%d-%H%M%S')}-{token_hex(5)}"  # noqa: DTZ005 - local time is meant


async def _as_typed(text: str, _mode: str) -> UserInput:
    return UserInput(text)


async def _nothing_between() -> str | None:
    return None


class Suspended(BaseException):
    """Raised by a hook: the task stops where it is, without an end, and can be resumed. No error of a tool's: nothing
    on the way catches it."""


@dataclass(frozen=True, slots=True)
class FastModel:
    """A smaller model for what is not the work itself: it summarizes the conversation."""

    provider: Provider
    name: str
    label: str
    """Its full name, provider/model."""
    reasoning: ReasoningOptions | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """Who does the work: a model of a provider, and the protocol in which it calls tools."""

    provider: Provider
    name: str
    protocol: Protocol
    label: str = ""
    """The model's full name, provider/model, for the journal; the name itself when left out."""
    prices: Prices = field(default_factory=Prices)
    replies: Replies = field(default_factory=Replies)
    base_url: str | None = None
    """The server that was named for this task alone, for the journal."""
    fast: FastModel | None = None
    """Who writes summaries; None: the model itself."""

    @property
    def full_name(self) -> str:
        return self.label or self.name

    def cost(self, usage: Usage) -> float | None:
        return self.prices.cost(self.provider.answering(self.full_name), usage)


@dataclass(frozen=True, slots=True)
class TaskWorkspace:
    """Where the work is done, and where the task is kept."""

    folder: Path
    store: TaskStore
    paths: Workspace | None = None
    """What the policy knows of the disk; made from the folder when left out."""
    prompt_context: PromptContext | None = None
    permissions: ProjectPermissions | None = None
    """What the user allowed in this folder; None: nothing can be allowed for longer than the task."""
    editor: EditorFiles | None = None
    """Where files are open with changes that are not saved, if the user wants those to count."""
    checkpoints: CheckpointLimits | None = None
    """How much of the files is kept before they are changed; None keeps nothing."""
    worktrees: Worktrees | None = None
    """Makes git worktrees for subtasks that write beside each other; None: they write in turn."""
    is_worktree: bool = False
    """Whether it is a subtask's worktree: what the user allows there does not hold in the folder it was made from."""

    def moved_to(self, folder: Path) -> TaskWorkspace:
        """The same for a subtask in a worktree: what was allowed holds there, too, and no editor has it open."""
        context = replace(self.prompt_context, workspace=str(folder)) if self.prompt_context is not None else None
        paths = Workspace.of(folder)
        return replace(self, folder=folder, paths=paths, prompt_context=context, editor=None, is_worktree=True)


@dataclass(frozen=True, slots=True)
class Hooks:
    """What connects a task with whoever started it."""

    watch: Watcher = lambda _task_id, _event: None
    headless: bool = False
    """Whether nobody is there: then what would be asked is denied, with the reason."""
    expand_input: Callable[[str, str], Awaitable[UserInput]] = _as_typed
    """What the user typed, with what it names (joey.prompts), in a mode. Given only the user's own words."""
    wrap_parser: Callable[[Parser], Parser] = lambda parser: parser
    """Wraps the parser of each reply, to show what it is given and makes of it."""
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()
    new_id: Callable[[], str] = new_task_id
    user_hooks: HookSettings = NO_HOOKS
    """Commands and functions of the user's that run at points of the task (joey.hooks)."""
    checks: CheckSettings = NO_CHECKS
    """What runs after edits."""
    between_turns: Callable[[], Awaitable[str | None]] = _nothing_between
    """Awaited before each turn, when everything before it is written down. Returns why there must not be another turn,
    which ends the task, or None."""
    answer: Callable[[Request], Awaitable[Answer]] | None = None
    """Answers requests in place of `TaskHandle.send`. It may raise `Suspended`: the task that is resumed then makes the
    calls that it had not begun, and requests the same again."""


@dataclass(frozen=True, slots=True)
class AgentModel:
    """The model for a subtask of a mode: its full name, empty for that of its task; and why it is not the one that the
    mode names, if it is not."""

    name: str = ""
    refused: str = ""


class AgentModels:
    """The models that modes name for their subtasks. This one has none: they work with the model of their task."""

    def choose(self, mode: Mode) -> AgentModel:
        """The model for subtasks in this mode."""
        return AgentModel()

    async def applied(self, config: TaskConfig, name: str) -> TaskConfig:
        """The config of a subtask, with this model in place of its task's. Raises JoeyError if it cannot be had."""
        raise UsageError("this task has no other model")

    def is_news(self, words: str) -> bool:
        """Whether the user has not read this yet; from now on, they have."""
        return True

    async def close(self) -> None:
        """Release what was opened."""


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """The pieces of a task. Nothing here is global: two tasks with different pieces do not know of each other."""

    model: Model
    workspace: TaskWorkspace
    tools: Callable[[Mode], Toolset]
    """The tools of a mode. Asked before every turn: return the same object as long as nothing changed."""
    modes: Mapping[str, Mode]
    profile: Profile
    approvals: Settings = field(default_factory=Settings)
    profiles: Callable[[str], Settings] = Settings.for_profile
    """The approvals under another profile, with the rules of the user. UsageError for one that there is not."""
    limits: TaskLimits = field(default_factory=TaskLimits)
    hooks: Hooks = field(default_factory=Hooks)
    reads_only: bool = False
    """Whether calls that change something are refused whatever else holds: a subtask that runs beside others."""
    hands_back: bool = False
    """Whether its result is taken as it is: nobody has to accept what a subtask beside others hands back."""
    servers: McpServers | None = None
    """The MCP servers that its tools come from, for whoever shows them."""
    agent_models: AgentModels = field(default_factory=AgentModels)

    def mode(self, slug: str) -> Mode:
        """The mode of this name, or the first, if there is none any more."""
        return self.modes.get(slug) or next(iter(self.modes.values()))
