"""From the calls of a reply to their results: resolve, plan, ask, run, and write down what happened.

Calls run in the order in which the model made them. Neighbours that only read, and need no leave, run side by side.
When one is denied, the rest of the turn is skipped: what the model planned after it may rest on it. Every call gets
exactly one result, whatever happens.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from joey.actions import Action, ReadPath
from joey.effects import CompletionProposed, ModeSwitched, QuestionAsked, SubtaskStarted, TodosUpdated
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ModeChanged,
    QuestionAnswered,
    QuestionRequested,
    TaskCompleted,
    TaskFinished,
    TodosChanged,
    ToolCallFinished,
    ToolCount,
    ToolRunFinished,
    ToolRunStarted,
)
from joey.journal.records import ModeSet, RunBegan, RunEnded, TodosSet
from joey.messages import TextBlock, ToolResult
from joey.policy.judge import judge
from joey.task import wording
from joey.task.checkpoint import keep_files
from joey.task.core import TaskCore
from joey.task.leave import AFTER_SUBTASK, SKIPPED, Leave, always, denied
from joey.tools.base import Plan, failed
from joey.tools.registry import RejectedCall, ResolvedCall
from joey.tools.restrict import file_refusal

T = TypeVar("T")


class ToolRunner:
    """Runs the calls of one turn. Afterwards `finished` is set if the user accepted the result of the task."""

    def __init__(self, core: TaskCore) -> None:
        self._core = core
        self._skip: str | None = None
        self.finished: TaskFinished | None = None

    async def run(self, calls: Sequence[ToolCallFinished]) -> dict[str, ToolResult]:
        """The result of each call. A call whose task was accepted as complete has none."""
        self._core.failed_this_turn = []
        results: dict[str, ToolResult] = {}
        for reading, group in itertools.groupby(calls, self._only_reads if len(calls) > 1 else None):
            batch = list(group)
            if reading is True and len(batch) > 1 and self._skip is None:
                found = await asyncio.gather(*(self._call(call) for call in batch))
            else:
                found = [await self._call(call) for call in batch]
            results |= {call.call_id: result for call, result in zip(batch, found, strict=True) if result is not None}
        return results

    def _only_reads(self, call: ToolCallFinished) -> bool:
        resolved = self._core.tools.resolve(call)
        return isinstance(resolved, ResolvedCall) and resolved.tool.group == "read"

    async def _call(self, call: ToolCallFinished) -> ToolResult | None:
        if self._skip is not None:
            return self._answered(call, failed(self._skip))
        resolved = self._core.tools.resolve(call)
        if isinstance(resolved, RejectedCall):
            return self._answered(call, resolved.result)
        if repeated := self._core.repetition.refusal(call.name, call.arguments):
            return self._answered(call, failed(repeated))
        context = self._core.context(call.call_id)
        declared = resolved.tool.actions(resolved.params, context)
        # What is denied outright is not even looked at: a plan reads files, and its errors quote them.
        if refusal := self._refusal(resolved, declared):
            return self._denied(call, refusal)
        plan = await _safely(call.name, lambda: resolved.tool.plan(resolved.params, context))
        if isinstance(plan, ToolResult):
            return self._answered(call, plan)
        actions = tuple(dict.fromkeys((*declared, *plan.actions)))
        if refusal := self._refusal(resolved, actions):
            return self._denied(call, refusal)
        leave = await self._leave(call, actions, plan)
        if not leave.granted:
            return self._denied(call, denied(leave.reason, leave.comment))
        if plan.refusal:
            return self._answered(call, plan.refusal)
        return await self._execute(call, replace(plan, actions=actions), leave.comment)

    def _refusal(self, resolved: ResolvedCall, actions: Sequence[Action]) -> str | None:
        """Why this can never run here: the mode's rule about files, or a policy that denies it."""
        core = self._core
        mode_says = file_refusal(resolved.name, resolved.tool.group, core.mode, actions, core.parts.workspace)
        if mode_says is not None:
            return mode_says
        verdict = judge(actions, core.policy, core.paths, headless=core.parts.headless)
        return denied(verdict.reason, "") if verdict.decision == "deny" else None

    def _denied(self, call: ToolCallFinished, reason: str) -> ToolResult:
        self._skip = SKIPPED
        return self._answered(call, failed(reason))

    async def _leave(self, call: ToolCallFinished, actions: Sequence[Action], plan: Plan) -> Leave:
        core = self._core
        verdict = judge(actions, core.policy, core.paths, headless=core.parts.headless)
        if verdict.allowed:
            return Leave(granted=True)
        request_id = core.request_id("approval")
        answer = await core.ask(
            ApprovalRequested(request_id, call.call_id, call.name, call.arguments, verdict.reason, plan.shown)
        )
        core.emit(ApprovalAnswered(request_id, answer.yes, answer.text))
        if answer.yes and answer.always:
            core.policy = always(core.policy, actions)
        return Leave(answer.yes, comment=answer.text)

    async def _execute(self, call: ToolCallFinished, plan: Plan, comment: str) -> ToolResult | None:
        core = self._core
        await keep_files(core, call, plan.actions)
        core.record(RunBegan(call.call_id, call.name))
        if _changes_something(plan.actions):
            core.journal.sync()
        core.emit(ToolRunStarted(call.call_id, call.name))
        ran = await _safely(call.name, plan.execute)
        result = await self._settle(call, ran)
        if result is None:
            return None
        if comment:
            result = replace(result, content=(TextBlock(wording.user_message(comment)), *result.content))
        core.repetition.ran(call.name, call.arguments, result.text)
        return self._answered(call, result)

    def _answered(self, call: ToolCallFinished, result: ToolResult) -> ToolResult:
        core = self._core
        core.record(RunEnded(call.call_id, call.name, result))
        core.emit(ToolRunFinished(call.call_id, call.name, result))
        if result.is_error:
            core.failed_this_turn.append(call.name)
        return result

    # What a tool asks of the task

    async def _settle(self, call: ToolCallFinished, result: ToolResult) -> ToolResult | None:
        """The result after its effect, if any, was acted upon. None: the task is complete and needs no answer."""
        core = self._core
        match result.effect:
            case QuestionAsked() as question:
                return await self._question(question)
            case CompletionProposed(proposed):
                return await self.propose(proposed)
            case ModeSwitched(mode, reason):
                core.record(ModeSet(mode))
                core.emit(ModeChanged(mode, reason))
            case SubtaskStarted() as subtask:
                self._skip = AFTER_SUBTASK
                return await core.spawn(subtask, call.call_id)
            case TodosUpdated(todos):
                core.record(TodosSet(todos))
                core.emit(TodosChanged(todos))
            case None:
                pass
        return result

    async def _question(self, asked: QuestionAsked) -> ToolResult:
        core = self._core
        request_id = core.request_id("question")
        answer = await core.ask(QuestionRequested(request_id, asked.question, asked.suggestions))
        core.emit(QuestionAnswered(request_id, answer.text, answer.images))
        picked = next((suggestion.mode for suggestion in asked.suggestions if suggestion.text == answer.text), None)
        if picked is not None and picked in core.parts.modes:
            core.record(ModeSet(picked))
            core.emit(ModeChanged(picked, "picked with the answer"))
        return ToolResult((TextBlock(wording.answer(answer.text)), *answer.images))

    async def propose(self, proposed: str) -> ToolResult | None:
        """Show the user a result. None: it was accepted, and the task is finished; otherwise the feedback."""
        core = self._core
        counts = tuple(ToolCount(name, calls, failures) for name, (calls, failures) in core.state.counts.items())
        core.emit(TaskCompleted(proposed, core.state.usage, counts, core.state.cost))
        request_id = core.request_id("completion")
        answer = await core.ask(CompletionRequested(request_id, proposed))
        accepted = answer.yes or not (answer.text or answer.images)
        core.emit(CompletionAnswered(request_id, accepted, "" if accepted else answer.text))
        if accepted:
            self.finished = TaskFinished("completed", proposed)
            self._skip = wording.ACCEPTED
            return None
        return ToolResult((TextBlock(wording.feedback(answer.text)), *answer.images))


def _changes_something(actions: Sequence[Action]) -> bool:
    return any(not isinstance(action, ReadPath) for action in actions)


async def _safely(name: str, work: Callable[[], Awaitable[T]]) -> T | ToolResult:
    """What the work returns; if it breaks, an error the model can read. A tool's bug must not end the task."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer to the model, not an end
        detail = str(error) or type(error).__name__
        return failed(f"{name} failed unexpectedly: {detail}")
