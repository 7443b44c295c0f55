"""Run a slash command: read words that the user wrote for this, and go on by them."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from joey import actions
from joey.effects import ModeSwitched
from joey.messages import ToolResult
from joey.prompts.library import Library, SlashCommand
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.builtin.skill import LoadSkill, SkillParams
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions


class RunSlashCommandParams(Params):
    command: str = Field(min_length=1, description="The name of the command, without the slash.")
    args: str | None = Field(default=None, description="What to give it, as one would type it behind the name.")


class RunSlashCommand(Tool[RunSlashCommandParams]):
    name = "run_slash_command"
    display = Display(("command", "args"))
    group = "always"
    params = RunSlashCommandParams
    field_aliases = {"name": "command", "arguments": "args"}
    example = {"command": "review", "args": "src/app.py"}
    feature = "slash_commands"

    def __init__(self, library: Library | None = None) -> None:
        self._library = library

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(options.library)

    def actions(self, params: RunSlashCommandParams, context: ToolContext) -> tuple[actions.Action, ...]:
        command = self._find(params)
        mode = _mode_to_go_to(command, context) if command else None
        # A command's mode has other tools and other rules: going there needs the same leave as switch_mode.
        return (actions.SwitchMode(mode),) if mode else ()

    async def run(self, params: RunSlashCommandParams, context: ToolContext) -> ToolResult:
        command = self._find(params)
        if command is None:
            return await self._as_skill(params, context)
        mode = _mode_to_go_to(command, context)
        if mode and context.modes and mode not in context.modes:
            return failed(f"/{command.name} wants the mode {mode!r}, which does not exist; tell the user.")
        facts = {
            "Command": f"/{command.name}",
            "Description": command.description,
            "Argument hint": command.argument_hint,
            "Mode": command.mode or "",
            "Provided arguments": params.args or "",
            "Source": command.origin,
        }
        head = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
        text = f"{head}\n\n--- Command Content ---\n\n{command.filled(params.args or '')}"
        return ok(text, effect=ModeSwitched(mode, f"/{command.name} asks for it") if mode else None)

    async def _as_skill(self, params: RunSlashCommandParams, context: ToolContext) -> ToolResult:
        """People call skills like commands, and so do models."""
        name = _bare(params.command)
        if self._library and name in self._library.skills(context.mode):
            return await LoadSkill(self._library).run(SkillParams(skill=name, args=params.args), context)
        known = ", ".join(self._library.commands()) if self._library else ""
        return failed(f"There is no slash command {params.command!r}. Commands: {known or 'none'}.")

    def _find(self, params: RunSlashCommandParams) -> SlashCommand | None:
        return self._library.commands().get(_bare(params.command)) if self._library else None


def _mode_to_go_to(command: SlashCommand, context: ToolContext) -> str | None:
    return command.mode if command.mode != context.mode else None


def _bare(name: str) -> str:
    return name.strip().lstrip("/")
