"""A task, from the first message to its end. The handle that front ends hold, and the loop.

    task = Task.start(parts, "Add a /hello endpoint")
    finished = await task.run()

Everything that happens comes out through `parts.watch`; everything a front end wants goes in through `task.send`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from joey.commands import Answer, Cancel, Command, Condense, Say, TakeBack
from joey.effects import SubtaskStarted
from joey.errors import JoeyError, UsageError
from joey.events import (
    ContextKept,
    ContinueAnswered,
    ContinueRequested,
    Event,
    SubtaskClosed,
    SubtaskOpened,
    TaskAborted,
    TaskFinished,
    TaskStarted,
    TodosChanged,
    ToolCallFinished,
)
from joey.journal.journal import Journal, JournalError, read_journal
from joey.journal.records import (
    ChildOpened,
    LastMessageReplaced,
    MessageAdded,
    ModeSet,
    TaskEnded,
    TaskOpened,
    TodosSet,
    UserSaid,
)
from joey.journal.replay import TaskState, replay
from joey.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.protocols import Reply, get
from joey.providers.errors import ProviderError
from joey.task import wording
from joey.task.compact import describe_briefly
from joey.task.context_window import condense
from joey.task.core import TaskCore
from joey.task.environment import brief_details, first_details, turn_details
from joey.task.parts import Parts
from joey.task.rescue import calls_in_text
from joey.task.run_tools import ToolRunner
from joey.task.turn import take_turn
from joey.task.unexpected import write_down
from joey.tools.shell.jobs import Jobs


class Task:
    """One task. Made with `start` or `resume`, then run (or condensed) once."""

    def __init__(self, parts: Parts, task_id: str, state: TaskState, journal: Journal, opening: list[Block]) -> None:
        self._core = TaskCore(parts, task_id, state, journal, self._spawn)
        self._opening = opening
        self._cancelled: str | None = None
        self._over = False
        self._running: asyncio.Task[object] | None = None
        self._child: Task | None = None
        self._depth = 0

    @property
    def workspace(self) -> Path:
        return self._core.parts.workspace

    @classmethod
    def start(
        cls,
        parts: Parts,
        text: str,
        *,
        mode: str = "code",
        images: Sequence[ImageBlock] = (),
        attached: Sequence[ResultBlock] = (),
        parent: TaskOpened | None = None,
    ) -> Self:
        """A new task. Its journal is open from now on, until it has run or is closed.

        `attached` is what the text brought along (joey.prompts)."""
        if mode not in parts.modes:
            raise UsageError(f"there is no mode {mode!r}; there are: {', '.join(parts.modes)}")
        task_id = parts.new_id()
        state, journal = TaskState(), Journal(parts.store.journal_path(task_id))
        task = cls(parts, task_id, state, journal, [TextBlock(text), *attached, *images])
        opened = TaskOpened(task_id, text, str(parts.workspace), mode, parts.label or parts.model, parts.protocol.name)
        if parent is not None:
            opened = replace(opened, parent_id=parent.task_id, parent_call_id=parent.parent_call_id)
        with _closed_on_failure(journal):
            task._core.record(opened)
        return task

    @classmethod
    def resume(
        cls,
        parts: Parts,
        task_id: str,
        *,
        text: str = "",
        images: Sequence[ImageBlock] = (),
        attached: Sequence[ResultBlock] = (),
        mode: str | None = None,
    ) -> Self:
        """A task that was interrupted or ended, to go on where it was, in the protocol it began with."""
        if mode is not None and mode not in parts.modes:
            raise UsageError(f"there is no mode {mode!r}; there are: {', '.join(parts.modes)}")
        path = parts.store.journal_path(task_id)
        journal = Journal(path)
        with _closed_on_failure(journal):
            state = replay(read_journal(path))
            if state.opened is None:
                raise UsageError(f"task {task_id} has nothing in its journal to go on with")
            said: list[Block] = [TextBlock(text)] if text else []
            parts = replace(parts, protocol=get(state.opened.protocol), workspace=Path(state.opened.workspace))
            if not state.messages:
                said = [TextBlock(state.opened.text), *said]
            task = cls(parts, task_id, state, journal, [*said, *attached, *images])
            if mode is not None and mode != state.mode:
                task._core.record(ModeSet(mode))
            if text:
                task._core.asked_anew(text)
        return task

    @property
    def id(self) -> str:
        return self._core.task_id

    @property
    def parts(self) -> Parts:
        """What the task is made of."""
        return self._core.parts

    @property
    def state(self) -> TaskState:
        return self._core.state

    def send(self, command: Command) -> bool:
        """Whatever a front end may ask, at any moment. False: nobody was there for it."""
        if self._over:
            return False
        match command:
            case Cancel(reason, task_id) if task_id in ("", self.id):
                self._cancel(reason or "cancelled by the user")
                return True
            case Say() if self._child is None:
                self._core.say(command)
                return True
            case TakeBack() if self._child is None:
                return self._core.take_back()
            case Condense() if self._child is None:
                self._core.condenses = True
                return True
            case Answer() if self._core.answer(command):
                return True
        # Whoever works now: the innermost subtask hears what is said.
        return self._child is not None and self._child.send(command)

    def _cancel(self, reason: str) -> None:
        if self._cancelled is None:
            self._cancelled = reason
            if self._running is not None:
                self._running.cancel()

    def close(self) -> None:
        """Instead of `run`: release the journal of a task that is not going to run now. It can be resumed."""
        if self._running is None:
            self._over = True
            self._core.journal.close()

    def abandon(self) -> None:
        """Before the process ends without waiting for the task: nothing that it started goes on running."""
        self._core.tool_memory[Jobs].kill_now()
        if self._child is not None:
            self._child.abandon()

    async def run(self) -> TaskFinished:
        """Carry the task to its end. Nothing a model, a tool or a provider does comes out of here as an exception."""
        self._running = asyncio.current_task()
        try:
            finished = await self._outcome()
        except BaseException:
            await self._stop(TaskFinished("cancelled", "interrupted"))
            raise
        return await self._stop(finished)

    async def _stop(self, finished: TaskFinished) -> TaskFinished:
        """Close what tools opened, which may have something to report, and then write down the end."""
        self._over = True
        try:
            try:
                await self._absorb_cancel()
                await asyncio.shield(self._core.tool_memory.close())
            finally:
                finished = self._end(finished)
        finally:
            self._core.journal.close()
        return finished

    async def condense(self) -> None:
        """Instead of `run`: sum up the old part of the conversation, nothing else. Cancelled, it stays as it was."""
        self._running = asyncio.current_task()
        try:
            await condense(self._core)
        except asyncio.CancelledError:
            if self._cancelled is None:
                raise
            self._core.emit(ContextKept(self._cancelled))
        except JoeyError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the conversation is as it was
            self._tell(ContextKept(write_down(error, self._core.storage)))
        finally:
            self._over = True
            await self._absorb_cancel()
            self._core.journal.close()

    async def _outcome(self) -> TaskFinished:
        """How the task ended. A cancellation that did not come through `send` goes on its way once it is written down,
        and so does a reader who went away: `joey run … | head`."""
        try:
            self._announce()
            if self._cancelled is None:  # it may have come before the task began
                return await self._loop()
        except JoeyError as error:
            return TaskFinished("error", str(error))
        except (asyncio.CancelledError, BrokenPipeError):
            if self._cancelled is None:
                raise
        except Exception as error:  # noqa: BLE001 - a bug of a front end, a provider or ours ends the task in words
            return TaskFinished("error", f"the task failed unexpectedly: {write_down(error, self._core.storage)}")
        self._tell(TaskAborted(self._cancelled or ""))
        return TaskFinished("cancelled", self._cancelled or "")

    def _announce(self) -> None:
        state, opened = self._core.state, self._core.state.opened
        assert opened is not None
        resumed = bool(state.messages)
        self._core.emit(TaskStarted(opened.text, state.mode, opened.model, opened.protocol, opened.parent_id, resumed))

    def _tell(self, event: Event) -> None:
        """One of the last events: what a front end does with it changes nothing any more."""
        try:
            self._core.emit(event)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the end is written down, whoever cannot show it
            write_down(error, self._core.storage)

    async def _absorb_cancel(self) -> None:
        """Our own cancellation, which may still be on its way when the loop has ended, must not hit our caller."""
        if self._cancelled is not None and self._running is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            self._running.uncancel()

    def _end(self, finished: TaskFinished) -> TaskFinished:
        try:
            self._core.record(TaskEnded(finished.outcome, finished.message))
        except JournalError as error:
            finished = TaskFinished("error", str(error))
        self._tell(finished)
        return finished

    # The loop

    async def _loop(self) -> TaskFinished:
        content = await self._first_content()
        while True:
            await self._add_user_message(content)
            reply = await self._over_a_limit() or await self._reply()
            said = reply if isinstance(reply, TaskFinished) else await self._act_on(reply)
            if isinstance(said, TaskFinished):
                return said
            content = said

    async def _first_content(self) -> list[Block]:
        """What the task begins with: the user's words, and on resuming the answers that are still owed."""
        core = self._core
        owed = [await self._owed(call.id, call.name) for call in core.state.unanswered]
        details = self._first_details()
        if not core.state.messages:
            return [*self._opening, TextBlock(details)]
        if not owed and not self._opening and core.state.messages[-1].role == "user":
            return []
        return [*owed, *self._opening, *([TextBlock(details)] if details else [])]

    def _first_details(self) -> str:
        core = self._core
        if core.claims is not None:  # made now, to know what there was before anything was done
            return brief_details(core.context())
        return first_details(core.context(), core.parts.now(), core.state.todos)

    async def _owed(self, call_id: str, name: str) -> ToolResultBlock:
        """The answer to a call that an interruption left open."""
        state = self._core.state
        if call_id in state.results:
            return _block(call_id, state.results[call_id])
        if call_id in state.children:
            return _block(call_id, await self._resume_child(state.children[call_id]))
        if name == "attempt_completion" and state.ended is not None and state.ended.outcome == "completed":
            return ToolResultBlock(call_id, (TextBlock(wording.ACCEPTED),))
        text = wording.INTERRUPTED if call_id in state.begun else wording.NOT_RUN
        return ToolResultBlock(call_id, (TextBlock(text),), is_error=True)

    async def _add_user_message(self, content: list[Block]) -> None:
        """Write down what the model is told next, and what the user said meanwhile, with what that mentions.

        More may be said while files are read; and if the task is cancelled then, nothing of the message is lost.
        """
        core, heard = self._core, list[list[Block]]()
        try:
            content = await core.resize_images(content)
            while len(heard) < len(core.state.queued):
                said = core.state.queued[len(heard)]
                words = await core.resize_images([*_said(said), *await core.brought(said.text)])
                if said in core.state.queued:  # it may have been taken back meanwhile
                    heard.append(words)
        finally:
            waiting = core.state.queued
            heard = [*heard[: len(waiting)], *map(_said, waiting[len(heard) :])]
            message = Message("user", (*content, *(block for each in heard for block in each)))
            if message.content:
                core.record(MessageAdded(message))

    async def _reply(self) -> Reply | TaskFinished:
        while True:
            try:
                return await take_turn(self._core)
            except ProviderError as error:
                if not await self._goes_on(str(error)):
                    return TaskFinished("error", str(error))

    async def _act_on(self, reply: Reply) -> list[Block] | TaskFinished:
        """What to tell the model next, or the end."""
        core = self._core
        calls = reply.calls or await self._calls_in_text(reply)
        if reply.stop == "refusal" and not calls:
            return await self._after_refusal(reply)
        runner = ToolRunner(core)
        results = await runner.run(calls)
        if runner.finished is not None:
            return runner.finished
        content: list[Block] = [_block(call.call_id, results[call.call_id]) for call in calls]
        content += [TextBlock(note) for note in self._notes(reply, calls)]
        if not calls and not reply.malformed and self._is_an_answer(reply):
            finished = await self._take_as_result(reply.text)
            if isinstance(finished, TaskFinished):
                return finished
            content = finished
        went_well = any(not result.is_error for result in results.values())
        core.mistakes = 0 if went_well else core.mistakes + 1
        details = turn_details(core.context(), core.state.todos)
        return await self._after_mistakes([*content, *([TextBlock(details)] if details else [])], denied=runner.denied)

    def _notes(self, reply: Reply, calls: Sequence[ToolCallFinished]) -> list[str]:
        cut = reply.stop == "length"
        if reply.malformed:
            return [wording.malformed(reply.malformed, cut=cut, reminder=self._reminder())]
        if calls or self._is_an_answer(reply):
            return []
        if cut:
            return [wording.CUT_OFF]
        return [wording.no_tool_used(self._reminder()) if reply.content else wording.EMPTY_REPLY]

    def _reminder(self) -> str:
        core = self._core
        protocol, specs = core.parts.protocol, core.tools.specs
        return describe_briefly(protocol, specs) if core.parts.settings.compact else protocol.reminder(specs)

    def _is_an_answer(self, reply: Reply) -> bool:
        finishes = self._core.parts.settings.plain_answers == "finish"
        return finishes and bool(reply.text.strip()) and reply.stop != "length"

    async def _take_as_result(self, text: str) -> list[Block] | TaskFinished:
        runner = ToolRunner(self._core)
        result = await runner.propose(text)
        return runner.finished or [*(result.content if result else ())]

    async def _calls_in_text(self, reply: Reply) -> tuple[ToolCallFinished, ...]:
        """Calls that a native model wrote into its text, if the settings want them and the user does not mind."""
        core = self._core
        wanted = core.parts.settings.text_calls
        if core.parts.protocol.in_text or wanted == "ignore" or reply.malformed or reply.stop == "length":
            return ()
        found = calls_in_text(reply.text, core.tools.specs)
        if found is None:
            return ()
        names = ", ".join(call.name for call in found.calls)
        question = f"The model wrote a call of {names} as text instead of making it. Make it?"
        if wanted == "offer" and not await self._goes_on(question):
            return ()
        calls = tuple(replace(call, call_id=f"text_{core.state.turns}_{n}") for n, call in enumerate(found.calls))
        uses = (ToolUseBlock(call.call_id, call.name, call.arguments) for call in calls)
        thoughts = (block for block in reply.content if isinstance(block, ReasoningBlock))
        said = (TextBlock(found.around),) if found.around else ()
        core.record(LastMessageReplaced(Message("assistant", (*thoughts, *said, *uses))))
        return calls

    # Limits and trouble

    async def _over_a_limit(self) -> TaskFinished | None:
        core = self._core
        most = core.parts.settings.max_turns
        if most is not None and core.state.turns >= most:
            return TaskFinished("limit", f"the task took {core.state.turns} turns; the limit is {most}")
        reason = core.policy.over_limit(
            core.state.turns - core.turns_allowed, (core.state.cost or 0.0) - core.cost_allowed
        )
        if reason is None:
            return None
        if not await self._goes_on(reason):
            return TaskFinished("limit", reason)
        core.turns_allowed, core.cost_allowed = core.state.turns, core.state.cost or 0.0
        return None

    async def _after_refusal(self, reply: Reply) -> list[Block] | TaskFinished:
        """The model itself will not. Asking it the same again is of no use, so the user says how to go on."""
        said = reply.text.strip()
        reason = f"The model refused to go on: {said}" if said else "The model refused to go on, and did not say why."
        goes_on, guidance = await self._go_on(reason)
        if not goes_on:
            return TaskFinished("refused", reason)
        return [TextBlock(wording.guidance(reason, guidance) if guidance else wording.no_tool_used(self._reminder()))]

    async def _after_mistakes(self, content: list[Block], *, denied: bool) -> list[Block] | TaskFinished:
        core, limit = self._core, self._core.parts.settings.mistake_limit
        if not limit or core.mistakes < limit:
            return content
        why = ", and the last call had no leave" if denied else ""
        reason = f"Nothing went right in the last {core.mistakes} turns{why}."
        goes_on, guidance = await self._go_on(reason)
        if not goes_on:
            # What the model was about to be told stays in the conversation, for whoever resumes it.
            await self._add_user_message(content)
            return TaskFinished("refused" if denied or not core.parts.headless else "limit", reason)
        core.mistakes = 0
        if not guidance:
            return content
        return [*content, TextBlock(wording.guidance(reason, guidance)), *await core.brought(guidance)]

    async def _goes_on(self, reason: str) -> bool:
        """Whether the user wants to go on. Words they add are for the model, with the next message."""
        goes_on, words = await self._go_on(reason)
        if goes_on and words:
            self._core.say(Say(words))
        return goes_on

    async def _go_on(self, reason: str) -> tuple[bool, str]:
        core = self._core
        request_id = core.request_id("continue")
        answer = await core.ask(ContinueRequested(request_id, reason))
        goes_on = answer.yes or bool(answer.text)
        core.emit(ContinueAnswered(request_id, goes_on, answer.text))
        return goes_on, answer.text

    # Subtasks

    async def _spawn(self, subtask: SubtaskStarted, call_id: str) -> ToolResult:
        core = self._core
        if self._depth >= core.parts.settings.max_depth:
            text = f"Subtasks are nested {self._depth} deep, which is the limit. Do this piece of the work yourself."
            return ToolResult((TextBlock(text),), is_error=True)
        opened = core.state.opened
        assert opened is not None
        child = Task.start(
            replace(core.parts, policy=core.policy), subtask.message, mode=subtask.mode,
            parent=replace(opened, parent_call_id=call_id),
        )  # fmt: skip
        core.record(ChildOpened(child.id, call_id))
        if subtask.todos:
            child._core.record(TodosSet(subtask.todos))
            child._core.emit(TodosChanged(subtask.todos))
        core.emit(SubtaskOpened(child.id, subtask.mode))
        return await self._run_child(child)

    async def _resume_child(self, child_id: str) -> ToolResult:
        """A subtask that an interruption of this task left behind: its result if it has one, else it goes on.

        What the user says on resuming is for whoever works, so it goes to the subtask.
        """
        core = self._core
        try:
            state = replay(read_journal(core.parts.store.journal_path(child_id)))
            if state.ended is not None and state.ended.outcome == "completed":
                return self._child_result(child_id, state, TaskFinished("completed", state.ended.message))
            child = Task.resume(replace(core.parts, policy=core.policy), child_id)
        except JoeyError as error:
            return self._child_result(child_id, TaskState(), TaskFinished("error", str(error)))
        child._opening, self._opening = [*child._opening, *self._opening], []
        return await self._run_child(child)

    async def _run_child(self, child: Task) -> ToolResult:
        self._child, child._depth = child, self._depth + 1
        try:
            finished = await child.run()
        finally:
            self._child = None
        return self._child_result(child.id, child.state, finished)

    def _child_result(self, child_id: str, state: TaskState, finished: TaskFinished) -> ToolResult:
        """What the model is told of a subtask. What the user said too late for the subtask is for this task."""
        for said in state.queued:
            self._core.record(said)
        text = wording.subtask_result(child_id, finished.outcome, finished.message)
        self._core.emit(SubtaskClosed(child_id, text))
        return ToolResult((TextBlock(text),), is_error=finished.outcome != "completed")


def _said(said: UserSaid) -> list[Block]:
    return [TextBlock(wording.user_message(said.text)), *said.images]


def _block(call_id: str, result: ToolResult) -> ToolResultBlock:
    return ToolResultBlock(call_id, result.content, result.is_error)


@contextlib.contextmanager
def _closed_on_failure(journal: Journal) -> Iterator[None]:
    try:
        yield
    except BaseException:
        journal.close()
        raise
