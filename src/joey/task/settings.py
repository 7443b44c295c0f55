"""How a task goes about it. Read once, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from joey.providers.retry import RetryPolicy

PlainAnswers: TypeAlias = Literal["remind", "finish"]
TextCalls: TypeAlias = Literal["ignore", "offer", "run"]
Calls: TypeAlias = Literal["auto", "required"]
PromptForm: TypeAlias = Literal["auto", "compact", "full"]
SMALL_WINDOW = 16_384
"""Up to so many tokens a window is small, and the compact form is taken unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The choices a user has about the loop itself; what may be touched is the policy's business."""

    max_tokens: int = 8192
    temperature: float | None = None
    """None leaves it to the provider: some models refuse to be told."""
    context_window: int | None = None
    """Tokens the model can take. Unknown, the conversation is shortened only when the provider says it is too long."""
    condense_at: float = 0.8
    """Which part of the window may be full before old turns are condensed."""
    mistake_limit: int = 3
    """Turns in a row in which nothing went right before the user is asked; 0 never asks."""
    repetition_limit: int = 3
    """How often the same call may give the same result before it is refused; 0 never refuses."""
    max_turns: int | None = None
    plain_answers: PlainAnswers = "remind"
    """A reply without a tool call: remind the model how it works, or take the reply as the result."""
    text_calls: TextCalls = "offer"
    """A complete call that a native model wrote into its text: leave it there, ask the user, or take it as a call."""
    tool_choice: Calls = "auto"
    """Whether a reply may be words alone (auto), or is exactly one call (required). A text protocol can be held to
    it only where the provider takes a grammar; elsewhere the reply is ended after its first call."""
    max_depth: int = 4
    """How deep subtasks may nest."""
    compact: bool = False
    """The form for small models: a short prompt, the same call refused at once, results cut, claims checked."""
    most_of_a_result: int | None = None
    """Characters of a result that the model is shown; None shows all."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def in_form(self, form: PromptForm) -> TaskSettings:
        """The settings for a form of the prompt; `auto` takes the compact one for a small window.

        A small window is shared out: a quarter for a reply, and about an eighth for each result.
        """
        window = self.context_window
        compact = form == "compact" or (form == "auto" and window is not None and window <= SMALL_WINDOW)
        if not compact:
            return self
        room = window or SMALL_WINDOW
        return replace(
            self,
            compact=True,
            tool_choice="required",
            max_tokens=min(self.max_tokens, room // 4),
            most_of_a_result=room // 2,
            temperature=0.0 if self.temperature is None else self.temperature,
        )
