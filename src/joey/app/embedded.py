"""A task as a part of your program: `joey.Task` and `joey.run`.

    async with joey.Task("Add a /hello endpoint", model="anthropic/…", approve="edits") as task:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                await task.answer(event, yes=True)
    print(task.result)

A task is new, then open (inside `async with`), running (from the first event that is requested), and finished or
closed. What it does comes out as events, in order, through a queue: the task does not wait for the loop that reads it,
except where it needs an answer. The end of `async with` cancels a task that still runs and closes everything it opened;
it can be resumed by its id.

A request is open from its event until it is answered. The loop answers it before it takes the next event; a request
that the loop passes over gets the answer of a run without a user: approvals and limits no, no answer to a
question, a result is accepted. With `unanswered="wait"` a request stays open instead, and the answer may come from
anywhere else in the program.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, ParamSpec, Self, get_args

from joey.app import arguments
from joey.app.running import run_within
from joey.app.settings import notices
from joey.app.tasks import Given, TaskOptions, TaskSetup, open_task, prepare_task
from joey.commands import Answer, Cancel, Command, Say
from joey.config.files import Value
from joey.errors import UsageError
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContinueAnswered,
    Event,
    Outcome,
    QuestionAnswered,
    QuestionRequested,
    Request,
    TaskFinished,
)
from joey.hooks.hook import Hook
from joey.messages import ImageBlock
from joey.permissions import Scope
from joey.task.requests import unattended
from joey.task.task import TaskHandle

NOBODY = "Nobody is there to approve this call."
NOT_OPEN = "the task is not open: use it inside `async with joey.Task(…) as task:`"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a task ended. `str(result)` is its text."""

    outcome: Outcome
    """`completed`, `refused`, `limit`, `cancelled` or `error`."""
    text: str
    """The result of a completed task; otherwise the reason for the end."""
    task_id: str
    """What `resume=` takes."""
    cost: float | None = None
    """Dollars, where the price of the model is known."""

    @property
    def completed(self) -> bool:
        return self.outcome == "completed"

    def __str__(self) -> str:
        return self.text


