"""The profile for models with room to read: all tools, whole results, and the model's word is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from joey.effects import Todo
from joey.messages import Message, ToolResult
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.protocols.base import Protocol
from joey.task.environment import first_details
from joey.task.profiles.base import Profile, Supervisor
from joey.task.prompt import PromptContext, system_prompt
from joey.task.repetition import Repetition
from joey.task.settings import Replies, TaskLimits
from joey.tools.base import Tool, ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, choices_for
from joey.toolspec import ToolSpec


class Full(Profile):
    name = "full"

    def replies(self, replies: Replies) -> Replies:
        return replies

    def system_prompt(
        self, mode: Mode, modes: Iterable[Mode], protocol: Protocol, tools: Sequence[ToolSpec], context: PromptContext
    ) -> str:
        return system_prompt(mode, modes, protocol, tools, context)

    def reminder(self, protocol: Protocol, tools: Sequence[ToolSpec]) -> str:
        return protocol.reminder(tools)

    def opening_details(self, context: ToolContext, now: datetime, todos: Sequence[Todo]) -> str:
        return first_details(context, now, todos)

    def tools(self, options: BuiltinOptions) -> tuple[Tool[Any], ...]:
        return builtin_tools(options)

    def choices(self, choices: ToolChoices, model: str) -> ToolChoices:
        return choices_for(model, choices)

    def limited(self, result: ToolResult) -> ToolResult:
        return result

    def summary(self, messages: Sequence[Message]) -> str | None:
        return None

    def supervisor(self, folder: Path, paths: Workspace, limits: TaskLimits) -> Supervisor:
        return Supervisor(Repetition(limits.repetition_limit))
