"""The choices a user has about the loop itself; what may be touched is the policy's business."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.providers.base import ReasoningOptions
from joey.providers.retry import RetryPolicy

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
