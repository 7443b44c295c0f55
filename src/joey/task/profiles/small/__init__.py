"""The profile for small models, which have little room, copy what they see, and report success falsely.

A short prompt with whole tasks as examples, the core tools only, one call in a reply, results cut, a list of the calls
in place of a summary, and a supervisor that checks facts before it takes the model's word. Each of these was tried with
a model of 1.5B parameters (evals/README.md), and so were the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from joey.effects import Todo
from joey.messages import Message, ToolResult
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.protocols.base import Protocol
from joey.task.profiles.base import Profile, Supervisor
from joey.task.profiles.small.details import brief_details, calls_in
from joey.task.profiles.small.prompt import describe_briefly, small_prompt
from joey.task.profiles.small.supervisor import SmallSupervisor
from joey.task.profiles.small.tools import CORE, careful_tools, short_spec
from joey.task.profiles.small.trim import trimmed_result
from joey.task.prompt import PromptContext
from joey.task.settings import Replies, TaskLimits
from joey.tools.base import Tool, ToolContext
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import Selection, ToolChoices
from joey.toolspec import ToolSpec

_ONLY_CORE = "The compact prompt has the core tools only; tools.include adds others."


class Small(Profile):
    """For a window of so many tokens, which is shared out: a quarter for a reply, about an eighth for each result."""

    name = "small"

    def __init__(self, context_window: int) -> None:
        self._window = context_window
        self.result_limit = context_window // 2
        """Characters of a result that the model is shown."""

    def replies(self, replies: Replies) -> Replies:
        return replace(
            replies,
            tool_choice="required",
            plain_answers="remind",
            max_tokens=min(replies.max_tokens, self._window // 4),
            temperature=0.0 if replies.temperature is None else replies.temperature,
        )

    def system_prompt(
        self, mode: Mode, modes: Iterable[Mode], protocol: Protocol, tools: Sequence[ToolSpec], context: PromptContext
    ) -> str:
        return small_prompt(mode, protocol, tools, context)

    def reminder(self, protocol: Protocol, tools: Sequence[ToolSpec]) -> str:
        return describe_briefly(protocol, tools)

    def opening_details(self, context: ToolContext, now: datetime, todos: Sequence[Todo]) -> str:
        return brief_details(context)

    def tools(self, options: BuiltinOptions) -> tuple[Tool[Any], ...]:
        return careful_tools(options)

    def choices(self, choices: ToolChoices, model: str) -> ToolChoices:
        return replace(choices, selection=Selection(CORE, _ONLY_CORE, short_spec))

    def limited(self, result: ToolResult) -> ToolResult:
        return trimmed_result(result, self.result_limit)

    def summary(self, messages: Sequence[Message]) -> str | None:
        return calls_in(messages)

    def supervisor(self, folder: Path, paths: Workspace, limits: TaskLimits) -> Supervisor:
        return SmallSupervisor(folder, paths, limits.repetition_limit, self.result_limit, room=self._window)
