"""The choices a user has about the loop itself, about checks after edits and about hooks; what may be touched is the
policy's business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.hooks.hook import Hook, HookConsent, HookEvent
from joey.providers.base import ReasoningOptions
from joey.providers.retry import RetryPolicy
from joey.sandbox.settings import SandboxSettings
from joey.tools.languages.programs import NO_SERVERS, LanguageSettings
from joey.tools.shell.environment import NO_RULES, EnvironmentRules

PlainAnswers: TypeAlias = Literal["remind", "finish"]
TextCalls: TypeAlias = Literal["ignore", "offer", "run"]
Calls: TypeAlias = Literal["auto", "required"]


@dataclass(frozen=True, slots=True)
class Replies:
    """How replies are requested of a model, and how they are read."""

    max_tokens: int = 8192
    temperature: float | None = None
    """None leaves it to the provider: some models refuse to be told."""
    context_window: int | None = None
    """Tokens the model can take. Unknown, the conversation is shortened only when the provider says it is too long."""
    tool_choice: Calls = "auto"
    """Whether a reply may be words alone (auto), or is exactly one call (required). A text protocol can be held to
    it only where the provider takes a grammar; elsewhere the reply is ended after its first call."""
    plain_answers: PlainAnswers = "finish"
    """A reply without a tool call: remind the model how it works, or take the reply as the end of its turn."""
    text_calls: TextCalls = "offer"
    """A complete call that a native model wrote into its text: leave it there, ask the user, or take it as a call."""
    reasoning: ReasoningOptions | None = None
    """How much the model may think; None leaves it to the provider."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """How far a task goes before something is done about it."""

    max_turns: int | None = None
    mistake_limit: int = 3
    """Turns in a row without progress before the user is asked; 0 never asks."""
    repetition_limit: int = 3
    """How often the same call may give the same result before it is refused; 0 never refuses."""
    max_depth: int = 4
    """How deep subtasks may nest."""
    parallel_subtasks: int = 4
    """How many subtasks of a task work at the same time."""
    subtask_turns: int | None = None
    subtask_cost: float | None = None
    """What one subtask may take: turns, and dollars."""
    all_subtasks_turns: int | None = None
    all_subtasks_cost: float | None = None
    """What all subtasks of a task may take together, theirs included."""
    compact_at: float = 0.8
    """Which part of the window may be full before old turns are compacted."""
    needs_closed_todos: bool = False
    """Whether a task can be completed only when none of its todos is open."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The commands, in their order; `found` are those that the project's files suggest."""

    commands: tuple[str, ...] = ()
    rounds: int = 3
    timeout: float = 120.0
    found: tuple[str, ...] = ()
    remember: Callable[[tuple[str, ...]], None] = lambda _chosen: None
    """Keeps the user's answer to the offer: these commands, or none."""
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    languages: LanguageSettings = NO_SERVERS
    """The language servers that look at edited files as well."""


NO_CHECKS = CheckSettings()


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What runs at which point. Without `consent` no hook of a project runs."""

    hooks: tuple[Hook, ...] = ()
    consent: HookConsent | None = None
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    """What confines the hooks of a project."""
    environment: EnvironmentRules = NO_RULES

    def matching(self, event: HookEvent, names: tuple[str, ...]) -> list[Hook]:
        """The hooks to run, each command once."""
        found = (hook for hook in self.hooks if hook.event == event and self._may_run(hook) and hook.matches(names))
        return [*{(hook.command, hook.function, hook.origin): hook for hook in found}.values()]

    def _may_run(self, hook: Hook) -> bool:
        return hook.origin != "project" or (self.consent is not None and self.consent.may_run(hook))

    @property
    def unseen(self) -> tuple[Hook, ...]:
        """Hooks of the project that the user has not let run."""
        return tuple(hook for hook in self.hooks if not self._may_run(hook))

    def has(self, event: HookEvent) -> bool:
        return any(hook.event == event and self._may_run(hook) for hook in self.hooks)


NO_HOOKS = HookSettings()
