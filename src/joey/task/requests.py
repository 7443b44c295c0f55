"""Between a task and its user: questions and their answers, messages, and what typed words name.

Only an answer to a request answers it. What the user types meanwhile is a message for the model: it waits for the next
request, and is never taken for a yes. Where the model has nothing more to do, a message is what it waits for
(`next_message`). With nobody there, the careful answer is given at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from joey.commands import Answer, Say
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueAnswered,
    ContinueRequested,
    InputAttached,
    QuestionRequested,
    Request,
    UserMessageQueued,
    UserMessageTakenBack,
)
from joey.journal.records import UserSaid, UserTookBack
from joey.messages import Block, ResultBlock, TextBlock
from joey.prompts import attached_names, missing_mentions
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor


@dataclass(frozen=True, slots=True)
class Continued:
    """Whether the user wants the task to continue, and what they added for the model."""

    yes: bool
    text: str = ""


@dataclass(slots=True, eq=False)
class Requests:
    """The user, as the parts of one task reach them."""

    _config: TaskConfig
    _log: TaskLog
    _supervisor: Supervisor
    _notify: Callable[[str, str], None]
    """Informs whoever wants to know that the user is needed: the kind of request, and the words."""
    _waiting: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    _made: int = 0
    next_message: str | None = None
    """The open request that any message answers: the model is done, and waits for what is next."""
    plan_waits: bool = False
    """Whether that is a plan, about which the user has to decide."""
    has_stopped: bool = False
    """Whether something keeps the task from continuing, and the user is to decide whether it does."""

    def new_id(self, kind: str) -> str:
        """An id that no other request of this run has: an answer that comes late must not find one of a subtask."""
        self._made += 1
        opened = self._log.state.opened
        child = f"_{opened.task_id}" if opened is not None and opened.parent_id is not None else ""
        return f"{kind}_{self._made}{child}"

    async def ask(self, request: Request) -> Answer:
        """Put a question to the user and wait for its answer."""
        self._log.emit(request)
        if self._config.hooks.answer is not None:
            return await self._config.hooks.answer(request)
        if self._config.hooks.headless:
            return unattended(request)
        self._notify(*_notification(request))
        waiting = self._waiting[request.request_id] = asyncio.get_running_loop().create_future()
        self.next_message = request.request_id if isinstance(request, CompletionRequested) else None
        self.plan_waits = isinstance(request, CompletionRequested) and request.plan
        self.has_stopped = isinstance(request, ContinueRequested)
        try:
            return await asyncio.wait_for(waiting, self._timeout(request))
        except TimeoutError:
            assert isinstance(request, QuestionRequested)
            return Answer(request.request_id, yes=True, text=request.suggestions[0].text)
        finally:
            del self._waiting[request.request_id]
            self.next_message, self.plan_waits, self.has_stopped = None, False, False

    def _timeout(self, request: Request) -> float | None:
        if isinstance(request, QuestionRequested):
            return self._config.approvals.answer_after(len(request.suggestions))
        return None

    def answer(self, answer: Answer) -> bool:
        """Give an answer to whoever waits for it; False if nobody does."""
        waiting = self._waiting.get(answer.request_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    # Whether to continue

    async def ask_to_continue(self, reason: str) -> Continued:
        """Whether the user wants to continue, and the words they add, for whoever asks."""
        answer = await self._whether_to_continue(reason)
        self._log.emit(ContinueAnswered(answer.request_id, answer.yes, answer.text))
        return Continued(answer.yes, answer.text)

    async def continues(self, reason: str) -> bool:
        """Whether the user wants to continue. Words they add are a message like any other, for the next request."""
        answer = await self._whether_to_continue(reason)
        self._log.emit(ContinueAnswered(answer.request_id, answer.yes))
        if answer.text or answer.images:
            self.say(Say(answer.text, answer.images))
        return answer.yes

    async def _whether_to_continue(self, reason: str) -> Answer:
        request_id = self.new_id("continue")
        answer = await self.ask(ContinueRequested(request_id, reason))
        return replace(answer, request_id=request_id, yes=answer.yes or bool(answer.text or answer.images))

    # Messages

    def say(self, message: Say) -> None:
        """A message for the model. It waits for the next request, and answers no question; where a message is what the
        task waits for, it is the next one."""
        if self.next_message and self.answer(Answer(self.next_message, text=message.text, images=message.images)):
            return
        self._log.record(UserSaid(message.text, message.images))
        self._supervisor.new_message()
        self._log.emit(UserMessageQueued(message.text))

    def take_back(self) -> bool:
        """Forget the last message that waits; False if none does."""
        queued = self._log.state.queued
        if not queued:
            return False
        text = queued[-1].text
        self._log.record(UserTookBack())
        self._log.emit(UserMessageTakenBack(text))
        return True

    async def expand(self, typed: str) -> tuple[ResultBlock, ...]:
        """What the user's words name: files and changes they mention, slash commands and the mode of these.

        For what a person typed, and nothing else: a suggestion that was picked is the model's words.
        """
        if not typed:
            return ()
        modes = self._config.modes
        expanded = await self._config.hooks.expand_input(typed, self._config.mode(self._log.state.mode).slug)
        report_attached(self._log, typed, expanded.attached)
        if expanded.mode is None:
            return expanded.attached
        if expanded.mode not in modes:
            return (*expanded.attached, TextBlock(wording.no_such_mode(expanded.mode, modes)))
        self._log.change_mode(expanded.mode, "a slash command asks for it")
        return expanded.attached


def report_attached(log: TaskLog, typed: str, attached: Sequence[Block]) -> None:
    """Tell the user what their words brought along, and which mention names nothing."""
    names, missing = attached_names(attached), missing_mentions(typed, attached)
    if names or missing:
        log.emit(InputAttached(tuple(names), tuple(missing)))


def _notification(request: Request) -> tuple[str, str]:
    """What hooks are told when the user is needed: the kind, and the words."""
    match request:
        case ApprovalRequested(name=name):
            return "permission_prompt", f"Joey needs your permission to use {name}"
        case QuestionRequested(question=question):
            return "elicitation_dialog", question
        case CompletionRequested():
            return "idle_prompt", "Joey is waiting for your input"
        case _:
            return "idle_prompt", request.reason


def unattended(request: Request) -> Answer:
    """The careful answer, where nobody is there to give one: nothing is allowed, a question has no answer, and a result
    is taken as it is."""
    return Answer(request.request_id, yes=isinstance(request, CompletionRequested), unattended=True)
