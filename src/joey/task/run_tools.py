"""From the calls of a reply to their results: resolve, plan, ask, run, and write down what happened.

Calls run in the order in which the model made them. Neighbours that only read, and need no leave, run side by side.
When one is denied, the rest of the turn is skipped: what the model planned after it may rest on it. Every call gets
exactly one result, whatever happens.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace

from joey.actions import Action, ReadPath
from joey.effects import CompletionProposed, ModeSwitched, QuestionAsked, SubtaskStarted, TodosUpdated
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
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
from joey.journal.records import RunBegan, RunEnded, TodosSet
from joey.messages import TextBlock, ToolResult
from joey.task import wording
from joey.task.checkpoint import keep_files
from joey.task.core import TaskCore
from joey.task.leave import AFTER_SUBTASK, SKIPPED, Leave, always, always_allows, denied
from joey.task.one_call import Prepared, Stopped, prepare, safely
from joey.task.trim import from_outside, trimmed_result
from joey.tools.base import failed
from joey.tools.registry import RejectedCall, Resolution, ResolvedCall


class ToolRunner:
    """Runs the calls of one turn.

    Afterwards `finished` is set if the user accepted the result of the task, and `denied` if a call had no leave.
    """

    def __init__(self, core: TaskCore) -> None:
        self._core = core
        self._skip: str | None = None
        self.finished: TaskFinished | None = None
        self.denied = False

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
        """Whether this call may overlap with others: it only reads, and nobody is asked whose no would skip them."""
        core = self._core
        try:
            resolved = core.tools.resolve(call)
            if not isinstance(resolved, ResolvedCall) or resolved.tool.group != "read":
                return False
            return core.rules.verdict(resolved.tool.actions(resolved.params, core.context())).allowed
        except Exception:  # noqa: BLE001 - a tool that breaks here breaks again when it is called, and is answered then
            return False

    async def _call(self, call: ToolCallFinished) -> ToolResult | None:
        if self._skip is not None:
            return self._answered(call, failed(self._skip))
        resolved = await safely(call.name, lambda: self._resolve(call), self._core.storage)
        if isinstance(resolved, ToolResult):
            return self._answered(call, resolved)
        if isinstance(resolved, RejectedCall):
            return self._answered(call, from_outside(resolved.result))
        if repeated := self._core.repetition.refusal(call.name, call.arguments):
            self._core.bar(resolved.tool.name)
            return self._answered(call, failed(repeated))
        prepared = await prepare(resolved, self._core.context(call.call_id), self._core.rules)
        if isinstance(prepared, Stopped):
            return self._stopped(call, replace(prepared, result=from_outside(prepared.result)))
        leave = await self._leave(call, prepared)
        if not leave.granted:
            refused = failed(denied(leave.reason, leave.comment))
            refused = replace(refused, content=(*refused.content, *await self._core.brought(leave.comment)))
            return self._stopped(call, Stopped(refused, denied=True))
        refusal = prepared.plan.refusal
        if refusal is None:
            return await self._execute(call, prepared, leave.comment)
        if self._core.parts.settings.compact:
            self._core.bar(resolved.tool.name, prepared.plan.instead)
            if self._core.claims and resolved.tool.name in prepared.plan.instead:
                refusal = failed(f"{refusal.text}{self._core.claims.reminder}")
        self._core.repetition.ran(call.name, call.arguments, refusal.text, refused=True)
        return self._answered(call, from_outside(refusal))

    async def _resolve(self, call: ToolCallFinished) -> Resolution:
        return self._core.tools.resolve(call)

    def _stopped(self, call: ToolCallFinished, stopped: Stopped) -> ToolResult:
        if stopped.denied:
            self.denied, self._skip = True, SKIPPED
        return self._answered(call, stopped.result)

    async def _leave(self, call: ToolCallFinished, prepared: Prepared) -> Leave:
        core, verdict = self._core, prepared.verdict
        if verdict.network:
            core.networked.add(call.call_id)
        if verdict.allowed:
            return Leave(granted=True)
        request_id = core.request_id("approval")
        shown, lasting = prepared.plan.shown, always_allows(core.policy, prepared.actions, verdict.parts)
        answer = await core.ask(
            ApprovalRequested(request_id, call.call_id, call.name, call.arguments, verdict.reason, shown, lasting)
        )
        core.emit(ApprovalAnswered(request_id, answer.yes, answer.text))
        if answer.yes:
            core.approved.add(call.call_id)
        if answer.yes and answer.always:
            core.policy = always(core.policy, prepared.actions, verdict.parts)
        return Leave(answer.yes, comment=answer.text)

    async def _execute(self, call: ToolCallFinished, prepared: Prepared, comment: str) -> ToolResult | None:
        core = self._core
        said = (TextBlock(wording.user_message(comment)), *await core.brought(comment)) if comment else ()
        await keep_files(core, call, prepared.actions)
        core.record(RunBegan(call.call_id, call.name))
        if _changes_something(prepared.actions):
            core.journal.sync()
        core.emit(ToolRunStarted(call.call_id, call.name))
        ran = await safely(call.name, prepared.plan.execute, core.storage)
        if not ran.is_error:
            core.barred.clear()
        if isinstance(ran.effect, CompletionProposed) and core.claims:
            claim = core.claims.meant(ran.effect.result)
            if doubt := core.claims.doubt(claim):
                if doubt.instead:
                    core.bar(call.name, doubt.instead)
                return self._answered(call, from_outside(ToolResult((TextBlock(doubt.words),))))
            ran = replace(ran, effect=CompletionProposed(claim))
        ran = from_outside(trimmed_result(ran, core.parts.settings.most_of_a_result))
        result = await self._settle(call, ran)
        if result is None:
            return None
        if core.claims and not result.is_error:
            core.claims.ran(prepared.actions)
        result = replace(result, content=tuple(await core.fitted([*said, *result.content])))
        core.repetition.ran(call.name, call.arguments, result.text, changed=_changes_something(prepared.actions))
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
                core.change_mode(mode, reason)
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
        picked = next((suggestion for suggestion in asked.suggestions if suggestion.text == answer.text), None)
        if picked is not None and picked.mode is not None and picked.mode in core.parts.modes:
            core.change_mode(picked.mode, "picked with the answer")
        brought = () if picked is not None else await core.brought(answer.text)
        return ToolResult((TextBlock(wording.answer(answer.text)), *brought, *answer.images))

    async def propose(self, proposed: str) -> ToolResult | None:
        """Show the user a result. None: it was accepted, and the task is finished; otherwise the feedback.

        Words that are still waiting for the model are no acceptance and no feedback on a result nobody has seen: the
        model hears them first.
        """
        core = self._core
        if core.state.queued:
            return ToolResult((TextBlock(wording.HEAR_FIRST),))
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
        core.asked_anew(answer.text)
        brought = await core.brought(answer.text)
        return ToolResult((TextBlock(wording.feedback(answer.text)), *brought, *answer.images))


def _changes_something(actions: Sequence[Action]) -> bool:
    return any(not isinstance(action, ReadPath) for action in actions)
