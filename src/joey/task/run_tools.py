"""From the calls of a reply to their results: each goes through `joey.task.calls`, and each step is recorded.

Calls run in the order in which the model made them. Neighbours that only read, and need no approval, overlap: they are
judged one after the other and then run together, before any other call is judged. When one is denied, the rest of the
turn is skipped: what the model planned after it may rest on it. Every call gets exactly one result, whatever happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from joey.actions import Action, ReadPath
from joey.commands import Answer
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
from joey.task.approvals import AFTER_SUBTASK, SKIPPED, always, always_allows
from joey.task.calls import Approved, Judged, Refused, approve, execute, judge, resolve
from joey.task.checkpoint import keep_files
from joey.task.core import TaskCore
from joey.task.trim import from_outside, trimmed_result
from joey.tools.base import failed
from joey.tools.registry import RejectedCall, ResolvedCall


class ToolRunner:
    """Runs the calls of one turn.

    Afterwards `finished` is set if the user accepted the result of the task, and `denied` if a call was not approved.
    """

    def __init__(self, core: TaskCore) -> None:
        self._core = core
        self._skip: str | None = None
        self._reads: list[tuple[ToolCallFinished, Approved]] = []
        self.finished: TaskFinished | None = None
        self.denied = False

    async def run(self, calls: Sequence[ToolCallFinished]) -> dict[str, ToolResult]:
        """The result of each call. A call whose task was accepted as complete has none."""
        self._core.failed_this_turn = []
        results: dict[str, ToolResult | None] = {}
        for call in calls:
            resolved = await self._resolved(call)
            if not (isinstance(resolved, ResolvedCall) and resolved.tool.group == "read"):
                results |= await self._run_reads()
            judged = await self._judged(call, resolved)
            if isinstance(judged, Judged) and _may_overlap(judged):
                self._reads.append((call, Approved(judged)))
                continue
            results |= await self._run_reads()
            results[call.call_id] = await self._finished(call, judged)
        results |= await self._run_reads()
        return {call_id: result for call_id, result in results.items() if result is not None}

    async def _run_reads(self) -> dict[str, ToolResult | None]:
        """The results of the reads that were put off so that they overlap."""
        reads, self._reads = self._reads, []
        results = await asyncio.gather(*(self._execute(call, approved) for call, approved in reads))
        return {call.call_id: result for (call, _), result in zip(reads, results, strict=True)}

    async def _resolved(self, call: ToolCallFinished) -> ResolvedCall | Refused:
        if self._skip is not None:
            return Refused(failed(self._skip))
        resolved = await resolve(call, self._core.tools, self._core.storage)
        if isinstance(resolved, RejectedCall):
            return Refused(from_outside(resolved.result))
        return resolved

    async def _judged(self, call: ToolCallFinished, resolved: ResolvedCall | Refused) -> Judged | Refused:
        if isinstance(resolved, Refused):
            return resolved
        if repeated := self._core.repetition.refusal(call.name, call.arguments):
            self._core.bar(resolved.tool.name)
            return Refused(failed(repeated))
        judged = await judge(resolved, self._core.context(call.call_id), self._core.rules)
        return judged if isinstance(judged, Judged) else replace(judged, result=from_outside(judged.result))

    async def _finished(self, call: ToolCallFinished, judged: Judged | Refused) -> ToolResult | None:
        if self._skip is not None:
            return self._answered(call, failed(self._skip))
        if isinstance(judged, Refused):
            return self._refused(call, judged)
        approved = await approve(judged, lambda judged: self._ask(call, judged))
        if isinstance(approved, Approved):
            return await self._execute(call, approved)
        if not approved.denied:
            return self._cannot_work(call, judged, approved.result)
        brought = await self._core.brought(approved.comment)
        result = replace(approved.result, content=(*approved.result.content, *brought))
        return self._refused(call, replace(approved, result=result))

    def _refused(self, call: ToolCallFinished, refused: Refused) -> ToolResult:
        if refused.denied:
            self.denied, self._skip = True, SKIPPED
        return self._answered(call, refused.result)

    def _cannot_work(self, call: ToolCallFinished, judged: Judged, refusal: ToolResult) -> ToolResult:
        core, tool, instead = self._core, judged.call.tool.name, judged.plan.instead
        if core.parts.settings.compact:
            core.bar(tool, instead)
            if core.claims and tool in instead:
                refusal = failed(f"{refusal.text}{core.claims.reminder}")
        core.repetition.ran(call.name, call.arguments, refusal.text, refused=True)
        return self._answered(call, from_outside(refusal))

    async def _ask(self, call: ToolCallFinished, judged: Judged) -> Answer:
        core, verdict = self._core, judged.verdict
        request_id = core.request_id("approval")
        shown, lasting = judged.plan.shown, always_allows(core.policy, judged.actions, verdict.parts)
        answer = await core.ask(
            ApprovalRequested(request_id, call.call_id, call.name, call.arguments, verdict.reason, shown, lasting)
        )
        core.emit(ApprovalAnswered(request_id, answer.yes, answer.text))
        if answer.yes and answer.always:
            core.policy = always(core.policy, judged.actions, verdict.parts)
        return answer

    async def _execute(self, call: ToolCallFinished, approved: Approved) -> ToolResult | None:
        core, actions, comment = self._core, approved.judged.actions, approved.comment
        core.grants.add(approved)
        said = (TextBlock(wording.user_message(comment)), *await core.brought(comment)) if comment else ()
        await keep_files(core, call, actions)
        core.record(RunBegan(call.call_id, call.name))
        if _changes_something(actions):
            core.journal.sync()
        core.emit(ToolRunStarted(call.call_id, call.name))
        ran = await execute(approved, core.storage)
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
            core.claims.ran(actions)
        result = replace(result, content=tuple(await core.resize_images([*said, *result.content])))
        core.repetition.ran(call.name, call.arguments, result.text, changed=_changes_something(actions))
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


def _may_overlap(judged: Judged) -> bool:
    """Whether this call may run beside others: it only reads, and nobody is asked whose no would skip them."""
    return judged.call.tool.group == "read" and judged.verdict.allowed and judged.plan.refusal is None


def _changes_something(actions: Sequence[Action]) -> bool:
    return any(not isinstance(action, ReadPath) for action in actions)
