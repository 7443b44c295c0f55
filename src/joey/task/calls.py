"""One call, from what the model sent to its result: `Call → Resolved → Judged → Approved → ToolResult`.

One function for each arrow, each computed once and guarded once: what a tool raises on the way is its result.

    resolve   the tool and its checked arguments
    judge     what the call would do, and the policy's verdict on it
    approve   the user's answer, where the verdict asks for one, and whether the rules still let the call run by then
    execute   the plan, carried out

The order within `judge` matters. What the call declares is judged before its plan looks at anything, because a plan
reads files and its errors quote them. What the plan adds is judged after it, and so are the files that it would read or
write, resolved: those or none, so a link that is put on the path between these steps cannot lead elsewhere. Only then
may anyone be asked, with the plan to show. Nobody is asked about a plan that does nothing: one that cannot work, or
whose change is there already. Its answer may quote what was looked at, so there the verdict is about reading that.

A task and `joey tools --try` use the same functions; a task records each step besides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from joey.actions import Action, AskUser, FetchUrl, ReadPath, StartSubtask, VisitUrl, WidenSandbox, WritePath
from joey.commands import Answer
from joey.events import ToolCallFinished
from joey.messages import TextBlock, ToolResult, ToolUseBlock
from joey.modes.mode import Mode
from joey.policy.judge import judge as judge_actions
from joey.policy.paths import Workspace
from joey.policy.protected import is_guarded
from joey.policy.settings import Settings
from joey.policy.verdict import Verdict, combine
from joey.task.log import write_down
from joey.task.wording import PLAN_DENIED, READS_ONLY, denied, moved, user_message
from joey.tools.base import ApprovedBy, Permissions, Plan, ToolContext, failed
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.restrict import file_refusal

T = TypeVar("T")
_READING = (ReadPath, FetchUrl, VisitUrl, AskUser, StartSubtask)
"""What a task may do that only reads. What is not listed changes something, or may. A subtask of it only reads, too."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for a call made now: the mode's rule about files, and the policy."""

    mode: Mode
    folder: Path
    policy: Settings
    paths: Workspace
    headless: bool
    reads_only: bool = False
    """Whether nothing may be changed, whatever the policy allows."""

    def verdict(self, actions: Sequence[Action]) -> Verdict:
        return judge_actions(actions, self.policy, self.paths, headless=self.headless)

    def allows(self, action: Action) -> bool:
        """Whether this may be done without asking, for tools that find out while they run."""
        if self.reads_only and not isinstance(action, _READING):
            return False
        return self.verdict((action,)).allowed

    def refusal(self, call: ResolvedCall, actions: Sequence[Action], verdict: Verdict) -> str | None:
        """Why this can never run here: the mode says so, or the verdict of the policy on it."""
        if self.reads_only and not all(isinstance(action, _READING) for action in actions):
            return READS_ONLY
        by_mode = file_refusal(call.name, call.tool.group, self.mode, actions, self.folder)
        if by_mode is not None:
            return by_mode
        if verdict.decision != "deny":
            return None
        reason = f"{verdict.reason}. {PLAN_DENIED}" if self.policy.profile == "plan" else verdict.reason
        return denied(reason, "")


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that will not run. `denied`: by a rule or by the user; otherwise it could not have worked."""

    result: ToolResult
    denied: bool = False
    comment: str = ""
    """What the user added to a no."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A call that may run, or may be asked about: the verdict says which."""

    call: ResolvedCall
    plan: Plan
    actions: tuple[Action, ...]
    verdict: Verdict
    policy: Settings
    """By which the verdict was reached. Another may be in force before the call is approved."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A call that runs. `by_user`: somebody was asked about it; `comment` is what they added."""

    judged: Judged
    by_user: bool = False
    comment: str = ""


AskForApproval: TypeAlias = Callable[[Judged], Awaitable[Answer]]
"""Puts a call to the user. Only an answer to that very request counts."""


async def resolve(
    call: ToolCallFinished | ToolUseBlock, registry: Registry, error_log: Path
) -> ResolvedCall | RejectedCall | Refused:
    """The tool and its checked arguments, or why there is no such call. `error_log` is the folder for bugs' details."""

    async def resolved() -> ResolvedCall | RejectedCall:
        return registry.resolve(call)

    return _or_refused(await _guarded(call.name, resolved, error_log))


async def judge(call: ResolvedCall, context: ToolContext, rules: Rules) -> Judged | Refused:
    """What the call would do, with the verdict on it; or why it must not be done."""
    return _or_refused(await _guarded(call.name, lambda: _judged(call, context, rules), context.storage))


async def _judged(call: ResolvedCall, context: ToolContext, rules: Rules) -> Judged | Refused:
    declared = tuple(call.tool.actions(call.params, context))
    verdict = rules.verdict(declared)
    if refusal := rules.refusal(call, declared, verdict):
        return Refused(failed(refusal), denied=True)
    plan = await call.tool.plan(call.params, replace(context, declared=declared))
    actions = tuple(dict.fromkeys((*declared, *plan.actions)))
    if added := tuple(each for each in _with_files(actions, plan) if each not in declared):
        more = rules.verdict(added)
        if refusal := rules.refusal(call, added, more):
            return Refused(failed(refusal), denied=True)
        verdict = combine((*verdict.parts, *more.parts))
    if plan.does_nothing:
        reading = rules.verdict(tuple(_reported_by(dict.fromkeys((*declared, *added)))))
        verdict = reading if reading.allowed else verdict
    return Judged(call, plan, actions, verdict, rules.policy)


