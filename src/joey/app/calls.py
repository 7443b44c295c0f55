"""One call of a model, run with leave. Policy and tools do not know each other; here they meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from joey.actions import VisitUrl, WidenSandbox
from joey.messages import ImageBlock, Shown, ToolResult, ToolUseBlock
from joey.policy import Settings, Verdict, Workspace
from joey.policy.guarded import is_guarded
from joey.task.leave import denied
from joey.task.one_call import Prepared, Rules, Stopped, prepare, safely
from joey.tools.base import ToolContext, failed
from joey.tools.registry import Registry, RejectedCall, ResolvedCall


@dataclass(frozen=True, slots=True)
class Question:
    """What the user must see to decide: why it is asked, and what would be done."""

    call: ResolvedCall
    verdict: Verdict
    shown: tuple[Shown, ...]


Ask: TypeAlias = Callable[[Question], bool]


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs one call of a model: checked, within its mode, with leave. Every way it can end is a result."""

    registry: Registry
    context: ToolContext
    settings: Settings
    workspace: Workspace
    ask: Ask | None = None
    """Asks the user; None when nobody is there, which makes every question a refusal."""

    async def run(self, call: ToolUseBlock) -> ToolResult:
        resolved = self.registry.resolve(call)
        if isinstance(resolved, RejectedCall):
            return resolved.result
        mode, nobody = self.registry.toolset.mode, self.ask is None
        rules = Rules(mode, self.context.workspace, self.settings, self.workspace, headless=nobody)
        approved = False
        context = replace(
            self.context,
            may_visit=lambda url: rules.verdict((VisitUrl(url),)).allowed,
            may_widen=lambda need: rules.verdict((WidenSandbox(need),)).allowed,
            guarded=is_guarded,
            approved_by=lambda: "user" if approved else "sandbox" if self.settings.confined else "rule",
        )
        prepared = await prepare(resolved, context, rules)
        if isinstance(prepared, Stopped):
            return prepared.result
        if not self._has_leave(resolved, prepared):
            return failed(denied("", ""))
        approved = not prepared.verdict.allowed
        plan = prepared.plan
        if plan.refusal is not None:
            return plan.refusal
        return await safely(resolved.name, plan.execute, context.storage)

    def _has_leave(self, call: ResolvedCall, prepared: Prepared) -> bool:
        question = Question(call, prepared.verdict, prepared.plan.shown)
        return prepared.verdict.allowed or (self.ask is not None and self.ask(question))


def for_the_model(result: ToolResult) -> str:
    """What the model reads, with pictures named."""
    pictures = [f"[picture, {block.media_type}]" for block in result.content if isinstance(block, ImageBlock)]
    return "\n".join([result.text, *pictures])
