"""Go on in another mode."""

from __future__ import annotations

from pydantic import Field

from joey import actions
from joey.effects import ModeSwitched
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display


class SwitchModeParams(Params):
    mode_slug: str = Field(min_length=1, description="The slug of the mode to go on in, such as code or architect.")
    reason: str = Field(description="Why the work needs that mode, in a sentence. The user sees it.")


class SwitchModeTool(Tool[SwitchModeParams]):
    name = "switch_mode"
    display = Display(("mode_slug",), kind="switch_mode")
    group = "modes"
    params = SwitchModeParams
    field_aliases = {"mode": "mode_slug", "slug": "mode_slug"}
    example = {"mode_slug": "code", "reason": "The plan is agreed; now it is built."}

    def actions(self, params: SwitchModeParams, context: ToolContext) -> tuple[actions.Action, ...]:
        return (actions.SwitchMode(params.mode_slug),)

    async def run(self, params: SwitchModeParams, context: ToolContext) -> ToolResult:
        wanted = params.mode_slug
        if context.modes and wanted not in context.modes:
            return failed(f"Invalid mode: {wanted}. Modes: {', '.join(context.modes)}.")
        if wanted == context.mode:
            return failed(f"Already in {wanted} mode; continue the work.")
        text = f"Switched from {context.mode} mode to {wanted} mode because: {params.reason}"
        return ok(text, effect=ModeSwitched(wanted, params.reason))
