"""The loop: a message to the model, its reply, the calls in it, and their results as the next message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from joey.events import TaskFinished, ToolCallFinished
from joey.journal.records import LastMessageReplaced, MessageAdded, UserSaid, UserTookBack
from joey.messages import Block, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.reply import Reply
from joey.providers.errors import ProviderError
from joey.task import wording
from joey.task.completion import Accepted, Completion, waiting_result, was_accepted
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.environment import find_earlier_commands, turn_details
from joey.task.hook_points import HookPoints, PromptCheck
from joey.task.limits import LimitChecks
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.task.request import RequestBuilder
from joey.task.requests import Requests
from joey.task.rescue import calls_in_text, is_answer
from joey.task.results import block_of, resized
from joey.task.run_calls import ToolRunner
from joey.task.toolbox import Toolbox
from joey.task.turn import CallIds, Turns
from joey.tools.registry import ResolvedCall
from joey.tools.shell.jobs import Jobs
from joey.tools.shell.output import shorten_output

_MAX_CUT = 8_000
"""Characters of a reply that was stopped, of which the model is reminded."""


def _no_details() -> str:
    """A turn in the middle says by itself what is new."""
    return ""


@dataclass(slots=True, eq=False)
class Loop:
    """Carries one task from its first message to its end."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _supervisor: Supervisor
    _requests: Requests
    _builder: RequestBuilder
    _turns: Turns
    _runner: ToolRunner
    _completion: Completion
    _limits: LimitChecks
    _hooks: HookPoints
    _checks: EditChecks
    _plans: bool = False
    """Whether the model has been told that it only plans."""
    _checked: dict[UserSaid, PromptCheck] = field(default_factory=dict)
    """What hooks say to messages that wait, where they were run already."""

    async def run(self, opening: list[Block]) -> TaskFinished:
        """`opening` is what the user begins with; on resuming it may be empty. A finished task needs a new message."""
        if not opening and self._log.state.is_finished and (ended := self._log.state.ended):
            return TaskFinished(ended.outcome, ended.message)
        begun = await self._hooks.begin(self._requests.ask, resumed=bool(self._log.state.messages))
        typed = next((block.text for block in opening if isinstance(block, TextBlock)), "")
        checked = await self._hooks.prompt(typed)
        if checked.blocked is not None:
            return TaskFinished("refused", wording.stopped_by_hook(checked.blocked))
        if refused := await self._refused():
            return refused
        made = await self._runner.run(self._unmade_calls())
        if made.accepted is not None:
            return TaskFinished("completed", made.accepted.result)
        content, details = await self._first_content(opening)
        content += [*begun, *checked.context]
        if made.declined:
            return await self._declined(content)
        while True:
            await self._add_user_message(content, details)
            if self._hooks.stopped is not None:
                return TaskFinished("refused", wording.stopped_by_hook(self._hooks.stopped))
            reply = await self._held_back() or await self._limits.exceeded() or await self._reply()
            outcome = reply if isinstance(reply, TaskFinished) else await self._act_on(reply)
            if isinstance(outcome, TaskFinished):
                return outcome
            content, details = outcome, _no_details

    async def _held_back(self) -> TaskFinished | None:
        """Whoever started the task may want no more turns, or not yet."""
        reason = await self._config.hooks.between_turns()
        return TaskFinished("limit", reason) if reason else None

    def _unmade_calls(self) -> list[ToolCallFinished]:
        """The calls that a suspension left open: none of them, and none before them, has touched anything. A question
        is begun when it is put, and can be put again; and so can a plan, also where an interruption left it open."""
        state = self._log.state
        if state.calls.children or state.calls.uncertain:
            return []
        owed = [call for call in state.unanswered if call.id not in state.calls.results]
        if self._config.hooks.answer is None:
            owed = owed if self._is_waiting_plan(owed) else []
        elif any(call.id in state.calls.begun and not self._is_question(call) for call in owed):
            return []
        return [ToolCallFinished(call.id, call.name, call.arguments) for call in owed]

    def _is_question(self, call: ToolUseBlock) -> bool:
        resolved = self._toolbox.registry.resolve(call)
        return isinstance(resolved, ResolvedCall) and resolved.tool.display.role == "question"

    def _is_waiting_plan(self, owed: Sequence[ToolUseBlock]) -> bool:
        """Whether nothing is left open but a plan, about which the user can decide now as well as then."""
        state = self._log.state
        plans = self._toolbox.approvals.profile == "plan" and not state.queued
        return plans and len(owed) == 1 and waiting_result(state) is not None

    async def _reply(self) -> Reply | TaskFinished:
        while True:
            try:
                return await self._turns.take()
            except ProviderError as error:
                if not await self._requests.continues(str(error)):
                    return TaskFinished("error", str(error))
                await self._add_user_message([])  # what the user said to it goes along with the next attempt

    async def _act_on(self, reply: Reply) -> list[Block] | TaskFinished:
        """What the model is told next, or the end."""
        calls = reply.calls or await self._calls_in_text(reply)
        if reply.stop == "refusal" and not calls:
            return await self._limits.after_refusal(reply, self._builder.reminder())
        turn = await self._runner.run(calls)
        if turn.accepted is not None:
            return TaskFinished("completed", turn.accepted.result)
        content: list[Block] = [block_of(call.call_id, turn.results[call.call_id]) for call in calls]
        answered = not calls and self.is_answer(reply)
        if answered:
            outcome = await self._completion.check_answer(reply.text)
            if isinstance(outcome, Accepted):
                return TaskFinished("completed", outcome.result)
            content = [*outcome.content]
        if turn.declined:
            return await self._declined(content)
        notes = [] if answered else [*self._notes(reply, calls), await self._checks.complaints() or ""]
        content += [TextBlock(note) for note in (*notes, self._details()) if note]
        succeeded = turn.any_succeeded or answered
        more = await self._limits.after_turn(self._supervisor, succeeded=succeeded, denied=turn.denied)
        if isinstance(more, TaskFinished):
            # What the model was about to be told stays in the conversation, for whoever resumes it.
            await self._add_user_message(content)
            return more
        return [*content, *more]

    async def _declined(self, content: list[Block]) -> TaskFinished:
        """The user does not want the plan."""
        profile = self._toolbox.approvals.profile
        self._plans = profile == "plan"  # the answer says so already, and not that anything is to be done
        await self._add_user_message(content)
        return TaskFinished("cancelled", wording.plan_stopped(profile))

    async def _refused(self) -> TaskFinished | None:
        """The end, if a hook keeps from the model what the user says on resuming. It does not wait any longer then."""
        waiting = self._log.state.queued
        for message in waiting:
            checked = self._checked[message] = await self._hooks.prompt(message.text)
            if checked.blocked is not None:
                self._drop(message)
                return TaskFinished("refused", wording.stopped_by_hook(checked.blocked))
        return None

    def _drop(self, message: UserSaid) -> None:
        """Take back one of the messages that wait, whichever it is."""
        waiting = self._log.state.queued
        for _ in waiting:
            self._log.record(UserTookBack())
        for other in waiting:
            if other != message:
                self._log.record(other)

    # What the model is told

    async def _first_content(self, opening: list[Block]) -> tuple[list[Block], Callable[[], str]]:
        """What the task begins with: the user's words, and on resuming the answers that are still owed. With it, the
        details that close the message."""
        state, memory = self._log.state, self._toolbox.memory
        find_earlier_commands(self._log, memory)
        damaged = [TextBlock(wording.DAMAGED)] if state.is_damaged else []
        await self._bring_back(state.unanswered)
        owed = [self._owed(call) for call in state.unanswered]
        stopped = state.interrupted.get(len(state.messages), "") if opening or state.queued else ""
        cut = [TextBlock(wording.cut_short(shorten_output(stopped, max_characters=_MAX_CUT)))] if stopped else []
        content: list[Block] = [*owed, *damaged, *cut, *opening]
        if not content and not state.queued and not memory[Jobs].earlier and state.messages[-1].role == "user":
            return [], _no_details
        return content, self._opening_details

    def _opening_details(self) -> str:
        context, todos = self._toolbox.context(), self._log.state.todos
        details = self._config.profile.opening_details(context, self._config.hooks.clock(), todos)
        return "\n\n".join(text for text in (details, self._toolbox.beside(self._supervisor)) if text)

    async def _bring_back(self, calls: Sequence[ToolUseBlock]) -> None:
        """Have the subtasks that an interruption left open come to their ends: all at once, as they were."""
        state = self._log.state
        await self._runner.resume_subtasks([call for call in calls if call.id in state.calls.children])

    def _owed(self, call: ToolUseBlock) -> ToolResultBlock:
        """The answer to a call that an interruption left open."""
        state = self._log.state
        if call.id in state.calls.results:
            return block_of(call.id, state.calls.results[call.id])
        if was_accepted(state, call.name):
            return ToolResultBlock(call.id, (TextBlock(wording.SHOWN),))
        if call.name == "attempt_completion":
            return ToolResultBlock(call.id, (TextBlock(wording.UNDECIDED),))
        text = wording.INTERRUPTED if call.id in state.calls.begun or state.calls.uncertain else wording.NOT_RUN
        return ToolResultBlock(call.id, (TextBlock(text),), is_error=True)

    async def _add_user_message(self, content: list[Block], details: Callable[[], str] = _no_details) -> None:
        """Write down what the model is told next, and the user's messages since, with what they mention; the details
        come last, since a message may change the mode.

        More may come while files are read; and if the task is cancelled then, nothing of the message is lost.
        """
        state, model, read, last = self._log.state, self._config.model, list[list[Block]](), list[Block]()
        content = [*content, *(TextBlock(note) for note in (*self._plan_note(), *self._restored_note()))]
        try:
            content = await resized(content, model)
            while len(read) < len(state.queued):
                message = state.queued[len(read)]
                words = await resized(await self._read(message), model)
                if message in state.queued:  # it may have been taken back meanwhile
                    read.append(words)
            last = [TextBlock(text)] if (text := details()) else []
        finally:
            waiting = state.queued
            unread = waiting[len(read) :]
            unchecked = unread if self._hooks.checks_prompts else []
            read = [*read[: len(waiting)], *([] if unchecked else map(_blocks, unread))]
            whole = Message("user", (*content, *(block for each in read for block in each), *last))
            if whole.content:
                self._log.record(MessageAdded(whole))
            for each in unchecked:  # no hook has seen them yet: they wait for the task to be resumed
                self._log.record(each)

    async def _read(self, message: UserSaid) -> list[Block]:
        """A message of the user's with what it mentions; nothing of one that a hook keeps from the model."""
        self._checks.new_message()
        checked = self._checked.pop(message, None) or await self._hooks.prompt(message.text)
        if checked.blocked is not None:
            return []
        return [*_blocks(message), *await self._requests.expand(message.text), *checked.context]

    def _notes(self, reply: Reply, calls: Sequence[ToolCallFinished]) -> list[str]:
        cut = reply.stop == "length"
        if reply.malformed:
            return [wording.malformed(reply.malformed, cut=cut, reminder=self._builder.reminder())]
        if calls:
            return []
        if cut:
            return [wording.CUT_OFF]
        return [wording.no_tool_used(self._builder.reminder()) if reply.content else wording.EMPTY_REPLY]

    def _plan_note(self) -> list[str]:
        """What the model must know when plan mode was switched on or off."""
        before, self._plans = self._plans, self._toolbox.approvals.profile == "plan"
        if before == self._plans:
            return []
        return [wording.PLAN_MODE if self._plans else wording.PLAN_MODE_OFF]

    def _restored_note(self) -> list[str]:
        """What the model must know when the user put files back."""
        paths = self._log.state.restored
        return [wording.restored(paths)] if paths else []

    def _details(self) -> str:
        return turn_details(self._toolbox.context(), self._log.state.todos)

    def is_answer(self, reply: Reply) -> bool:
        """Whether a reply without a call ends the turn."""
        wanted = self._config.model.replies.plain_answers == "finish"
        return wanted and is_answer(reply, self._toolbox.registry.specs)

    # Calls in text

    async def _calls_in_text(self, reply: Reply) -> tuple[ToolCallFinished, ...]:
        """Calls that a model wrote in another form than it should, if the settings want them and the user does not
        mind: into its text instead of natively, or in another dialect than that of the task."""
        model = self._config.model
        wanted = model.replies.text_calls
        if wanted == "ignore" or reply.malformed or reply.stop == "length":
            return ()
        found = calls_in_text(reply.text, self._toolbox.registry.specs)
        if found is None:
            return ()
        names = ", ".join(call.name for call in found.calls)
        instead = "in another form than expected" if model.protocol.in_text else "as text instead of making it"
        question = f"The model wrote a call of {names} {instead}. Make it?"
        if wanted == "offer" and not await self._requests.continues(question):
            return ()
        ids = CallIds(self._log.state.calls.ids, self._log.state.spending.turns)
        calls = tuple(replace(call, call_id=ids.of(f"text_{n}")) for n, call in enumerate(found.calls, 1))
        uses = (ToolUseBlock(call.call_id, call.name, call.arguments) for call in calls)
        thoughts = (block for block in reply.content if isinstance(block, ReasoningBlock))
        text = (TextBlock(found.around),) if found.around else ()
        self._log.record(LastMessageReplaced(Message("assistant", (*thoughts, *text, *uses))))
        return calls


def _blocks(message: UserSaid) -> list[Block]:
    words = [TextBlock(wording.user_message(message.text))] if message.text else []
    return [*words, *message.images]
