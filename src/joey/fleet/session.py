"""One task open in a worker, and driven turn by turn.

The task runs as it does everywhere, in `TaskHandle.run`; it stops in the hook between turns as soon as there is a turn
that is not recorded, until somebody wants the next one:

    next_turn ──opens the gate──► the loop takes a turn ──► hook: a turn is not recorded ──► next_turn returns it

After a crash the journal may have a turn that was never recorded: then the hook stops at once, and that turn is
returned without another request. A question of the task suspends it: `next_turn` returns the question, and the session
is over. Whoever opens the next one gives the answer with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from joey.app.running import run_within
from joey.app.sources import key_for
from joey.app.tasks import Given, TaskOptions, open_task, prepare_task
from joey.commands import Answer, Cancel
from joey.errors import JoeyError
from joey.events import (
    ApprovalRequested,
    Event,
    QuestionRequested,
    Request,
    RequestDelayed,
    RetryScheduled,
    TaskFinished,
)
from joey.fleet.ledger import FleetTask, Ledger, NotOwnerError, TurnLimits, TurnPermit, patiently
from joey.fleet.recorded import JournalFiles, RecordedTurn, called_tools, joined
from joey.fleet.repositories import Commit, Mirror
from joey.journal.journal import JournalError
from joey.journal.store import TaskStore
from joey.system.folders import make_private
from joey.task.config import Hooks, Suspended
from joey.task.requests import unattended
from joey.task.task import TaskHandle
from joey.wire import encode

_BUSY_WAIT = 0.5
_QUIET_GROUPS = ("read", "always", "modes")
"""Tools of these change no files."""
_MAX_HOLD = 300.0
_MAX_AGE = 1.0
"""Seconds for which it counts what was read of the limits."""


class PersonNeeded(Suspended):
    """The task waits for a person."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


@dataclass(frozen=True, slots=True)
class TurnReply:
    """What came back for a request of the task, as JSON; without an answer its time has passed."""

    request: str
    answer: str

    def is_to(self, request: Request) -> bool:
        """A task that is resumed counts its requests again, so all but their id is compared."""
        return _without_id(json.loads(self.request)) == _without_id(json.loads(json.dumps(encode(request))))

    def given_to(self, request: Request) -> Answer:
        if not self.answer:
            return unattended(request)
        answer = json.loads(self.answer)
        return Answer(request.request_id, yes=bool(answer.get("yes")), text=str(answer.get("text", "")))


def _without_id(request: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != "request_id"}


