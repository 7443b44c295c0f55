"""From the calls of a reply to their results: each goes through `joey.task.calls`, and each step is recorded.

Calls run in the order in which the model made them. Neighbours that only read, and need no approval, overlap: they are
judged one after the other and then run together, before any other call is judged. When one is denied, the rest of the
turn is skipped: what the model planned after it may rest on it. Every call gets exactly one result, whatever happens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from joey.commands import Answer
from joey.effects import CompletionProposed, ModeSwitched, QuestionAsked, SubtaskStarted, TodosUpdated
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    QuestionAnswered,
    QuestionRequested,
    ToolCallFinished,
    ToolRunFinished,
    ToolRunStarted,
)
from joey.frames import neutral
from joey.journal.journal import JournalError
from joey.journal.records import ChildOpened, RunBegan, RunEnded
from joey.messages import ResultBlock, ShownText, TextBlock, ToolResult, ToolUseBlock
from joey.policy.permissions import permissions_for
from joey.policy.verdict import VerdictPart, combine
from joey.task import wording
from joey.task.calls import Approved, Judged, Refused, approve, execute, judge, resolve
from joey.task.checkpoint import keep_files
from joey.task.completion import Accepted, Completion, Declined, Feedback
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.hook_points import OPEN_GATE, HookPoints, ToolGate
from joey.task.log import TaskLog
from joey.task.merges import Merges
from joey.task.profiles.base import Supervisor, changes_something
from joey.task.requests import Requests
from joey.task.results import from_outside, resized
from joey.task.subtasks import Subtasks
from joey.task.toolbox import Toolbox
from joey.task.wording import AFTER_SUBTASK, CANNOT_WORK, SKIPPED, denied
from joey.tools.base import failed
from joey.tools.builtin.new_task import NewTask
from joey.tools.registry import RejectedCall, ResolvedCall


@dataclass(slots=True)
class TurnResults:
    """What came of the calls of a turn. A call whose task was accepted as complete has no result."""

    results: dict[str, ToolResult] = field(default_factory=dict)
    accepted: Accepted | None = None
    denied: bool = False
    """Whether a call was not approved."""
    declined: bool = False
    """Whether the user declined the plan that was proposed."""

    repeated: set[str] = field(default_factory=set)
    """The calls that only repeated what had been refused as a repetition."""

    @property
    def any_succeeded(self) -> bool:
        return any(not result.is_error and call_id not in self.repeated for call_id, result in self.results.items())


@dataclass(slots=True, eq=False)
class ToolRunner:
    """Runs the calls of one task, turn by turn."""

    _config: TaskConfig
    _log: TaskLog
    _requests: Requests
    _toolbox: Toolbox
    _supervisor: Supervisor
    _completion: Completion
    _subtasks: Subtasks
    _merges: Merges
    _hooks: HookPoints
    _checks: EditChecks
    _turn: TurnResults = field(default_factory=TurnResults)
    _skip: str | None = None
    _reads: list[tuple[ToolCallFinished, Approved]] = field(default_factory=list)
    _handed: list[tuple[ToolCallFinished, Approved]] = field(default_factory=list)
    """Calls of new_task that were approved, and run when it is known which others run beside them."""
    _changed: set[str] = field(default_factory=set)
    """The calls whose arguments a hook changed."""

    async def run(self, calls: Sequence[ToolCallFinished]) -> TurnResults:
        self._toolbox.failed = []
        self._turn, self._skip, self._reads, self._handed = TurnResults(), None, [], []
        for call in calls:
            resolved = await self._resolved(call)
            if not (isinstance(resolved, ResolvedCall) and resolved.tool.group == "read"):
                await self._run_reads()
            if not _hands_work_on(resolved):
                await self._run_handed()
            call, resolved, gate = await self._hooked(call, resolved)
            judged = await self._judged(call, resolved, gate)
            if isinstance(judged, Judged) and _may_overlap(judged):
                self._reads.append((call, Approved(judged)))
                continue
            await self._run_reads()
            await self._finish(call, judged)
        await self._run_reads()
        await self._run_handed()
        return self._turn

    async def _run_reads(self) -> None:
        """Run the reads that were put off so that they overlap."""
        reads, self._reads = self._reads, []
        await asyncio.gather(*(self._execute(call, approved) for call, approved in reads))

    async def _resolved(self, call: ToolCallFinished) -> ResolvedCall | Refused:
        if self._skip is not None:
            return Refused(failed(self._skip))
        resolved = await resolve(call, self._toolbox.registry, self._log.folder)
        if isinstance(resolved, RejectedCall):
            return Refused(from_outside(resolved.result))
        return resolved

    async def _hooked(
        self, call: ToolCallFinished, resolved: ResolvedCall | Refused
    ) -> tuple[ToolCallFinished, ResolvedCall | Refused, ToolGate]:
        """The call as hooks want it made, and what they decide about it. Changed arguments are checked like the
        model's own."""
        if isinstance(resolved, Refused):
            return call, resolved, OPEN_GATE
        gate = await self._hooks.before_tool(resolved)
        if gate.arguments is None or gate.decision == "deny":
            return call, resolved, gate
        call = replace(call, arguments=gate.arguments)
        self._changed.add(call.call_id)
        return call, await self._resolved(call), gate

    async def _judged(
        self, call: ToolCallFinished, resolved: ResolvedCall | Refused, gate: ToolGate
    ) -> Judged | Refused:
        if isinstance(resolved, Refused):
            return resolved
        if gate.decision == "deny":
            return Refused(failed(wording.hook_denied(neutral(gate.reason))), denied=True)
        if refusal := self._supervisor.before(resolved.tool.name, call.name, call.arguments):
            return Refused(failed(refusal))
        rules = self._toolbox.rules
        # What a hook allows is not asked about, so it does not matter whether anybody is there.
        rules = replace(rules, headless=rules.headless and gate.decision != "allow")
        judged = await judge(resolved, self._toolbox.context(call.call_id), rules)
        if isinstance(judged, Refused):
            return replace(judged, result=from_outside(judged.result))
        return _gated(judged, gate, headless=rules.headless)

    async def _finish(self, call: ToolCallFinished, judged: Judged | Refused) -> None:
        if self._skip is not None:
            return self._answer(call, failed(self._skip))
        if isinstance(judged, Refused):
            return self._refuse(call, judged)
        approved = await approve(judged, lambda judged: self._ask(call, judged), lambda: self._toolbox.rules)
        if isinstance(approved, Approved):
            if _hands_work_on(judged.call):
                return self._handed.append((call, approved))
            return await self._execute(call, approved)
        if not approved.denied:
            name, arguments, plan = judged.call.tool.name, call.arguments, judged.plan
            refusal = self._supervisor.on_refusal(name, call.name, arguments, plan, approved.result)
            return self._answer(call, from_outside(refusal))
        attached = await self._requests.expand(approved.comment)
        result = replace(approved.result, content=(*approved.result.content, *attached))
        return self._refuse(call, replace(approved, result=result))

    def _refuse(self, call: ToolCallFinished, refused: Refused) -> None:
        if refused.denied:
            self._turn.denied, self._skip = True, SKIPPED
            self._supervisor.denied(call.name)
        self._answer(call, refused.result)

    async def _ask(self, call: ToolCallFinished, judged: Judged) -> Answer:
        toolbox, verdict = self._toolbox, judged.verdict
        request_id = self._requests.new_id("approval")
        shown, lasting = judged.plan.shown, permissions_for(judged.actions, verdict.parts)
        always = tuple(each.words for each in lasting)
        reason = verdict.reason if judged.plan.refusal is None else f"{verdict.reason}; {CANNOT_WORK}"
        request = ApprovalRequested(
            request_id, call.call_id, call.name, call.arguments, reason, shown, always, toolbox.permissions.scopes
        )
        answer = await self._requests.ask(request)
        self._log.emit(ApprovalAnswered(request_id, answer.yes, answer.text, answer.unattended))
        if answer.yes and answer.always:
            toolbox.permissions.grant(lasting, answer.scope)
        return answer

    async def _execute(self, call: ToolCallFinished, approved: Approved) -> None:
        words = await self._begin(call, approved)
        try:
            ran = await execute(approved, self._log.folder)
        except asyncio.CancelledError:
            self._keep_printed(call, words)
            raise
        result = await self._settle(call, from_outside(self._config.profile.limited(ran)))
        if result is not None:
            await self._end(call, approved, words, result)

    def _keep_printed(self, call: ToolCallFinished, words: Sequence[ResultBlock]) -> None:
        """A call that is stopped: neither what it printed is lost, nor what the user added to the approval. Of one
        without either, nothing is known."""
        printed = self._toolbox.take_printed(call.call_id)
        if printed or words:
            text = TextBlock(wording.stopped(printed) if printed else wording.INTERRUPTED)
            result = ToolResult((text,), (ShownText(printed),) if printed else (), is_error=True)
            result = from_outside(self._config.profile.limited(result))
            result = replace(result, content=(*words, *self._changed_input(call), *result.content))
            with suppress(JournalError):
                self._log.record(RunEnded(call.call_id, call.name, result))

    async def _begin(self, call: ToolCallFinished, approved: Approved) -> tuple[ResultBlock, ...]:
        """Write down that a call begins; what the user added to the approval."""
        log, actions, comment = self._log, approved.judged.actions, approved.comment
        self._toolbox.grants.add(approved)
        added = (TextBlock(wording.user_message(comment)), *await self._requests.expand(comment)) if comment else ()
        words = tuple(await resized(added, self._config.model))
        await keep_files(log, self._toolbox, call, actions)
        log.record(RunBegan(call.call_id, call.name))
        if changes_something(actions):
            log.sync()
        log.emit(ToolRunStarted(call.call_id, call.name, approved.judged.call.tool.summary(call.arguments)))
        return words

    async def _end(
        self, call: ToolCallFinished, approved: Approved, words: Sequence[ResultBlock], result: ToolResult
    ) -> None:
        resolved, actions = approved.judged.call, approved.judged.actions
        if not result.is_error:
            self._checks.note_edit(approved.judged.plan.targets)
        added = await self._hooks.after_tool(resolved, result)
        content = [*words, *self._changed_input(call), *result.content, *added]
        result = replace(result, content=tuple(await resized(content, self._config.model)))
        if note := self._supervisor.after(call.name, call.arguments, actions, result):
            result = replace(result, content=(*result.content, TextBlock(note)))
        if self._supervisor.goes_round:
            self._turn.repeated.add(call.call_id)
        self._answer(call, result)

    def _answer(self, call: ToolCallFinished, result: ToolResult) -> None:
        self._toolbox.take_printed(call.call_id)
        self._log.record(RunEnded(call.call_id, call.name, result, self._toolbox.newly_seen()))
        self._log.emit(ToolRunFinished(call.call_id, call.name, result))
        if result.is_error:
            self._toolbox.failed.append(call.name)
        self._turn.results[call.call_id] = result

    def _changed_input(self, call: ToolCallFinished) -> list[TextBlock]:
        """What the model must know of a call that was made with other arguments than its own."""
        if call.call_id not in self._changed:
            return []
        return [TextBlock(wording.input_changed(neutral(json.dumps(call.arguments, ensure_ascii=False))))]

    # Subtasks

    async def _run_handed(self) -> None:
        """Run the subtasks that were handed on in a row: one in the place of this task, several beside each other."""
        handed, self._handed = self._handed, []
        if handed:
            self._skip = self._skip or AFTER_SUBTASK
        if len(handed) > 1:
            await self._run_beside(handed)
        for call, approved in handed[: len(handed) == 1]:
            await self._execute(call, approved)

    async def _run_beside(self, handed: Sequence[tuple[ToolCallFinished, Approved]]) -> None:
        """All of them are written down before one begins."""
        begun = {call.call_id: (call, approved, await self._begin(call, approved)) for call, approved in handed}
        opened: list[ChildOpened] = []
        for call, approved, words in begun.values():
            child = self._opened_beside(call, from_outside(await execute(approved, self._log.folder)))
            if isinstance(child, ChildOpened):
                opened.append(child)
            else:
                await self._end(call, approved, words, child)

        async def ended(child: ChildOpened, result: ToolResult) -> None:
            await self._end(*begun[child.call_id], await self._merges.settled(child, result, self._ask))

        await self._subtasks.run_all(opened, ended)

    def _opened_beside(self, call: ToolCallFinished, ran: ToolResult) -> ChildOpened | ToolResult:
        if not isinstance(ran.effect, SubtaskStarted):
            return ran
        return self._subtasks.open(ran.effect, call.call_id, beside=True)

    async def resume_subtasks(self, calls: Sequence[ToolUseBlock]) -> None:
        """Bring back the subtasks of calls that an interruption left open, and write down their results."""
        open_calls, children = {call.id: call for call in calls}, self._log.state.calls.children

        async def ended(child: ChildOpened, result: ToolResult) -> None:
            call = open_calls[child.call_id]
            settled = await self._merges.settled(child, result, self._ask)
            self._answer(ToolCallFinished(call.id, call.name, call.arguments), settled)

        await self._subtasks.run_all([children[call_id] for call_id in open_calls], ended)

    # What a tool asks of the task

    async def _settle(self, call: ToolCallFinished, result: ToolResult) -> ToolResult | None:
        """The result after its effect, if any, was acted upon. None: there is nothing left to do for this call."""
        match result.effect:
            case QuestionAsked() as question:
                return await self._question(question)
            case CompletionProposed(proposed):
                return await self._complete(call, proposed)
            case ModeSwitched(mode, reason):
                self._log.change_mode(mode, reason)
            case SubtaskStarted() as subtask:
                opened = self._subtasks.open(subtask, call.call_id)
                return await self._subtasks.run(opened) if isinstance(opened, ChildOpened) else opened
            case TodosUpdated(todos):
                self._log.change_todos(todos)
            case None:
                pass
        return result

    async def _question(self, question: QuestionAsked) -> ToolResult:
        request_id = self._requests.new_id("question")
        answer = await self._requests.ask(QuestionRequested(request_id, question.question, question.suggestions))
        self._log.emit(QuestionAnswered(request_id, answer.text, answer.images))
        if not (answer.text or answer.images):
            return ToolResult((TextBlock(wording.UNANSWERED),))
        picked = next((suggestion for suggestion in question.suggestions if suggestion.text == answer.text), None)
        if picked is not None and picked.mode is not None and picked.mode in self._config.modes:
            self._log.change_mode(picked.mode, "picked with the answer")
        attached = () if picked is not None else await self._requests.expand(answer.text)
        return ToolResult((TextBlock(wording.answer(answer.text)), *attached, *answer.images))

    async def _complete(self, call: ToolCallFinished, proposed: str) -> ToolResult | None:
        outcome = await self._completion.check_call(proposed)
        if isinstance(outcome, Feedback):
            return ToolResult(outcome.content)
        if isinstance(outcome, Declined):
            self._turn.declined, self._skip = True, wording.plan_declined(self._toolbox.approvals.profile)
            return ToolResult((TextBlock(self._skip),))
        if isinstance(outcome, Accepted):
            self._turn.accepted, self._skip = outcome, wording.ACCEPTED
        elif outcome.is_error:
            return failed(outcome.text)
        else:
            # A model that insists makes the same call again: it must not be taken for a repetition.
            self._answer(call, from_outside(ToolResult((TextBlock(outcome.text),))))
        return None


def _gated(judged: Judged, gate: ToolGate, *, headless: bool) -> Judged | Refused:
    """A call that the policy does not deny, after what hooks decided: they may ask where it allows, and allow where it
    asks."""
    verdict = judged.verdict
    if gate.decision == "allow" and verdict.decision == "ask":
        return replace(judged, verdict=replace(verdict, decision="allow", reason="a hook allows it"))
    if gate.decision != "ask":
        return judged
    verdict = combine((*verdict.parts, VerdictPart(judged.call.name, "ask", gate.reason)))
    if headless:
        return Refused(failed(denied(verdict.unattended().reason, "")), denied=True)
    return replace(judged, verdict=verdict)


def _hands_work_on(call: ResolvedCall | Refused) -> bool:
    """Whether this is a call that starts a subtask."""
    return isinstance(call, ResolvedCall) and isinstance(call.tool, NewTask)


def _may_overlap(judged: Judged) -> bool:
    """Whether this call may run beside others: it only reads, and nobody is asked whose no would skip them."""
    return judged.call.tool.group == "read" and judged.verdict.allowed and judged.plan.refusal is None
