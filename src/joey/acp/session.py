"""One session: a task, and the turns in which the editor works with it.

    prompt ──► start, resume, or the next message ──► events ──► updates … ──► the reason to stop

A turn ends when the model has nothing more to do, when a question waits for the user, or when the task ends. A task
that waits for the next message stays open, with the commands it left running; everything is ended with the session.
What is sent while a turn runs waits for the model, and is answered when that turn ends.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from joey import events
from joey.acp import options
from joey.acp.client import Client
from joey.acp.connection import INTERNAL, LOGIN_NEEDED, EditorConnection, RpcError
from joey.acp.options import Command, commands_of, own_command
from joey.acp.projection import Projection
from joey.acp.prompt import EditorPrompt
from joey.acp.updates import Update
from joey.app.history import TaskHistory, UserWords
from joey.app.notes_for_later import NotePlan
from joey.app.services import Choices, Services
from joey.commands import Answer, Cancel, Condense, Say, SetProfile
from joey.errors import JoeyError
from joey.journal.journal import read_journal
from joey.journal.markdown import task_title
from joey.journal.records import TaskOpened
from joey.mcp.servers import McpServers
from joey.permissions import Granted
from joey.providers.errors import MissingKeyError
from joey.task.task import TaskHandle

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_LOG = logging.getLogger(__name__)
_REASONS: dict[str, StopReason] = {"completed": "end_turn", "refused": "refusal", "limit": "max_turn_requests"}


@dataclass(slots=True, eq=False)
class PromptTurn:
    """From a prompt to its answer. `stop` is set once; `opened` when the task takes messages, or there will be none."""

    stop: asyncio.Future[StopReason]
    opened: asyncio.Event
    cancelled: bool = False

    @classmethod
    def begin(cls) -> PromptTurn:
        return cls(asyncio.get_running_loop().create_future(), asyncio.Event())

    def end(self, reason: StopReason) -> None:
        if not self.stop.done():
            self.stop.set_result("cancelled" if self.cancelled else reason)
        self.opened.set()

    def fail(self, error: RpcError) -> None:
        if self.cancelled:
            self.end("cancelled")
        elif not self.stop.done():
            self.stop.set_exception(error)
        self.opened.set()


class EditorSession:
    """A session of one client. Its id is the id of its task, which may not have begun."""

    def __init__(self, session_id: str, services: Services, connection: EditorConnection, client: Client) -> None:
        self.id = session_id
        self.services = services
        self._connection = connection
        self._client = client
        self._resume: str | None = None
        """The task that the next prompt continues."""
        self._changed: dict[str, str] = {}
        """The mode, the model and the effort, where the user chose others since the task was opened."""
        first = services.first_choices()
        self.mode, self.model, self.profile = first.mode or "code", first.model or "", services.profile()
        self._server = first.server
        self.effort: str | None = None
        """How much the model may think, where the user chose it here."""
        self._projection = Projection(str(services.folder), client, mark=secrets.token_hex(3))
        self._task: TaskHandle | None = None
        self._run: asyncio.Task[None] | None = None
        self._turn: PromptTurn | None = None
        """The turn that runs."""
        self._served: PromptTurn | None = None
        """The turn that the task works for: the running one, once the task has its prompt."""
        self._waiting: events.Request | None = None
        """The request that the next prompt answers."""
        self._dialogs: dict[asyncio.Task[None], str] = {}
        """What the user is asked in the editor, and the request that it answers."""
        self._answered: set[str] = set()
        """The requests that have an answer, perhaps from another front end."""
        self._titled = False
        self._commands: list[Command] = []
        """The commands that the editor knows of."""
        self._servers: McpServers | None = None
        self._starting: asyncio.Task[None] | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of the session, and those that belong to it."""
        return self.services.folders

    # From the editor

    def begin(self) -> None:
        """The editor knows the session: tell it what can be typed, and start its servers."""
        self._servers = self.services.start_servers()
        self.send_commands()
        if self._servers is not None:
            self._starting = asyncio.ensure_future(self._started(self._servers))

    async def _started(self, servers: McpServers) -> None:
        """When the servers are there, so are their prompts. One that does not start is no reason to do without."""
        await servers.settled()
        for each in servers.servers:
            if each.state != "ready":
                title = f"The MCP server {each.name} is not running"
                for update in self._projection.notice("warning", title, each.problem):
                    self._send(update)
        self.send_commands()

    async def prompt(self, prompt: EditorPrompt) -> StopReason:
        """One turn, or a message in the one that runs."""
        while (running := self._turn) is not None:
            await running.opened.wait()
            if running.cancelled:
                return "cancelled"
            if not running.stop.done():
                return await self._join(running, prompt)
            await asyncio.sleep(0)
        turn = self._turn = PromptTurn.begin()
        try:
            return await self._take_turn(turn, prompt)
        finally:
            self._turn = None
            turn.end("end_turn")

    async def _take_turn(self, turn: PromptTurn, prompt: EditorPrompt) -> StopReason:
        self.send_commands()
        if (done := await own_command(self, prompt)) is not None:
            self._say(done)
            return "cancelled" if turn.cancelled else "end_turn"
        try:
            await self._hand(prompt, turn)
            reason = await asyncio.shield(turn.stop)
        except asyncio.CancelledError:
            self.cancel()
            with suppress(RpcError):
                await turn.stop
            raise
        self.send_commands()
        return reason

    async def _join(self, turn: PromptTurn, prompt: EditorPrompt) -> StopReason:
        """A message while a turn runs: the model reads it with its next request."""
        if (done := await own_command(self, prompt)) is not None:
            self._say(done)
            return "end_turn"
        if self._task is not None:
            self._task.send(Say(prompt.text, prompt.images))
        return await asyncio.shield(turn.stop)

    async def _hand(self, prompt: EditorPrompt, turn: PromptTurn) -> None:
        """Give a prompt to whoever waits for it: an open question, the task that is open, or a task to be opened."""
        waiting, self._waiting = self._waiting, None
        task = self._task
        if task is not None and waiting is not None and not isinstance(waiting, events.CompletionRequested):
            command: Answer | Say = Answer(waiting.request_id, yes=True, text=prompt.text, images=prompt.images)
        elif task is not None and task.waits_for_message and not self._changed:
            command = Say(prompt.text, prompt.images)
        else:
            await self._end_task()
            self._served = turn
            self._run = asyncio.ensure_future(self._work(prompt, turn))
            return
        self._served = turn
        task.send(command)
        turn.opened.set()

    async def _work(self, prompt: EditorPrompt, turn: PromptTurn) -> None:
        """Open the task, and run it to its end. One that is cancelled by then is only written down."""
        try:
            async with self.services.open(prompt.text, self._choices(), self._watch, prompt.images) as task:
                self._task, self._resume = task, task.id
                self._projection.window = task.config.model.replies.context_window
                self._projection.cost = self.services.spent(task.id)[1]  # others may have worked on it, too
                self._title(prompt.text)
                if turn.cancelled:
                    return
                turn.opened.set()
                await task.run()
        except MissingKeyError as error:
            turn.fail(RpcError(LOGIN_NEEDED, str(error)))
        except JoeyError as error:
            turn.fail(RpcError(INTERNAL, str(error)))
        except Exception:  # noqa: BLE001 - a bug of ours is no reason to leave the editor without an answer
            _LOG.exception("the task of session %s failed", self.id)
            turn.fail(RpcError(INTERNAL, "the task failed unexpectedly; the details are in the log of the agent"))
        finally:
            self._task = None
            for each in (turn, self._served):
                if each is not None:
                    each.end("end_turn")

    def _choices(self) -> Choices:
        """What the task is opened with. Its mode is its own business once it has begun, unless the user changed it."""
        changed, self._changed = self._changed, {}
        mode = changed.get("mode") or (self.mode if self._resume is None else None)
        profile = self.profile if self.profile != self.services.profile() else None
        return Choices(mode, self.model, self._resume, profile, self.effort, self._server)

    def cancel(self) -> None:
        """Stop the turn that runs. Nothing to do between turns."""
        if self._turn is None:
            return
        self._turn.cancelled = True
        for each in self._dialogs:
            each.cancel()
        task = self._task if self._served is self._turn else None
        if task is not None and not task.send(Cancel("cancelled in the editor")):
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
        async with self.services.open("", self._choices(), self._watch) as task:
            await task.compact()
        return "The conversation was summarized."

    async def pause(self) -> bool:
        """End the task that waits for the next message, which resumes it; False while it works."""
        if self._task is not None and self._served is self._turn:
            return False
        await self._end_task()
        return True

    async def close(self) -> None:
        """End the task and everything it started. It can be resumed."""
        self.cancel()
        await self._end_task()
        if self._starting is not None:
            self._starting.cancel()
        if self._servers is not None:
            await self._servers.close()

    async def _end_task(self) -> None:
        if self._task is not None:
            self._task.send(Cancel("the session was closed"))
        if self._run is not None:
            await asyncio.wait([self._run])
            self._run = None

    def continues(self, opened: TaskOpened, mode: str) -> None:
        """The session is about a task that exists, which keeps its model and its server."""
        own = self.services.choices_for(opened, named=False)
        self._resume, self.mode, self.model, self._titled = self.id, mode, opened.model, True
        self._server = own.server

    def choose(self, name: str, value: str) -> None:
        """Another profile of approvals at once; another mode, model or effort from the next prompt on."""
        match name:
            case "mode":
                self.mode = self._changed["mode"] = value
                self._send({"sessionUpdate": "current_mode_update", "currentModeId": value})
            case "model":
                self.model = self._changed["model"] = value
                self.effort = self.effort if self.effort in self.services.efforts(value) else None
            case "effort":
                self.effort = value if value in self.services.efforts(self.model) else None
                self._changed["effort"] = value
            case _:
                self.profile = value
                if self._task is not None:
                    self._task.send(SetProfile(value))
        self._send_options()

    # From the task

    def _watch(self, task_id: str, event: events.Event) -> None:
        for update in self._projection.apply(task_id, event):
            self._send(update)
        match event:
            case events.ProfileChanged(profile) if profile != self.profile:
                self.profile = profile
                self._send_options()
            case events.ModeChanged(mode) if self._task is not None and task_id == self._task.id:
                self.mode = mode
                self._send_options()
            case events.ApprovalRequested():
                self._ask(event, self._permission(task_id, event))
            case (
                events.ApprovalAnswered()
                | events.QuestionAnswered()
                | events.CompletionAnswered()
                | events.ContinueAnswered()
            ):
                self._close_dialogs(event.request_id)
            case events.CompletionRequested(plan=True) if self._is_ours(task_id):
                self._ask(event, self._plan(event))
            case events.CompletionRequested() if self._is_ours(task_id):
                self._wait_for_prompt(event, "end_turn")
            case events.CompletionRequested(request_id):
                # It is shown, and goes back to its task: an editor has nothing to accept a subtask's result with.
                asyncio.get_running_loop().call_soon(self._accept, request_id)
            case events.QuestionRequested():
                self._question(event)
            case events.ContinueRequested() if self._client.forms:
                self._ask(event, self._continue(event))
            case events.ContinueRequested():
                self._stop_at_limit(event)
            case events.TaskFinished(outcome, message) if self._is_ours(task_id):
                self._finished(outcome, message)

    def _is_ours(self, task_id: str) -> bool:
        return self._task is None or task_id == self._task.id

    def _accept(self, request_id: str) -> None:
        if self._task is not None:
            self._task.send(Answer(request_id, yes=True))

    def _wait_for_prompt(self, request: events.Request, reason: StopReason) -> None:
        self._waiting = request
        if self._served is not None:
            self._served.end(reason)

    def _finished(self, outcome: str, message: str) -> None:
        if self._served is None:
            return
        if outcome == "error":
            self._served.fail(RpcError(INTERNAL, message))
            return
        if outcome in ("limit", "refused") and message and not self._served.cancelled:
            self._say(message)
        self._served.end(_REASONS.get(outcome, "cancelled"))

    def _ask(self, request: events.Request, work: Coroutine[Any, Any, None]) -> None:
        self._answered.discard(request.request_id)  # a resumed task counts from 1 again
        task = asyncio.ensure_future(work)
        self._dialogs[task] = request.request_id
        task.add_done_callback(lambda done: self._dialogs.pop(done, None))

    def _close_dialogs(self, request_id: str) -> None:
        """A request has its answer: nobody needs to be asked about it any more, and the next prompt is none."""
        self._answered.add(request_id)
        if self._waiting is not None and self._waiting.request_id == request_id:
            self._waiting = None
        for dialog, about in self._dialogs.items():
            if about == request_id:
                dialog.cancel()

    async def _permission(self, task_id: str, event: events.ApprovalRequested) -> None:
        """Ask the user, and answer the task. Whatever is no clear yes is a no."""
        announced, call = self._projection.waiting(task_id, event)
        for update in announced:
            self._send(update)
        option = await self._chosen({"sessionId": self.id, "toolCall": call, "options": options.permissions(event)})
        if self._task is not None and event.request_id not in self._answered:
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

    @property
    def waits_for_answer(self) -> bool:
        """Whether the next prompt answers a question."""
        return self._waiting is not None and not isinstance(self._waiting, events.CompletionRequested)

    async def confirm_note(self, plan: NotePlan) -> bool:
        """Show what a line for AGENTS.md would change, as a call that the user may let go ahead."""
        call, announced = self._projection.edit_offer(plan.question, str(plan.path), plan.before, plan.after)
        self._send(announced)
        chosen = await self._chosen({"sessionId": self.id, "toolCall": call, "options": [*options.ONCE]})
        accepted = bool(chosen == "allow_once")
        self._send({**call, "sessionUpdate": "tool_call_update", "status": "completed" if accepted else "failed"})
        return accepted

    async def _plan(self, event: events.CompletionRequested) -> None:
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
        elif event.request_id not in self._answered:
            self._wait_for_prompt(event, "end_turn")

    def _question(self, event: events.QuestionRequested) -> None:
        if self._client.forms:
            self._ask(event, self._form(event))
        else:
            self._wait_for_prompt(event, "end_turn")

    async def _continue(self, event: events.ContinueRequested) -> None:
        result = await self._filled_in(options.continue_form(event.reason))
        if event.request_id in self._answered:
            return
        if options.accepts(result) and self._task is not None:
            self._task.send(Answer(event.request_id, yes=True, text=options.form_answer(result) or ""))
        else:
            self._stop_at_limit(event)

    def _stop_at_limit(self, event: events.ContinueRequested) -> None:
        self._say(f"{event.reason}\n\nSend a message to continue.")
        self._wait_for_prompt(event, "max_turn_requests")

    async def _filled_in(self, form: dict[str, Any]) -> Any:
        """What the user made of a form; None if there is no answer."""
        try:
            return await self._connection.request("elicitation/create", {"sessionId": self.id, **form})
        except (RpcError, asyncio.CancelledError):
            return None

    async def _form(self, event: events.QuestionRequested) -> None:
        text = options.form_answer(await self._filled_in(options.form(event)))
        if event.request_id in self._answered:
            return
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
            self._send({"sessionUpdate": "session_info_update", "title": task_title(text)})

    def send_commands(self) -> None:
        """What can be written after a slash, where the editor does not know it yet."""
        offered = commands_of(self.services, self._servers)
        if offered != self._commands:
            self._commands = offered
            self._send({"sessionUpdate": "available_commands_update", "availableCommands": offered})

    def state(self) -> dict[str, Any]:
        """What can be chosen, and what is: for the answers of session/new and session/load."""
        return {"modes": options.modes(self), "configOptions": options.config_options(self)}

    def _send_options(self) -> None:
        self._send({"sessionUpdate": "config_option_update", "configOptions": options.config_options(self)})

    def replay(self, *, shown: bool = True) -> None:
        """Show the task as it was, from its journal. Where the editor shows it itself, only know of it."""
        history = TaskHistory(lambda task_id: read_journal(self.services.journal_path(task_id)))
        for task_id, each in history.of(self.id):
            match each:
                case UserWords(text, images):
                    sent = self._projection.user_message(text, images)
                case _:
                    sent = self._projection.apply(task_id, each)
            for update in sent if shown else ():
                self._send(update)
