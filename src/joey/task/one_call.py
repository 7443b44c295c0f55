"""Between a call and the doing of it: what it would do is looked at and judged.

The order matters. What the call declares is judged before its plan looks at anything, because a plan reads files and
its errors quote them; what the plan adds is judged again, and so are the files that it would read or write, resolved:
those or none, so a link that is put on the path between these steps cannot lead elsewhere. Only then may anyone
be asked, with the plan to show. Asking and executing are left to whoever runs the call: a task writes down each step,
`joey tools --try` does not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from joey.actions import Action, ReadPath, WritePath
from joey.messages import ToolResult
from joey.modes.mode import Mode
from joey.policy.judge import judge
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.policy.verdict import Verdict
from joey.task.leave import denied
from joey.task.unexpected import write_down
from joey.tools.base import Plan, ToolContext, failed
from joey.tools.registry import ResolvedCall
from joey.tools.restrict import file_refusal

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for a call made now: the mode's rule about files, and the policy."""

    mode: Mode
    folder: Path
    policy: Settings
    paths: Workspace
    headless: bool

    def verdict(self, actions: Sequence[Action]) -> Verdict:
        return judge(actions, self.policy, self.paths, headless=self.headless)

    def refusal(self, call: ResolvedCall, actions: Sequence[Action], verdict: Verdict) -> str | None:
        """Why this can never run here: the mode says so, or the verdict of the policy on it."""
        mode_says = file_refusal(call.name, call.tool.group, self.mode, actions, self.folder)
        if mode_says is not None:
            return mode_says
        return denied(verdict.reason, "") if verdict.decision == "deny" else None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may run, or may be asked about: the verdict says which."""

    plan: Plan
    actions: tuple[Action, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Stopped:
    """A call that will not run. `denied`: by a rule; otherwise it could not have worked."""

    result: ToolResult
    denied: bool = False


async def prepare(call: ResolvedCall, context: ToolContext, rules: Rules) -> Prepared | Stopped:
    """What the call would do, judged. A tool or a policy that breaks here stops the call, and nothing else."""
    prepared = await safely(call.name, lambda: _prepared(call, context, rules), context.storage)
    return Stopped(prepared) if isinstance(prepared, ToolResult) else prepared


async def _prepared(call: ResolvedCall, context: ToolContext, rules: Rules) -> Prepared | Stopped:
    declared = call.tool.actions(call.params, context)
    if refusal := rules.refusal(call, declared, rules.verdict(declared)):
        return Stopped(failed(refusal), denied=True)
    plan = await call.tool.plan(call.params, context)
    actions = tuple(dict.fromkeys((*declared, *plan.actions)))
    judged = (*actions, *(WritePath(str(target)) for target in plan.targets))
    judged = (*judged, *(ReadPath(str(source)) for source in plan.sources))
    verdict = rules.verdict(judged)
    if refusal := rules.refusal(call, judged, verdict):
        return Stopped(failed(refusal), denied=True)
    return Prepared(plan, actions, verdict)


async def safely(name: str, work: Callable[[], Awaitable[T]], folder: Path) -> T | ToolResult:
    """What the work returns; if it breaks, an error the model can read. A tool's bug must not end the task.

    `folder` is where the details are kept."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer to the model, not an end
        return failed(f"{name} failed unexpectedly: {write_down(error, folder)}")
