"""One session: a task, and the turns in which the editor works with it.

    prompt ──► start, resume, or the next message ──► events ──► updates … ──► the reason to stop

A turn ends when the model has nothing more to do, when a question waits for the user, or when the task ends. A task
that waits for the next message stays open, with the commands it left running; everything is ended with the session.
What is sent while a turn runs waits for the model, and is answered when that turn ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from joey.acp import options
from joey.acp.client import Client
from joey.acp.commands import OWN_COMMANDS, own_command
from joey.acp.connection import INTERNAL, Connection, RpcError
from joey.acp.history import UserWords, remembered
from joey.acp.projection import Projection
from joey.acp.prompt import Prompt
from joey.acp.updates import Update
from joey.app.services import Choices, Services
from joey.commands import Answer, Cancel, Condense, Say, SetProfile
from joey.errors import JoeyError
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    ModeChanged,
    ProfileChanged,
    QuestionRequested,
    Request,
    TaskFinished,
)
from joey.journal.journal import read_journal
from joey.permissions import Granted
from joey.task.task import TaskHandle

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_REASONS: dict[str, StopReason] = {"completed": "end_turn", "refused": "refusal", "limit": "max_turn_requests"}


@dataclass(slots=True, eq=False)
class Turn:
    """From a prompt to its answer. `stop` is set once."""

    stop: asyncio.Future[StopReason]
    cancelled: bool = False

    def end(self, reason: StopReason) -> None:
        if not self.stop.done():
            self.stop.set_result("cancelled" if self.cancelled else reason)

    def fail(self, message: str) -> None:
        if self.cancelled:
            self.end("cancelled")
        elif not self.stop.done():
            self.stop.set_exception(RpcError(INTERNAL, message))


class Session:
    """A session of one client. Its id is the id of its task, which may not have begun."""

    def __init__(self, session_id: str, services: Services, connection: Connection, client: Client) -> None:
        self.id = session_id
        self.services = services
        self._connection = connection
        self._client = client
        self._resume: str | None = None
        """The task that the next prompt continues."""
        self._changed: dict[str, str] = {}
        """The mode and the model, where the user chose others since the task was opened."""
        first = services.first_choices()
        self.mode, self.model, self.profile = first.mode or "code", first.model or "", services.profile()
        self._projection = Projection(str(services.folder), client)
        self._task: TaskHandle | None = None
        self._run: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._waiting: Request | None = None
        """The request that the next prompt answers."""
        self._dialogs: set[asyncio.Task[None]] = set()
        self._titled = False

    # From the editor

    async def prompt(self, prompt: Prompt) -> StopReason:
        """One turn, or a message in the one that runs."""
        if self._turn is not None and self._task is not None:
            self._task.send(Say(prompt.text, prompt.images))
            return await asyncio.shield(self._turn.stop)
        if (done := await own_command(self, prompt.text)) is not None:
            self._say(done)
            return "end_turn"
        turn = self._turn = Turn(asyncio.get_running_loop().create_future())
        try:
            await self._hand(prompt)
            return await asyncio.shield(turn.stop)
        except asyncio.CancelledError:
            self.cancel()
            with suppress(RpcError):
                await turn.stop
            raise
        finally:
            self._turn = None

    async def _hand(self, prompt: Prompt) -> None:
        """Give a prompt to whoever waits for it: an open question, the task that is open, or a task to be opened."""
        waiting, self._waiting = self._waiting, None
        task = self._task
        if task is not None and waiting is not None and not isinstance(waiting, CompletionRequested):
            task.send(Answer(waiting.request_id, yes=True, text=prompt.text, images=prompt.images))
        elif task is not None and task.waits_for_message and not self._changed:
            task.send(Say(prompt.text, prompt.images))
        else:
            await self._end_task()
            self._run = asyncio.ensure_future(self._work(prompt))

    async def _work(self, prompt: Prompt) -> None:
        """Open the task, and run it to its end."""
        turn = self._turn
        try:
            changed, self._changed = self._changed, {}
            profile = self.profile if self.profile != self.services.profile() else None
            choices = Choices(changed.get("mode"), changed.get("model"), self._resume, profile)
            async with self.services.open(prompt.text, choices, self._watch, prompt.images) as task:
                self._task, self._resume = task, task.id
                self._projection.window = task.config.model.replies.context_window
                self._title(prompt.text)
                await task.run()
        except JoeyError as error:
            if turn is not None:
                turn.fail(str(error))
        finally:
            self._task = None
            if self._turn is not None:
                self._turn.end("end_turn")

    def cancel(self) -> None:
        """Stop the turn that runs. Nothing to do between turns."""
        if self._turn is None:
            return
        self._turn.cancelled = True
        for each in self._dialogs:
            each.cancel()
        if self._task is None or not self._task.send(Cancel("cancelled in the editor")):
            self._turn.end("cancelled")

    @property
    def task_id(self) -> str | None:
        """The task of the session, once it has begun."""
        return self._resume

    def revoke(self, granted: Granted) -> None:
        self.services.revoke(granted, self.task_id, self._task)

    async def compact(self) -> str:
        """Summarize the old part of the conversation: now, or before the next request of a task that is open."""
        if self._resume is None:
            return "There is no conversation yet."
        if self._task is not None:
            self._task.send(Condense())
            return "The conversation is summarized before the next request."
        async with self.services.open("", Choices(resume=self._resume), self._watch) as task:
            await task.compact()
        return "The conversation was summarized."

    async def close(self) -> None:
        """End the task and everything it started. It can be resumed."""
        self.cancel()
        await self._end_task()

    async def _end_task(self) -> None:
        if self._task is not None:
            self._task.send(Cancel("the session was closed"))
        if self._run is not None:
            await asyncio.wait([self._run])
            self._run = None

    def continues(self, task_id: str, mode: str, model: str) -> None:
        """The session is about a task that exists."""
        self._resume, self.mode, self.model, self._titled = task_id, mode, model, True

    def choose(self, name: str, value: str) -> None:
        """Another profile of approvals at once, another mode or model from the next prompt on."""
        if name == "mode":
            self.mode = self._changed["mode"] = value
            self._send({"sessionUpdate": "current_mode_update", "currentModeId": value})
        elif name == "model":
            self.model = self._changed["model"] = value
        else:
            self.profile = value
            if self._task is not None:
                self._task.send(SetProfile(value))
        self._send_options()

    # From the task

    def _watch(self, task_id: str, event: Event) -> None:
        for update in self._projection.apply(task_id, event):
            self._send(update)
        match event:
            case ProfileChanged(profile) if profile != self.profile:
                self.profile = profile
                self._send_options()
            case ModeChanged(mode) if self._task is not None and task_id == self._task.id:
                self.mode = mode
                self._send_options()
            case ApprovalRequested():
                self._ask(self._permission(task_id, event))
            case CompletionRequested(plan=True) if self._is_ours(task_id):
                self._ask(self._plan(event))
            case CompletionRequested() if self._is_ours(task_id):
                self._wait_for_prompt(event, "end_turn")
            case QuestionRequested():
                self._question(event)
            case ContinueRequested(_, reason):
                self._say(f"{reason}\n\nSend a message to continue.")
                self._wait_for_prompt(event, "max_turn_requests")
            case TaskFinished(outcome, message) if self._is_ours(task_id):
                self._finished(outcome, message)

    def _is_ours(self, task_id: str) -> bool:
        return self._task is None or task_id == self._task.id

    def _wait_for_prompt(self, request: Request, reason: StopReason) -> None:
        self._waiting = request
        if self._turn is not None:
            self._turn.end(reason)

    def _finished(self, outcome: str, message: str) -> None:
        if self._turn is None:
            return
        if outcome == "error":
            self._turn.fail(message)
            return
        if outcome in ("limit", "refused") and message and not self._turn.cancelled:
            self._say(message)
        self._turn.end(_REASONS.get(outcome, "cancelled"))

    def _ask(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._dialogs.add(task)
        task.add_done_callback(self._dialogs.discard)

    async def _permission(self, task_id: str, event: ApprovalRequested) -> None:
        """Ask the user, and answer the task. Whatever is no clear yes is a no."""
        call = self._projection.waiting(task_id, event)
        option = await self._chosen({"sessionId": self.id, "toolCall": call, "options": options.permissions(event)})
        if self._task is not None:
            self._task.send(options.answer(event, option))

    async def _chosen(self, request: dict[str, Any]) -> Any:
        """The option that the user chose; None if they chose none."""
        try:
            answer = await self._connection.request("session/request_permission", request)
        except (RpcError, asyncio.CancelledError):
            return None
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        selected = isinstance(outcome, dict) and outcome.get("outcome") == "selected"
        return outcome.get("optionId") if selected and isinstance(outcome, dict) else None

    async def _plan(self, event: CompletionRequested) -> None:
        """Offer to carry out a plan. Whatever is no yes leaves it to the next prompt."""
        call, announced = self._projection.plan_offer(event)
        self._send(announced)
        profiles = [each for each in await self.services.profiles() if each != "plan"]
        request = {"sessionId": self.id, "toolCall": call, "options": options.plan_answers(profiles)}
        option = await self._chosen(request)
        accepted = option in profiles
        self._send({**call, "sessionUpdate": "tool_call_update", "status": "completed" if accepted else "failed"})
        if accepted and self._task is not None:
            self._task.send(Answer(event.request_id, yes=True, profile=str(option)))
        else:
            self._wait_for_prompt(event, "end_turn")

    def _question(self, event: QuestionRequested) -> None:
        if self._client.forms:
            self._ask(self._form(event))
        else:
            self._wait_for_prompt(event, "end_turn")

    async def _form(self, event: QuestionRequested) -> None:
        request = {"sessionId": self.id, **options.form(event)}
        try:
            text = options.form_answer(await self._connection.request("elicitation/create", request))
        except (RpcError, asyncio.CancelledError):
            text = None
        if text is None:
            self._wait_for_prompt(event, "end_turn")
        elif self._task is not None:
            self._task.send(Answer(event.request_id, yes=True, text=text))

    # To the editor

    def _send(self, update: Update) -> None:
        self._connection.notify("session/update", {"sessionId": self.id, "update": update})

    def _say(self, words: str) -> None:
        for update in self._projection.say(words):
            self._send(update)

    def _title(self, text: str) -> None:
        if not self._titled:
            self._titled = True
            self._send({"sessionUpdate": "session_info_update", "title": options.title(text)})

    def send_commands(self) -> None:
        offered = {**OWN_COMMANDS, **self.services.commands()}
        commands = [{"name": name, "description": about or name} for name, about in offered.items()]
        self._send({"sessionUpdate": "available_commands_update", "availableCommands": commands})

    def state(self) -> dict[str, Any]:
        """What can be chosen, and what is: for the answers of session/new and session/load."""
        return {"modes": options.modes(self), "configOptions": options.config_options(self)}

    def _send_options(self) -> None:
        self._send({"sessionUpdate": "config_option_update", "configOptions": options.config_options(self)})

    def replay(self) -> None:
        """Show the task as it was, from its journal."""
        path = self.services.journal_path(self.id)
        for each in remembered(read_journal(path)):
            if isinstance(each, UserWords):
                sent = self._projection.user_message(each.text)
            else:
                sent = self._projection.apply(self.id, each)
            for update in sent:
                self._send(update)
