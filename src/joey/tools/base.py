"""A tool: what the model sees of it, what it would do, and doing it.

A call goes through three steps, so that what was approved is what happens:

1. `actions(params, context)` declares what the call would touch, without looking at it. The policy judges that.
2. `plan(params, context)` looks, changes nothing, and says what else the call would do, and what to show the user (a
   diff, say). The policy judges the rest; where it says so, the user is asked. A call that cannot work ends here.
3. `plan.execute()` does exactly that, or fails and leaves everything as it was.

Most tools have nothing to prepare: they implement `run` and, if they touch the world, `actions`.

What a tool remembers during a task is an object of its own type: `context.memory[Jobs]` is the same in every call, made
when it is first needed, without arguments, and closed with the task. One that holds something open has `async def
close(self)`; one that looks at what the others left behind has `async def after_close(self)`, which is called when
everything is closed.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from joey.actions import Action
from joey.effects import Effect, Todo
from joey.messages import ResultBlock, Shown, ToolResult
from joey.messages import TextBlock as _TextBlock
from joey.schema.normalise import tidy
from joey.system.filenames import unquoted
from joey.system.processes import ProcessGroup
from joey.tools.display import Display, flat
from joey.tools.forms import AskForm, decline
from joey.toolspec import CustomForm, Group, ToolSpec
from joey.wire import JsonObject, JsonValue

if TYPE_CHECKING:  # a tool of the user's need not know what the built-in ones can be told
    from joey.tools.options import BuiltinOptions

T = TypeVar("T")


class ToolMemory:
    """The objects of one task, by type."""

    def __init__(self) -> None:
        self._objects: dict[type[Any], Any] = {}

    def __getitem__(self, kind: type[T]) -> T:
        if kind not in self._objects:
            self._objects[kind] = kind()
        found: T = self._objects[kind]
        return found

    async def close(self) -> None:
        """Close everything, side by side, and forget it; a failure of one does not keep the others open."""
        objects = tuple(self._objects.values())
        self._objects.clear()
        for step in ("close", "after_close"):
            steps = [getattr(each, step) for each in objects if hasattr(each, step)]
            await asyncio.gather(*(each() for each in steps), return_exceptions=True)


ApprovedBy: TypeAlias = Literal["user", "rule", "sandbox"]
"""A person who was asked about this very call; a rule (or a profile) that allows it; or a profile that lets commands
run because a full sandbox holds them."""

Feature: TypeAlias = Literal[
    "todo_list",
    "image_generation",
    "slash_commands",
    "skills",
    "codebase_index",
    "language_servers",
    "mcp_resources",
    "browser",
    "web_fetch",
    "web_search",
]
"""A part of Joey that can be missing or switched off, and the tools that need it with it."""


PathText: TypeAlias = Annotated[str, AfterValidator(unquoted)]
"""A path among the arguments: what a listing showed in quotes (`quoted`) is the name in them. It is read here, so
that what is judged and what is done are the same."""


@dataclass(frozen=True, slots=True)
class Confined:
    """What held a command: the level of its sandbox (`full`, `partial`, `none`, or `off` where there is none by the
    user's will), what it could reach of the network, and the same in words."""

    level: str
    network: str
    message: str


class Params(BaseModel):
    """The arguments of a tool. Every field has a description: it is what the model reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)


ParamsT = TypeVar("ParamsT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the policy answers while a call runs. The defaults allow nothing."""

    may_visit: Callable[[str], bool] = lambda _url: False
    """Whether a page of this address may be opened without asking."""
    may_fetch: Callable[[str], bool] = lambda _url: False
    """The same for a page that is fetched without a browser."""
    may_widen: Callable[[str], bool] = lambda _need: False
    """Whether a command may have this beyond its sandbox without asking."""
    guarded: Callable[[str], bool] = lambda _path: False
    """Whether a file is one that something runs or obeys later, so that commands may not change it unnoticed."""
    approved_by: Callable[[], ApprovedBy] = lambda: "rule"
    """Who let this call run; known once it runs."""


class EditorFiles(Protocol):
    """An editor. Both wait for it, so they are called in threads."""

    def read(self, path: Path) -> str | None:
        """The text of a file, with unsaved changes; None if the editor does not say."""
        ...

    def write(self, path: Path, text: str) -> None:
        """Change a file in the editor and on the disk. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The world as a tool may see it. Nothing here is global; `memory` is the same object for the whole task."""

    workspace: Path
    storage: Path
    """Where things are kept that belong to the task, such as the whole output of a command."""
    mode: str = "code"
    """The slug of the mode the task is in now."""
    modes: tuple[str, ...] = ()
    """The slugs of all modes; empty if unknown."""
    subtask_model: Callable[[str], str] = lambda _mode: ""
    """The model that a subtask in a mode works with; empty: that of its task."""
    todos: tuple[Todo, ...] = ()
    """The todo list of the task as this call finds it."""
    ignored: Callable[[Path | str], bool] = lambda _path: False
    """Whether an ignore file hides this (resolved, absolute) path from the model."""
    permissions: Permissions = Permissions()
    """What the policy allows this call beyond its actions."""
    confined: Callable[[Confined], None] = lambda _confined: None
    """Is told what held the command that this call runs."""
    started: Callable[[str, ProcessGroup], None] = lambda _command, _group: None
    """Is told of each command that runs, and as what, before anybody waits for it."""
    warn: Callable[[str], None] = lambda _text: None
    """Warns the user of what no result can tell any more, since the task is ending."""
    progress: Callable[[str], None] = lambda _text: None
    """Shows the user live output while the tool runs."""
    ask_form: AskForm = decline
    """Puts a form of somebody else's to the user, such as one of an MCP server."""
    reading: Callable[[Path], None] = lambda _path: None
    """Is given each file, resolved, that a plan looks into before the call is approved."""
    editor: EditorFiles | None = None
    """Where files are open with changes that are not saved, if the user wants those to count."""
    declared: tuple[Action, ...] = ()
    """What the call declared with `actions`, and was judged for; known when it is planned."""
    memory: ToolMemory = field(default_factory=ToolMemory)
    """What tools remember during a task: running jobs, file versions seen, an open browser."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a call would be carried out. `actions` are what it does besides what it declared. `refusal` is set when the
    call cannot work: nothing to ask. Then `suggested` may name the tools that can help; a model that is held to a
    grammar calls one of these next."""

    actions: tuple[Action, ...]
    execute: Callable[[], Awaitable[ToolResult]]
    shown: tuple[Shown, ...] = ()
    refusal: ToolResult | None = None
    suggested: tuple[str, ...] = ()
    targets: tuple[Path, ...] = ()
    """The files it would change, resolved. They are judged like the actions: a path may lead elsewhere by then."""
    sources: tuple[Path, ...] = ()
    """The files and folders it would read, resolved; judged likewise. Just these are opened, and no link."""
    is_void: bool = False
    """Whether what the call would change is so already: it can be answered, and there is nothing to ask."""

    @property
    def does_nothing(self) -> bool:
        return self.is_void or self.refusal is not None


class Tool(ABC, Generic[ParamsT]):
    """Something the model can call. Subclasses set these variables, on the class or on the object (when they depend on
    options), and implement `run`."""

    name: str
    group: Group
    params: type[BaseModel]
    aliases: tuple[str, ...] = ()
    """Other names under which models call it."""
    field_aliases: Mapping[str, str] = {}
    """Other names under which models give its arguments: `{"content": "file_text"}`."""
    example: JsonObject = {}
    """The arguments of one good call, shown when a call was wrong."""
    feature: Feature | None = None
    """The feature without which the tool is not offered."""
    opt_in: bool = False
    """Offered only to models whose include list names it (the edit tools that suit some models better)."""
    listed: bool = True
    """Whether the model sees it in its list. One that is not listed can still be called by a model that knows it."""
    display: Display = Display()
    """How its calls are shown to the user."""
    custom: CustomForm | None = None
    """How it is offered to models that can write its one argument as plain text."""
    namespace: str = ""
    """The group it belongs to, such as an MCP server."""

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:  # noqa: ARG003 - for those that have some
        """A built-in tool as the options of a task want it. Most have none."""
        return cls()

    @cached_property
    def description(self) -> str:
        """The words beside the code: `read_file.md` next to `read_file.py`, or else the docstring of the class."""
        source = getattr(sys.modules[type(self).__module__], "__file__", None)  # None for what was typed in
        words = Path(source or "typed").with_suffix(".md")
        return words.read_text(encoding="utf-8").strip() if words.is_file() else inspect.getdoc(type(self)) or ""

    @property
    def spec(self) -> ToolSpec:
        words = (self.name, self.description, self.schema, self.field_aliases, self.example)
        return ToolSpec(*words, self.custom, self.namespace)

    @cached_property
    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments, as the model reads it."""
        return tidy(self.params.model_json_schema())

    def summary(self, arguments: JsonValue) -> str:
        """What a call with these arguments is about, for the user: its path, its command."""
        return self.display.summary(flat(arguments))

    def adapted(self, arguments: JsonObject) -> JsonObject:
        """The arguments in the shape of `params`, where a model used another one it knows. Must not raise."""
        return arguments

    def actions(self, params: ParamsT, context: ToolContext) -> tuple[Action, ...]:
        """What the call would touch. None means that it needs no approval."""
        return ()

    async def plan(self, params: ParamsT, context: ToolContext) -> Plan:
        return Plan((), lambda: self.run(params, context))

    @abstractmethod
    async def run(self, params: ParamsT, context: ToolContext) -> ToolResult:
        """Do it. Errors the model can act on are results with `is_error`, not exceptions."""


class PlannedTool(Tool[ParamsT]):
    """A tool that has something to prepare: subclasses implement `plan`, and running it is carrying that out."""

    @abstractmethod
    async def plan(self, params: ParamsT, context: ToolContext) -> Plan: ...

    async def run(self, params: ParamsT, context: ToolContext) -> ToolResult:
        plan = await self.plan(params, context)
        return plan.refusal or await plan.execute()


def ok(text: str, *blocks: ResultBlock, shown: tuple[Shown, ...] = (), effect: Effect | None = None) -> ToolResult:
    """A result that went well."""
    return ToolResult((_TextBlock(text), *blocks), shown, effect=effect)


def failed(text: str, *, shown: tuple[Shown, ...] = ()) -> ToolResult:
    """A result that tells the model what went wrong and what to do."""
    return ToolResult((_TextBlock(text),), shown, is_error=True)
