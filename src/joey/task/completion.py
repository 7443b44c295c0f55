"""Whether a task is done: every check on a proposed completion, in order.

1. The call itself: no tool failed in the same turn, no todo is open (where that matters), the result is not empty.
2. The supervisor's objections: facts that speak against the claim.
3. Messages of the user that the model has not seen: no acceptance and no feedback, so the model gets them first.
4. The project's checks of what was edited, and the user's hooks, which may have the model continue.
5. The user: accepted, feedback, or a no to a plan, which stops the task until the next message.

A reply without a call ends the turn of the model, too (`rescue.is_answer`); it begins with the third check. What the
user says then is the next message of a conversation, and no feedback on a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from joey.commands import Answer
from joey.events import CompletionAnswered, CompletionRequested, TaskCompleted, ToolCount
from joey.journal.replay import TaskState
from joey.messages import ResultBlock, TextBlock, ToolUseBlock
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.hook_points import HookPoints, PromptCheck
from joey.task.log import TaskLog
from joey.task.profiles.base import Objection, Supervisor
from joey.task.requests import Requests
from joey.task.toolbox import Toolbox
from joey.tools.todos import open_todos, render_checklist


@dataclass(frozen=True, slots=True)
class Accepted:
    """The task is done, with this result."""

    result: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """The task goes on: what the user has to say first."""

    content: tuple[ResultBlock, ...]


@dataclass(frozen=True, slots=True)
class Declined:
    """The user does not want the plan: the task stops, and their next message continues it."""


Completed: TypeAlias = Accepted | Feedback | Declined | Objection


@dataclass(slots=True, eq=False)
class Completion:
    """Decides about the completions that one task's model proposes."""

    _config: TaskConfig
    _log: TaskLog
    _requests: Requests
    _toolbox: Toolbox
    _supervisor: Supervisor
    _hooks: HookPoints
    _checks: EditChecks

    async def check_call(self, proposed: str) -> Completed:
        """A call of attempt_completion."""
        if problem := self._problem(proposed):
            return Objection(problem, is_error=True)
        result = self._supervisor.completion(proposed)
        if isinstance(result, Objection):
            return result
        if blocked := await self._blocked(result):
            return Objection(blocked)
        return await self._for_the_user(result)

    async def check_answer(self, text: str) -> Accepted | Feedback:
        """A reply without a call."""
        if blocked := await self._blocked(text):
            return Feedback((TextBlock(blocked),))
        outcome = await self._for_the_user(text, plain=True)
        assert not isinstance(outcome, Declined)  # it is no plan
        return outcome

    async def _blocked(self, proposed: str) -> str | None:
        """Why checks or hooks do not let the turn end. Messages that the model has not seen come before them."""
        if self._log.state.queued:
            return None
        return await self._checks.complaints() or await self._hooks.turn_ends(proposed)

    async def _for_the_user(self, proposed: str, *, plain: bool = False) -> Accepted | Feedback | Declined:
        if self._log.state.queued:
            return Feedback((TextBlock(wording.HEAR_FIRST),))
        return await self._user_decision(proposed, plain=plain)

    def _problem(self, proposed: str) -> str | None:
        if self._toolbox.failed:
            tools = ", ".join(dict.fromkeys(self._toolbox.failed))
            return (
                f"The task cannot be completed in this turn because a tool failed in it: {tools}. "
                "Read the error, put it right or work around it, and call attempt_completion in a later turn."
            )
        still_open = open_todos(tuple(self._log.state.todos))
        if self._config.limits.needs_closed_todos and still_open:
            return (
                f"The task cannot be completed while todos are open:\n{render_checklist(still_open)}\n"
                "Do them, or take them off the list with update_todo_list, and call attempt_completion again."
            )
        if not proposed.strip():
            return 'The argument "result" is empty. Say in it what was done.'
        return None

    async def _user_decision(self, proposed: str, *, plain: bool) -> Accepted | Feedback | Declined:
        state = self._log.state
        counts = tuple(ToolCount(name, calls, failures) for name, (calls, failures) in state.calls.counts.items())
        self._log.emit(TaskCompleted(proposed, state.spending.usage, counts, state.spending.cost))
        if self._config.hands_back:
            return Accepted(proposed)
        request_id = self._requests.new_id("completion")
        plan = self._toolbox.approvals.profile == "plan" and not plain  # a reply without the call is an answer
        allowed = self._toolbox.allowed_for_a_plan if plan else ()
        answer, checked = await self._next_message(CompletionRequested(request_id, proposed, plain, plan, allowed))
        if plan and answer.profile:
            return await self._carry_out(proposed, answer)
        if plan and not (answer.yes or answer.text or answer.images):
            self._log.emit(CompletionAnswered(request_id, accepted=False))
            return Declined()
        accepted = answer.yes or not (answer.text or answer.images)
        self._log.emit(CompletionAnswered(request_id, accepted, "" if accepted else answer.text))
        if accepted:
            return Accepted(proposed)
        self._supervisor.new_request(answer.text)
        attached = await self._requests.expand(answer.text)
        words = answer.text if plain else wording.feedback(answer.text)
        return Feedback((TextBlock(words), *attached, *answer.images, *checked.context, *self._beside()))

    def _beside(self) -> tuple[TextBlock, ...]:
        """What a new request is shown with."""
        text = self._toolbox.beside(self._supervisor)
        return (TextBlock(text),) if text else ()

    async def _next_message(self, request: CompletionRequested) -> tuple[Answer, PromptCheck]:
        """The user's answer. A message that a hook keeps from the model is none: the user is asked again."""
        while True:
            answer = await self._requests.ask(request)
            checked = await self._hooks.prompt("" if answer.yes else answer.text)
            if checked.blocked is None:
                self._checks.new_message()
                return answer, checked
            if self._hooks.stopped is not None:
                return Answer(request.request_id, yes=True), checked

    async def _carry_out(self, proposed: str, answer: Answer) -> Feedback:
        """A plan that the user accepted: from here on it is done, with the approvals they chose."""
        plan = answer.text or proposed
        self._log.emit(CompletionAnswered(answer.request_id, accepted=True, feedback=answer.text))
        self._log.change_profile(answer.profile)
        self._supervisor.new_request(plan)
        attached = await self._requests.expand(answer.text)
        return Feedback(
            (
                TextBlock(wording.plan_accepted(plan, edited=plan != proposed)),
                *attached,
                *answer.images,
                *self._beside(),
            )
        )


def was_accepted(state: TaskState, call: str) -> bool:
    """Whether a call that an interruption left open is the completion with which the task ended."""
    return call == "attempt_completion" and state.ended is not None and state.ended.outcome == "completed"


def waiting_result(state: TaskState) -> ToolUseBlock | None:
    """The result, or the plan, that the user was shown when the task was left, and has not decided about."""
    owed = [call for call in state.unanswered if call.id not in state.calls.results]
    first = next(iter(owed), None)
    shown = first is not None and first.name == "attempt_completion" and first.id in state.calls.begun
    return first if first is not None and shown and not was_accepted(state, first.name) else None