class Task:
    """A task of a coding agent: `async with` opens and closes it, `async for` runs it and yields its events.

    Args:
        prompt: What to do. On resuming it is the next message, and may be empty.
        model: `provider/model`, a Provider, or what `joey.open_model` returns. By default the configured model.
        workspace: The folder to work in. A resumed task keeps its own, and `notices` says so if you name another.
        approve: What needs no approval, as a profile (ask, edits, read-only, plan, auto, all, strict), or a function
            that decides about each call that needs one. By default the configured profile, which is
            `ask` unless you changed it.
        allow: Rules for commands that may run without approval, such as `pytest`.
        deny: Rules for commands that never run.
        tools: More tools: functions with type hints and a docstring (see `joey.tool`), or subclasses of `Tool`.
        protocol: How the model calls tools: native, xml, json_mix, …
        mode: code (the default), architect, ask, debug, orchestrator, or your own.
        images: Paths of image files for the model, or ImageBlocks.
        resume: The id of a saved task, or `last` for the newest that was started in this folder.
        settings: Any other setting by its full name, such as `{"limits.max_turns": 20}`.
        config: With False, nothing of the user and of the project counts: settings files, variables, modes, rules,
            MCP servers. Only keys are still taken from the environment.
        store: A folder outside the workspace in which tasks are saved, by default that of the command line.
        hooks: Functions that `joey.hook` made, called at points of the task.
        unanswered: What happens to a request that the loop passes over: the `default` answer, or `wait`.
    """

    _HEADLESS: ClassVar[bool] = False
    """Whether nobody answers requests, so that none are made."""

    @arguments.checked_names
    def __init__(
        self,
        prompt: str = "",
        *,
        model: arguments.ModelChoice | None = None,
        workspace: str | Path = ".",
        approve: str | arguments.Approver | None = None,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        tools: Iterable[arguments.Toolable] = (),
        protocol: str | None = None,
        mode: str | None = None,
        images: Iterable[str | Path | ImageBlock] = (),
        resume: str | None = None,
        settings: Mapping[str, Any] | None = None,
        config: bool = True,
        store: str | Path | None = None,
        hooks: Iterable[Hook] = (),
        unanswered: arguments.Unanswered = "default",
    ) -> None:
        if not arguments.text("prompt", prompt).strip() and arguments.optional_text("resume", resume) is None:
            raise UsageError('the task has no prompt; say what to do: joey.Task("…"), or name a task to resume')
        if not isinstance(config, bool):
            raise UsageError(f"config is True or False, not {config!r}")
        if unanswered not in get_args(arguments.Unanswered):
            raise UsageError(f"unanswered is 'default' or 'wait', not {unanswered!r}")
        place, name = arguments.folder("workspace", workspace), model if isinstance(model, str) else None
        opened = arguments.opened_model(model, config=config)
        profile, self._approver = arguments.approval(approve)
        named = {
            "model": Value(f"{opened[0].name}/{opened[1]}" if opened else name, "model"),
            "approvals.profile": Value(profile, "approve"),
            "approvals.allow": Value(arguments.rules("allow", allow), "allow"),
            "approvals.deny": Value(arguments.rules("deny", deny), "deny"),
            "protocol": Value(arguments.optional_text("protocol", protocol), "protocol"),
            "mode": Value(arguments.optional_text("mode", mode), "mode"),
        }
        files, blocks = arguments.split_images(images)
        self._prompt, self._images = prompt, blocks
        headless = self._HEADLESS and self._approver is None
        flags = {**arguments.checked_settings(settings), **{key: value for key, value in named.items() if value.value}}
        self._options = TaskOptions(place, flags, resume, files, headless=headless)
        outside = arguments.store_outside(place, store)
        self._given = Given(opened, arguments.tools_from(tools), config, outside, hooks=arguments.hooks_from(hooks))
        self._unanswered = unanswered
        self._stack = AsyncExitStack()
        self._setup: TaskSetup | None = None
        self._handle: TaskHandle | None = None
        self._running: asyncio.Task[TaskFinished] | None = None
        self._result: TaskResult | None = None
        self._events: asyncio.Queue[tuple[str, Event] | None] = asyncio.Queue()
        self._requests: dict[tuple[str, str], Request] = {}
        self._passed: Request | None = None

    # Opening and closing

    async def __aenter__(self) -> Self:
        if self._handle is not None:
            raise UsageError("a task is opened once; to continue it, make another with resume=task.id")
        self._setup = prepare_task(self._options, self._given)
        opened = open_task(self._setup, self._prompt, self._watch, self._images)
        self._handle = await self._stack.enter_async_context(opened)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._running is not None:
                self.cancel("the program closed the task")
                await _to_the_end(self._running)
        finally:
            if self._result is None:
                self._finish(TaskFinished("cancelled", "the program closed the task"))
            await self._stack.aclose()

    # What it is

    @property
    def id(self) -> str:
        """The id of the task, by which it can be resumed."""
        return self._opened.id

    @property
    def workspace(self) -> Path:
        """The folder it works in."""
        return self._opened.workspace

    @property
    def result(self) -> TaskResult:
        """How the task ended."""
        if self._result is None:
            raise UsageError("the task has no result yet; read its events to the end, or `await task.wait()`")
        return self._result

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of the configuration, such as settings of a project that is not trusted."""
        setup = self._prepared
        return (*setup.notices, *notices(setup.config), *setup.servers.warnings)

    @property
    def _prepared(self) -> TaskSetup:
        if self._setup is None:
            raise UsageError(NOT_OPEN)
        return self._setup

    @property
    def _opened(self) -> TaskHandle:
        if self._handle is None:
            raise UsageError(NOT_OPEN)
        return self._handle

    # What happens

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return (await self._next())[1]

    async def events(self) -> AsyncIterator[tuple[str, Event]]:
        """The same events as `async for event in task`, each with the id of its task: a subtask has its own."""
        try:
            while True:
                yield await self._next()
        except StopAsyncIteration:
            return

    async def wait(self) -> TaskResult:
        """Run to the end; return the result."""
        async for _ in self:
            pass
        return self.result

    async def _next(self) -> tuple[str, Event]:
        running = self._start()
        self._answer_passed()
        got = await self._events.get()
        if got is None:
            self._events.put_nowait(None)  # every later reader is at the end, too
            await running
            raise StopAsyncIteration
        _, event = got
        if isinstance(event, ApprovalRequested) and self._approver is not None:
            await self._decide(event, self._approver)
        elif isinstance(event, Request):
            self._passed = event
        return got

    def _start(self) -> asyncio.Task[TaskFinished]:
        if self._running is None:
            if self._result is not None:
                raise UsageError(f"the task is closed; to continue it, make another with resume={self.id!r}")
            self._running = asyncio.create_task(self._run(self._opened))
        return self._running

    async def _run(self, handle: TaskHandle) -> TaskFinished:
        try:
            finished = await run_within(handle, self._prepared.config.value("limits.timeout"))
            self._finish(finished)
        finally:
            self._events.put_nowait(None)
        return finished

    def _finish(self, finished: TaskFinished) -> None:
        if self._handle is not None:
            cost = self._handle.state.spending.cost
            self._result = TaskResult(finished.outcome, finished.message, self._handle.id, cost)

    def _watch(self, task_id: str, event: Event) -> None:
        if isinstance(event, Request):
            self._requests[task_id, event.request_id] = event
        elif isinstance(event, ApprovalAnswered | QuestionAnswered | CompletionAnswered | ContinueAnswered):
            self._requests.pop((task_id, event.request_id), None)
        elif isinstance(event, TaskFinished):
            self._requests = {key: request for key, request in self._requests.items() if key[0] != task_id}
        self._events.put_nowait((task_id, event))

    # What the program wants

    async def answer(
        self,
        request: Request,
        *,
        yes: bool = False,
        text: str = "",
        always: bool = False,
        images: Sequence[ImageBlock] = (),
        scope: Scope = "task",
    ) -> None:
        """Answer a request.

        Approval: `yes`, or no with a reason in `text`; `always` approves what `request.always` lists, in this task
        or in this project (`scope`). Question: `text`.
        Result: `yes` accepts it, `text` says what to change; a no without `text` declines a plan.
        Limit or trouble: `yes`, or advice in `text`, continues.
        """
        if not isinstance(request, Request):
            raise UsageError(f"only requests are answered, such as joey.ApprovalRequested, not {request!r}")
        if isinstance(request, QuestionRequested) and not text:
            raise UsageError("a question is answered with a text: task.answer(request, text=…)")
        if isinstance(request, CompletionRequested) and not (yes or text or request.plan):
            raise UsageError("to refuse a result, say what to change: task.answer(request, text=…)")
        words = arguments.text("text", text)
        self._reply(request, Answer(request.request_id, yes, words, tuple(images), always, scope))

    def say(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """A message for the model. It is sent with the next request; it answers nothing."""
        self._send(Say(arguments.text("text", text), tuple(images)))

    def cancel(self, reason: str = "cancelled by the program") -> None:
        """Stop: what runs is ended, and the task can be resumed. A task that has ended stays as it is."""
        self._opened.send(Cancel(reason))

    def _send(self, command: Command) -> None:
        if not self._opened.send(command):
            raise UsageError(f"the task has ended; to continue it, make another with resume={self.id!r}")

    def _reply(self, request: Request, answer: Answer) -> None:
        if not self._is_open(request) or not self._opened.send(answer):
            gone = f"the request {request.request_id} is not open any more"
            if isinstance(request, ApprovalRequested) and self._approver is not None:
                raise UsageError(f"{gone}: the function approve= answered it")
            raise UsageError(
                f"{gone}: it was answered, or its task has ended. "
                "To answer later than the next event, make the task with unanswered='wait'"
            )
        self._requests = {key: each for key, each in self._requests.items() if each is not request}

    def _is_open(self, request: Request) -> bool:
        """By identity: a subtask counts its requests from one, like its parent."""
        return any(each is request for each in self._requests.values())

    def _answer_passed(self) -> None:
        passed, self._passed = self._passed, None
        if passed is not None and self._unanswered == "default" and self._is_open(passed):
            answer = unattended(passed)
            self._reply(passed, replace(answer, text=NOBODY) if isinstance(passed, ApprovalRequested) else answer)

    async def _decide(self, request: ApprovalRequested, approver: arguments.Approver) -> None:
        decided = approver(request)
        decision = await decided if inspect.isawaitable(decided) else decided
        if not isinstance(decision, bool | str):
            raise UsageError(f"the function approve= returns True, False or the reason for a no, not {decision!r}")
        await self.answer(request, yes=decision is True, text=decision if isinstance(decision, str) else "")


class _Unattended(Task):
    _HEADLESS = True


P = ParamSpec("P")


def _takes(_same: Callable[P, Task]) -> Callable[[Callable[..., TaskResult]], Callable[P, TaskResult]]:
    """That a function takes what a class does, for type checkers and for `help`."""

    def marked(function: Callable[..., TaskResult]) -> Callable[P, TaskResult]:
        function.__signature__ = inspect.signature(_same)  # type: ignore[attr-defined]
        return function

    return marked


@_takes(Task)
def run(*prompt: str, **options: Any) -> TaskResult:
    """Run a task to its end, and return how it ended. Takes the options of `joey.Task`.

    Nobody answers requests here: what needs an approval is denied, with the reason, unless `approve` allows it.
    """
    if options.get("unanswered", "default") != "default":
        raise UsageError("joey.run has nobody who could answer later: use `async with joey.Task(…) as task:`")
    if _loop_is_running():
        raise UsageError(
            "joey.run starts an event loop, and one is running here: use `async with joey.Task(…) as task:`"
        )
    return asyncio.run(_run(_Unattended(*prompt, **options)))


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _run(task: Task) -> TaskResult:
    async with task:
        return await task.wait()


async def _to_the_end(running: asyncio.Task[Any]) -> None:
    """Wait for a task that was told to end, whoever is cancelled meanwhile: what it opened is closed on its way."""
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:  # a web framework repeats it until its handler is gone
            cancelled = error
    if cancelled is not None:
        raise cancelled
