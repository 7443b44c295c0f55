"""One call without a task: `joey tools --try`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from joey.commands import Answer
from joey.messages import ImageBlock, ToolResult, ToolUseBlock
from joey.policy import Settings, Workspace
from joey.task.calls import Approved, Grants, Judged, Refused, Rules, approve, execute, judge, resolve
from joey.tools.base import ToolContext
from joey.tools.registry import Registry, RejectedCall

Ask: TypeAlias = Callable[[Judged], bool]
"""Shows the user why a call asks and what it would do, and returns whether it may."""


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs one call of a model: checked, within its mode, with approval. Every way it can end is a result."""

    registry: Registry
    context: ToolContext
    settings: Settings
    workspace: Workspace
    ask: Ask | None = None
    """Asks the user; None when nobody is there, which makes every question a refusal."""

    async def run(self, call: ToolUseBlock) -> ToolResult:
        resolved = await resolve(call, self.registry, self.context.storage)
        if isinstance(resolved, (RejectedCall, Refused)):
            return resolved.result
        mode, grants = self.registry.toolset.mode, Grants()
        rules = Rules(mode, self.context.workspace, self.settings, self.workspace, headless=self.ask is None)
        context = replace(self.context, permissions=grants.permissions(call.id, lambda: rules))
        judged = await judge(resolved, context, rules)
        approved = judged if isinstance(judged, Refused) else await approve(judged, self._answer, lambda: rules)
        if not isinstance(approved, Approved):
            return approved.result
        grants.add(approved)
        return await execute(approved, context.storage)

    async def _answer(self, judged: Judged) -> Answer:
        return Answer("", yes=self.ask is not None and self.ask(judged))


def for_the_model(result: ToolResult) -> str:
    """What the model reads, with images named."""
    images = [f"[image, {block.media_type}]" for block in result.content if isinstance(block, ImageBlock)]
    return "\n".join([result.text, *images])