@dataclass(frozen=True, slots=True)
class WorkerSetting:
    """What all sessions of a worker share."""

    ledger: Ledger
    folder: Path
    """Where the journals of the tasks are on this machine."""
    clones: Path
    mirrors: Path
    per_minute: float | None = None
    """How many turns a minute all workers together take with one provider and key."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class FleetSession:
    """One part of a task, from where it is recorded to its next question or its end."""

    def __init__(
        self, setting: WorkerSetting, task: FleetTask, recorded: Sequence[RecordedTurn], reply: TurnReply | None = None
    ) -> None:
        self._setting = setting
        self._task = task
        self._recorded = recorded
        self._reply = reply
        self._place = setting.folder / task.journal
        self._store = TaskStore(self._place / "journals")
        spec = task.spec
        self._workspace = Path(spec.folder) if spec.folder else setting.clones / task.journal / "work"
        self._mirror = None if spec.folder else Mirror.of(spec.repository, setting.mirrors)
        self._files = JournalFiles(self._store, self._workspace)
        self._base = task.base
        self._head = next((turn.head for turn in reversed(recorded) if turn.head), task.base)
        self._stack = AsyncExitStack()
        self._handle: TaskHandle | None = None
        self._run: asyncio.Task[TaskFinished] | None = None
        self._at_gate, self._go = asyncio.Event(), asyncio.Event()
        self._limit_place = ""
        self._limits: tuple[float, TurnLimits | None] = 0.0, None
        """What was known of limits when the last turn was written down, and when that was."""
        self._quiet: set[str] = set()
        """The tools that change no files."""
        self._stopping: Suspended | None = None
        self._lost = False

    # Opening

    async def open(self) -> None:
        """Put workspace and journal in their place, and let the task run up to its first turn. Raises JoeyError."""
        make_private(self._place)
        while True:
            try:
                await self._open()
                return
            except JournalError as error:
                # Another worker of this machine was killed and its last command still holds the file, or it is slow.
                if "open elsewhere" not in str(error):
                    raise
                if self._lost:
                    raise NotOwnerError(f"task {self._task.id} is not to run here any more") from None
                await self._stack.aclose()
                await asyncio.sleep(_BUSY_WAIT)

    async def _open(self) -> None:
        continues = await asyncio.to_thread(self._files.restore, joined(self._recorded))
        if self._mirror is not None:
            await asyncio.to_thread(self._prepare_clone, self._mirror, continues)
        exists = self._store.journal_path(self._task.journal).exists()
        hooks = Given(
            store=self._store.root,
            task_id=None if exists else self._task.journal,
            connect=self._hooks,
        )
        spec = self._task.spec
        resume = self._task.journal if exists else None
        options = TaskOptions(self._workspace, dict(spec.settings), resume, headless=spec.answer_hours == 0)
        setup = prepare_task(options, hooks)
        prompt = "" if exists else spec.prompt
        self._files.know(self._task.journal)
        self._handle = await self._stack.enter_async_context(open_task(setup, prompt, self._watch))
        model = self._handle.config.model
        offered = self._handle.config.tools(self._handle.config.mode(self._handle.state.mode)).offered
        self._quiet = {each.tool.name for each in offered if each.tool.group in _QUIET_GROUPS}
        self._limit_place = limit_place(model.full_name, setup.config.base_url_for(model.full_name))
        seconds = setup.config.value("limits.timeout")
        self._run = asyncio.create_task(run_within(self._handle, seconds))

    def _prepare_clone(self, mirror: Mirror, continues: bool) -> None:
        if not self._base:
            self._base = self._head = mirror.resolve(self._task.spec.commit)
            patiently(self._setting.ledger.note_base, self._task, self._base)
        if continues and (self._workspace / ".git").exists():
            return
        mirror.resolve(self._base)
        commits = patiently(self._setting.ledger.commits, self._task.journal, self._head)
        mirror.unpack(commits, self._ref)
        mirror.clone(self._base, self._head, self._workspace)

    @property
    def _ref(self) -> str:
        return f"refs/joey/{self._task.journal}"

    def _hooks(self, hooks: Hooks) -> Hooks:
        asks = self._task.spec.answer_hours > 0
        return replace(hooks, between_turns=self._between_turns, answer=self._answer_to if asks else None)

    # Turn by turn

    async def next_turn(self, step: int) -> RecordedTurn:
        """Let the task take a turn, and write down what it took and changed. Raises NotOwnerError."""
        assert self._run is not None
        if self._at_gate.is_set():
            self._at_gate.clear()
            self._go.set()
        reached = asyncio.create_task(self._at_gate.wait())
        await asyncio.wait({reached, self._run}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        outcome, message = await self._ended() if self._run.done() else ("", "")
        taken = await asyncio.to_thread(self._take, step, is_last=bool(outcome))
        return replace(taken, head=self._head, outcome=outcome, message=message)

    def _take(self, step: int, *, is_last: bool) -> RecordedTurn:
        """In a thread: it reads files, runs git and writes to the database."""
        taken = self._files.take()
        commit = self._commit(step) if is_last or self._may_have_changed(taken) else None
        limits = patiently(
            self._setting.ledger.record_turn,
            self._task, step, turns=taken.turns, cost=taken.cost, place=self._limit_place,
            commit=(commit.sha, commit.parent, commit.pack) if commit else None,
        )  # fmt: skip
        self._limits = time.monotonic(), limits
        self._head = commit.sha if commit else self._head
        return taken

    async def _ended(self) -> tuple[str, str]:
        assert self._run is not None
        try:
            finished = await self._run
        except PersonNeeded as stop:
            return "asks", json.dumps(encode(stop.request))
        except Suspended:
            if self._lost:
                raise NotOwnerError(f"task {self._task.id} is not to run here any more") from None
            await asyncio.Event().wait()  # the worker stops: this turn is not recorded
            raise
        finally:
            await self._stack.aclose()
        return finished.outcome, finished.message

    def _may_have_changed(self, turn: RecordedTurn) -> bool:
        """Whether the turn made a call that does more than read. What runs in the background is seen with a later turn,
        at the latest with the last."""
        return any(name not in self._quiet for name in called_tools(turn))

    def _commit(self, step: int) -> Commit | None:
        if self._mirror is None:
            return None
        return self._mirror.commit(self._workspace, self._head, f"{self._task.id}, step {step}", self._ref)

    async def _between_turns(self) -> str | None:
        if self._files.new_turns():
            self._at_gate.set()
            await self._go.wait()
            self._go.clear()
        return await self._permitted()

    async def _permitted(self) -> str | None:
        """Wait until the next turn may begin; or why it must not."""
        setting = self._setting
        while True:
            if self._stopping is not None:
                raise self._stopping
            permit = await self._permit()
            if permit.cancelled and self._handle is not None:
                self._handle.send(Cancel("cancelled by the user"))
                await asyncio.sleep(0)
            if permit.refusal or not permit.wait:
                return permit.refusal or None
            await self._wait(permit)
            if setting.per_minute:
                return None  # the time was reserved

    async def _permit(self) -> TurnPermit:
        """What was read when the turn before was written down is new enough, unless that was some time ago."""
        setting, (at, limits) = self._setting, self._limits
        self._limits = 0.0, None
        if time.monotonic() - at > _MAX_AGE:
            limits = None
        permit = partial(setting.ledger.permit, self._task, self._limit_place, setting.per_minute, limits)
        if limits is not None and not setting.per_minute:
            return permit()  # without the database
        return await asyncio.to_thread(patiently, permit)

    async def _wait(self, permit: TurnPermit) -> None:
        deadline = time.monotonic() + min(permit.wait, _MAX_HOLD)
        while self._stopping is None and (left := deadline - time.monotonic()) > 0:
            await self._setting.sleep(min(left, 1.0))

    # What happens in it

    def _watch(self, task_id: str, event: Event) -> None:
        self._files.know(task_id)
        if isinstance(event, RequestDelayed) or (isinstance(event, RetryScheduled) and event.rate_limited):
            # Written down beside the task: it must not wait for the database.
            asyncio.get_running_loop().run_in_executor(
                None, patiently, self._setting.ledger.hold_back, self._limit_place, event.seconds
            )

    async def _answer_to(self, request: Request) -> Answer:
        """The answer of a person, who may have to be asked first. Results are accepted, and nothing goes beyond a
        limit, as without a user."""
        if not isinstance(request, ApprovalRequested | QuestionRequested):
            return unattended(request)
        reply, self._reply = self._reply, None
        if reply is None or not reply.is_to(request):
            raise PersonNeeded(request)
        return reply.given_to(request)

    # Stopping

    def cancel(self) -> None:
        """End the task: somebody cancelled it."""
        if self._handle is not None:
            self._handle.send(Cancel("cancelled by the user"))

    async def suspend(self, *, lost: bool = False) -> None:
        """Stop where it is, without an end. What runs is ended, and the journal is closed. Whoever waits for a turn of
        a session that is lost gets NotOwnerError."""
        self._lost = lost
        self._stopping = Suspended()
        self._go.set()
        if self._handle is not None and self._run is not None:
            self._handle.suspend()
            with suppress(Suspended, JoeyError):
                await self._run
        await self._stack.aclose()


def limit_place(model: str, base_url: str | None) -> str:
    """What shares a provider's limits: its name, the server, and a mark of the key."""
    provider = model.partition("/")[0]
    key = key_for(provider) or ""
    mark = hashlib.sha256(key.encode()).hexdigest()[:12] if key else ""
    return f"{provider} {base_url or ''} {mark}".strip()
