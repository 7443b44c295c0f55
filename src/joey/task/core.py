"""What every part of a running task works with: its state, its journal, its watcher, and the user.

Two ways to say that something happened: `record` writes it down (and it is true from then on), `emit` tells whoever
watches. Recording comes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TypeVar

from joey.actions import VisitUrl
from joey.checkpoints import CheckpointStore
from joey.commands import Answer, Say
from joey.effects import SubtaskStarted
from joey.events import (
    CompletionRequested,
    Event,
    FilesLeftBehind,
    ModeChanged,
    QuestionRequested,
    Request,
    RetryScheduled,
    SandboxReported,
    ToolRunProgressed,
    UserMessageQueued,
    UserMessageTakenBack,
)
from joey.images.sizing import resize_images
from joey.journal.journal import Journal
from joey.journal.records import FilesFound, ModeSet, Record, RunConfined, UserSaid, UserTookBack
from joey.journal.replay import TaskState
from joey.messages import ImageBlock, ResultBlock, TextBlock, ToolResult
from joey.modes.mode import Mode
from joey.policy.guarded import is_guarded
from joey.policy.paths import Workspace
from joey.providers.retry import Retry, with_retries
from joey.task import wording
from joey.task.calls import Grants, Rules
from joey.task.claims import Claims
from joey.task.history import HistoryEncoder
from joey.task.parts import Parts
from joey.task.repetition import Repetition
from joey.tools.base import Confined, Permissions, ToolContext
from joey.tools.memory import ToolMemory
from joey.tools.registry import Registry

T = TypeVar("T")
B = TypeVar("B")

_MOST_SHOWN = 4096
NOBODY = "Nobody is there to answer. Decide by yourself, and say in the result what you assumed."


class TaskCore:
    """The inside of a task. `spawn` runs a subtask and returns what to tell the model."""

    def __init__(
        self,
        parts: Parts,
        task_id: str,
        state: TaskState,
        journal: Journal,
        spawn: Callable[[SubtaskStarted, str], Awaitable[ToolResult]],
    ) -> None:
        self.parts = parts
        self.task_id = task_id
        self.state = state
        self.journal = journal
        self.spawn = spawn
        self.policy = parts.policy
        self.paths = parts.paths or Workspace.of(parts.workspace)
        settings = parts.settings
        self.repetition = Repetition(settings.repetition_limit, at_once=settings.compact)
        self._claims: Claims | None = None
        self.barred: set[str] = set()
        """Tools that replies may not call, where the provider can see to that: they were called in vain, and nothing
        has gone well since."""
        self.failed_this_turn: list[str] = []
        self.grants = Grants()
        self._confined: Confined | None = None
        self.mistakes = 0
        self.condenses = False
        """Whether the user wants the conversation condensed before the next request."""
        self.turns_allowed, self.cost_allowed = 0, 0.0
        """How much of the limits the user has waved through."""
        self.tool_memory = ToolMemory()
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._asked = 0
        self._registry: Registry | None = None
        self.history = HistoryEncoder(parts.protocol)
        self._checkpoints: CheckpointStore | None = None

    # What happened

    def record(self, record: Record) -> None:
        self.journal.append(record)
        self.state.apply(record)

    def emit(self, event: Event) -> None:
        self.parts.watch(self.task_id, event)

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What the attempt returns, tried again where that can help, visibly. Raises the last ProviderError."""
        return await with_retries(attempt, policy=self.parts.settings.retry, on_retry=self._tell)

    def _tell(self, retry: Retry) -> None:
        self.emit(RetryScheduled(retry.attempt, retry.delay, str(retry.error)))

    def bar(self, tool: str, instead: Collection[str] = ()) -> None:
        """This tool was called in vain: until a call goes well, leave it to others, or only to those that can help.

        A model that was asked a question and calls in vain has seen what it will see: it is left the answer.
        """
        ends = not instead or "attempt_completion" in instead
        if self.claims is not None and self.claims.asks and ends:
            instead = ("attempt_completion",)
        others = {spec.name for spec in self.tools.specs} - set(instead) if instead else set()
        self.barred |= others or {tool}

    # Where it happens

    @property
    def mode(self) -> Mode:
        modes = self.parts.modes
        return modes.get(self.state.mode) or next(iter(modes.values()))

    @property
    def tools(self) -> Registry:
        """The tools of the mode the task is in now, ready to check calls."""
        toolset = self.parts.toolset(self.mode)
        if self._registry is None or self._registry.toolset is not toolset:
            self._registry = Registry(toolset)
        return self._registry

    @property
    def rules(self) -> Rules:
        """What holds for a call made now."""
        return Rules(self.mode, self.parts.workspace, self.policy, self.paths, self.parts.headless)

    @property
    def storage(self) -> Path:
        return self.parts.store.folder(self.task_id)

    @property
    def checkpoints(self) -> CheckpointStore | None:
        """Where files are kept before they are changed; opened when first needed, None if that is switched off."""
        if self._checkpoints is None and self.parts.checkpoints is not None:
            self._checkpoints = CheckpointStore(
                self.storage / "checkpoints", self.parts.workspace, self.parts.checkpoints
            )
        return self._checkpoints

    @property
    def claims(self) -> Claims | None:
        """What a model must look at before it may say that it is done; None where its word is taken for it."""
        settings, opened = self.parts.settings, self.state.opened
        if self._claims is None and settings.compact and opened is not None:
            self.asked_anew(opened.text, underway=bool(self.state.messages))
        return self._claims

    def asked_anew(self, text: str, *, underway: bool = False) -> None:
        """The user wants something: from now on it is this that is to be done."""
        settings = self.parts.settings
        if settings.compact:
            most = settings.most_of_a_result or _MOST_SHOWN
            touched = self._claims.touched if self._claims else ()
            self._claims = Claims(
                text, self.parts.workspace, most, touched=touched, underway=underway, hidden=self._not_shown
            )

    def _not_shown(self, path: Path) -> bool:
        located = self.paths.locate(str(path))
        return located.problem is not None or located.hidden_by is not None or not located.inside

    def context(self, call_id: str = "") -> ToolContext:
        """The world as a tool sees it in this call."""
        return ToolContext(
            workspace=self.parts.workspace,
            storage=self.storage,
            mode=self.mode.slug,
            modes=tuple(self.parts.modes),
            todos=tuple(self.state.todos),
            failed_this_turn=tuple(self.failed_this_turn),
            ignored=self.paths.hides,
            permissions=Permissions(
                may_visit=lambda url: self.rules.allows(VisitUrl(url)),
                may_widen=lambda need: self.grants.may_widen(call_id, need, self.rules),
                guarded=is_guarded,
                approved_by=lambda: self.grants.approved_by(call_id, self.policy),
            ),
            confined=lambda confined: self._note_confined(call_id, confined),
            warn=self._warn,
            progress=lambda text: self.emit(ToolRunProgressed(call_id, text)),
            memory=self.tool_memory,
        )

    def _note_confined(self, call_id: str, confined: Confined) -> None:
        self.record(RunConfined(call_id, confined.level, confined.network))
        if confined != self._confined:
            self._confined = confined
            self.emit(SandboxReported(confined.level, confined.network, confined.message))

    def _warn(self, message: str) -> None:
        try:
            self.record(FilesFound(message))
        finally:
            self.emit(FilesLeftBehind(message))

    async def resize_images(self, blocks: list[B]) -> list[B | ImageBlock | TextBlock]:
        """The blocks with every picture as the model takes it. All that enters the conversation passes here."""
        if not any(isinstance(block, ImageBlock) for block in blocks):
            return [*blocks]
        limits = self.parts.provider.abilities(self.parts.model).image_limits
        return [*await asyncio.to_thread(resize_images, blocks, limits)]

    # The user

    def say(self, said: Say) -> None:
        """Words for the model. They wait for the next request, and answer no question."""
        self.record(UserSaid(said.text, said.images))
        if self.claims is not None:
            self.claims.asks = False
        self.emit(UserMessageQueued(said.text))

    async def brought(self, typed: str) -> tuple[ResultBlock, ...]:
        """What the user's words bring along: files and changes they mention, slash commands and the mode of these.

        For what a person typed, and nothing else: a suggestion that was picked is the model's words.
        """
        if not typed:
            return ()
        asked = await self.parts.asked(typed, self.mode.slug)
        if asked.mode is None:
            return asked.attached
        if asked.mode not in self.parts.modes:
            return (*asked.attached, TextBlock(wording.no_such_mode(asked.mode, self.parts.modes)))
        self.change_mode(asked.mode, "a slash command asks for it")
        return asked.attached

    def change_mode(self, mode: str, reason: str) -> None:
        if mode != self.state.mode:
            self.record(ModeSet(mode))
            self.emit(ModeChanged(mode, reason))

    def take_back(self) -> bool:
        """Forget the last words that wait; False if none do."""
        if not self.state.queued:
            return False
        text = self.state.queued[-1].text
        self.record(UserTookBack())
        self.emit(UserMessageTakenBack(text))
        return True

    def answer(self, answer: Answer) -> bool:
        """Give an answer to whoever waits for it; False if nobody does."""
        waiting = self._waiting.get(answer.request_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def request_id(self, kind: str) -> str:
        self._asked += 1
        return f"{kind}_{self._asked}"

    async def ask(self, request: Request) -> Answer:
        """Put a question to the user and wait. With nobody there, the careful answer is given at once."""
        self.emit(request)
        if self.parts.headless:
            return unattended(request)
        waiting = self._waiting[request.request_id] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(waiting, self._patience(request))
        except TimeoutError:
            assert isinstance(request, QuestionRequested)
            return Answer(request.request_id, yes=True, text=request.suggestions[0].text)
        finally:
            del self._waiting[request.request_id]

    def _patience(self, request: Request) -> float | None:
        if isinstance(request, QuestionRequested):
            return self.policy.answer_after(len(request.suggestions))
        return None


def unattended(request: Request) -> Answer:
    """The careful answer, where nobody is there to give one."""
    if isinstance(request, QuestionRequested):
        text = request.suggestions[0].text if request.suggestions else NOBODY
        return Answer(request.request_id, yes=True, text=text)
    if isinstance(request, CompletionRequested):
        return Answer(request.request_id, yes=True)
    return Answer(request.request_id, yes=False)