def _with_files(actions: Sequence[Action], plan: Plan) -> tuple[Action, ...]:
    """What a call would do, with the files that its plan would write or read, resolved."""
    writes = (WritePath(str(target)) for target in plan.targets)
    reads = (ReadPath(str(source)) for source in plan.sources)
    return tuple(dict.fromkeys((*actions, *writes, *reads)))


def _reported_by(actions: Iterable[Action]) -> Iterator[Action]:
    """What the answer of a plan that does nothing may quote: the files it looked at, and nothing of what is not run."""
    for action in actions:
        if isinstance(action, WritePath):
            yield ReadPath(action.path)
        elif isinstance(action, (ReadPath, WidenSandbox)):  # whether the folder of a need is there is told, too
            yield action


async def approve(judged: Judged, ask: AskForApproval, rules: Callable[[], Rules]) -> Approved | Refused:
    """The call as the policy or the user lets it run. Where the verdict asks and the answer is no, it does not.

    An answer takes its time, and the user may switch to another profile before it: a yes is no way around the `rules`
    that hold when it is given. Nor is it one to a place that was not shown: what the call names is looked at again.
    Where reading needs approval, so does the answer why a plan cannot work.
    """
    approved = Approved(judged)
    if not judged.verdict.allowed:
        answer = await ask(judged)
        if not answer.yes:
            reason = judged.verdict.unattended().reason if answer.unattended else ""
            return Refused(failed(denied(reason, answer.text)), denied=True, comment=answer.text)
        if refused := _refused_by_now(judged, answer.text, rules()) or _moved_by_now(judged, answer.text, rules()):
            return refused
        approved = Approved(judged, by_user=True, comment=answer.text)
    return approved if judged.plan.refusal is None else Refused(judged.plan.refusal)


def _refused_by_now(judged: Judged, comment: str, rules: Rules) -> Refused | None:
    """A call that was approved under rules which deny it by now; with what the user added to the yes."""
    if rules.policy == judged.policy:
        return None
    actions = _with_files(judged.actions, judged.plan)
    refusal = rules.refusal(judged.call, actions, rules.verdict(actions))
    return None if refusal is None else _with_comment(refusal, comment)


def _moved_by_now(judged: Judged, comment: str, rules: Rules) -> Refused | None:
    """A call whose paths lead elsewhere than when the user was asked: a link was put in the way in between."""
    if judged.plan.does_nothing:
        return None
    shown = {(part.subject, part.reason) for part in judged.verdict.parts}
    actions = _with_files(judged.actions, judged.plan)
    found = judge_actions(actions, judged.policy, rules.paths).parts  # by the rules that asked: the disk is what counts
    for part in found:
        if part.kind == "path" and part.decision != "allow" and (part.subject, part.reason) not in shown:
            return _with_comment(moved(part.subject, part.reason), comment)
    return None


def _with_comment(refusal: str, comment: str) -> Refused:
    words = (TextBlock(user_message(comment)),) if comment else ()
    result = failed(refusal)
    return Refused(replace(result, content=(*result.content, *words)), denied=True, comment=comment)


async def execute(approved: Approved, error_log: Path) -> ToolResult:
    """The result of the plan that was approved."""
    return await _guarded(approved.judged.call.name, approved.judged.plan.execute, error_log)


class Grants:
    """What calls were given beyond the usual: tools ask for it while they run."""

    def __init__(self) -> None:
        self._by_user: set[str] = set()
        self._network: set[str] = set()

    def add(self, approved: Approved) -> None:
        judged = approved.judged
        if approved.by_user:
            self._by_user.add(judged.call.id)
        if judged.verdict.network:
            self._network.add(judged.call.id)

    def permissions(self, call_id: str, rules: Callable[[], Rules]) -> Permissions:
        """What a call may do while it runs; `rules` are those that hold by then."""
        return Permissions(
            may_visit=lambda url: rules().allows(VisitUrl(url)),
            may_fetch=lambda url: rules().allows(FetchUrl(url)),
            may_widen=lambda need: self._may_widen(call_id, need, rules()),
            guarded=is_guarded,
            approved_by=lambda: self._approved_by(call_id, rules().policy),
        )

    def _approved_by(self, call_id: str, policy: Settings) -> ApprovedBy:
        return "user" if call_id in self._by_user else "sandbox" if policy.confined else "rule"

    def _may_widen(self, call_id: str, need: str, rules: Rules) -> bool:
        """Whether a command may have this beyond its sandbox: its rule gives it the network, or the policy does."""
        return (need == "network" and call_id in self._network) or rules.allows(WidenSandbox(need))


async def _guarded(name: str, work: Callable[[], Awaitable[T]], error_log: Path) -> T | ToolResult:
    """What the work returns; if it breaks, an error the model can read. A tool's bug must not end the task."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer to the model, not an end
        return failed(f"{name} failed unexpectedly: {write_down(error, error_log)}")


def _or_refused(outcome: T | ToolResult) -> T | Refused:
    return Refused(outcome) if isinstance(outcome, ToolResult) else outcome
