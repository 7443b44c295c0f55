"""What a profile decides, and the supervisor that it gives to each task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from joey.actions import Action, ReadPath
from joey.effects import Todo
from joey.messages import Message, ToolResult
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.protocols.base import Protocol
from joey.task.prompt import PromptContext
from joey.task.repetition import Repetition
from joey.task.settings import Replies, TaskLimits
from joey.tools.base import Plan, Tool, ToolContext
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices
from joey.toolspec import ToolSpec
from joey.wire import JsonValue


@dataclass(frozen=True, slots=True)
class Objection:
    """What speaks against a proposed completion, in words for the model. `suggested` are tools that can help."""

    text: str
    suggested: tuple[str, ...] = ()
    is_error: bool = False
    """Whether the call itself was wrong, and not what it claims."""


class Supervisor:
    """Watches the calls of one task, and steps in where a model goes round in circles.

    Tools that were just called without success may be disabled until a call succeeds. That holds only for replies that
    are bound to a grammar: others may call what they want, and are answered.
    """

    def __init__(self, repetition: Repetition) -> None:
        self._repetition = repetition
        self._unsuccessful: list[tuple[str, tuple[str, ...]]] = []
        """Calls since the last success: the tool, and the tools that can help, where that is known."""

    def new_request(self, text: str, *, underway: bool = False) -> None:
        """From now on this is to be done. `underway`: a task that was interrupted, so what was done is not known."""
        self._repetition.forget()

    def new_message(self) -> None:
        """The user has something to add."""
        self._repetition.forget()

    def beside(self, context: ToolContext) -> str:
        """What the model is shown with the request, besides its words."""
        return ""

    def sent(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages of the next request: all of them, or without attempts that led nowhere."""
        return messages

    def temperature(self, usual: float | None) -> float | None:
        """How freely the next reply is chosen."""
        return usual

    def ends_reply(self, tail: str) -> bool:
        """Whether a reply leads nowhere, by the end of what has come so far, and is not to be waited for."""
        return False

    def denied(self, tool: str) -> None:
        """A call was not approved."""

    def callable_tools(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """The tools that a constrained reply may call."""
        disabled = set(self._disabled({tool.name for tool in tools}))
        return tuple(tool for tool in tools if tool.name not in disabled) or tools

    def before(self, tool: str, name: str, arguments: JsonValue) -> str | None:
        """Why a call must not be made, in words for the model; `name` is what the model called the tool."""
        refusal = self._repetition.refusal(name, arguments)
        if refusal is not None:
            self._unsuccessful.append((tool, self._suggested(())))
        return refusal

    def on_refusal(self, tool: str, name: str, arguments: JsonValue, plan: Plan, refusal: ToolResult) -> ToolResult:
        """What to answer to a call whose plan cannot work."""
        self._repetition.ran(name, arguments, refusal.text, refused=True)
        return refusal

    @property
    def goes_round(self) -> bool:
        """Whether the last call only repeated what had been refused as a repetition."""
        return self._repetition.goes_round

    def after(self, name: str, arguments: JsonValue, actions: Sequence[Action], result: ToolResult) -> str:
        """A call was carried out. What the model is told of it besides the result, if anything."""
        if not result.is_error:
            self._unsuccessful.clear()
        self._repetition.ran(name, arguments, result.text, changed=changes_something(actions))
        return ""

    def completion(self, claim: str) -> str | Objection:
        """The result to show the user, or what speaks against it."""
        return claim

    @property
    def left(self) -> str:
        """What is known not to be done yet, in words for the user; empty if nothing is known."""
        return ""

    def take_verdict(self) -> str:
        """Why nothing more is to be expected of the model, in words for the user; reported once."""
        return ""

    def _suggested(self, tools: tuple[str, ...]) -> tuple[str, ...]:
        """The tools that can help after a call without success."""
        return tools

    def _disabled(self, tools: set[str]) -> Iterable[str]:
        for tool, suggested in self._unsuccessful:
            others = tools - set(suggested) if suggested else set[str]()
            yield from others or {tool}


def changes_something(actions: Sequence[Action]) -> bool:
    return any(not isinstance(action, ReadPath) for action in actions)


class Profile(ABC):
    """What a model is told, offered and allowed for, according to how much it can take in."""

    name: str

    @abstractmethod
    def replies(self, replies: Replies) -> Replies:
        """How replies are requested, where the user did not decide."""

    @abstractmethod
    def system_prompt(
        self, mode: Mode, modes: Iterable[Mode], protocol: Protocol, tools: Sequence[ToolSpec], context: PromptContext
    ) -> str: ...

    @abstractmethod
    def reminder(self, protocol: Protocol, tools: Sequence[ToolSpec]) -> str:
        """How tools are called, for a model that did it wrong."""

    @abstractmethod
    def opening_details(self, context: ToolContext, now: datetime, todos: Sequence[Todo]) -> str:
        """What the model is told of the workspace with its task."""

    @abstractmethod
    def tools(self, options: BuiltinOptions) -> tuple[Tool[Any], ...]:
        """The built-in tools."""

    @abstractmethod
    def choices(self, choices: ToolChoices, model: str) -> ToolChoices:
        """Which tools a model is offered."""

    @abstractmethod
    def limited(self, result: ToolResult) -> ToolResult:
        """A result, cut to what the model can take; what is shown to the user stays whole."""

    @abstractmethod
    def summary(self, messages: Sequence[Message]) -> str | None:
        """What stands for messages that are no longer sent; None lets the model summarize them."""

    @abstractmethod
    def supervisor(self, folder: Path, paths: Workspace, limits: TaskLimits) -> Supervisor:
        """Whoever watches a new task."""
