"""Keeping the conversation within the model's window.

What the provider counted decides, and an estimate only where it did not count. When the window is nearly full, large
results that are old are sent in part, if that gains enough. Otherwise old turns are hidden behind a summary, which the
profile makes or the model writes; if that fails, they are hidden without one. Either way what the user wants now, the
last turns, the plan, open questions and every call with its answer stay, nothing is deleted, and one attempt is made
for each time the window fills: a summary that does not come cannot hold up the task. Where the user wants it and there
is no need, no summary means that all stays.

The todo list goes with every message. A plan that the user accepted and questions that nobody answered stand in the
conversation alone: they are taken from it word by word, whatever the summary makes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from joey.chunks import TextChunk, UsageChunk
from joey.events import ContextKept, ContextShortened, RetryScheduled
from joey.frames import below_heading, framed, original
from joey.journal.records import MessagesHidden, ResultsShortened
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest, Provider
from joey.providers.errors import ProviderError
from joey.task.config import FastModel, TaskConfig
from joey.task.hook_points import HookPoints
from joey.task.log import TaskLog
from joey.task.request import RequestBuilder, persist, size_of
from joey.task.results import limit_for, result_sizes
from joey.task.visible import hideable, kept_words, places, visible
from joey.task.wording import PLAN_ACCEPTED, UNANSWERED
from joey.tools.todos import open_todos
from joey.usage import Usage

KEPT_MESSAGES = 6
KEPT_ON_REQUEST = 2
OLD_RESULT = 2000
"""Characters of a result that is old."""
_WORTH_IT = 0.2
"""Which part of a request must be gained to shorten old results instead of summarizing."""
_MAX_RESULT = 2000
_CHARACTERS_A_TOKEN = 3

_SUMMARIZER = "You summarize a conversation between a user and a coding agent, for the agent to continue without it."
_INSTRUCTIONS = """\
Summarize the conversation above for the agent that continues it. Under these headings, briefly and exactly:
1. What the user asked for: every request in order, in the user's own words where they matter, and which are done.
2. What was done: files read, written and changed, with their paths; commands and what they showed.
3. What was decided, and why.
4. What went wrong, and what helped.
5. Where things stand, and the next step.
6. Questions that are still open.
Write nothing else."""


@dataclass(frozen=True, slots=True)
class _Summary:
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    by: str = ""
    """The fast model that wrote it; empty: the model of the task."""


@dataclass(slots=True, eq=False)
class Window:
    """The part of one task's conversation that is still sent."""

    _config: TaskConfig
    _log: TaskLog
    _requests: RequestBuilder
    _hooks: HookPoints
    compact_next: bool = False
    """Whether the user wants the conversation compacted before the next request."""

    async def make_room(self) -> None:
        """Before a request: what the user wants, and what is needed."""
        if self.compact_next:
            await self.compact()
        if self.nearly_full() and not (self.shorten_old_results() and not self.nearly_full()):
            await self.shorten()

    def nearly_full(self) -> bool:
        """Whether the next reply might not have room. It may take `max_tokens`, but at most half of the window."""
        replies, state = self._config.model.replies, self._log.state
        window, used = replies.context_window, state.spending.last_usage.total
        if window is None:
            return False
        if not used and state.spending.turns:  # a reply that was not read to its end has no count
            used = size_of(self._requests.build()) // _CHARACTERS_A_TOKEN
        return used > min(self._config.limits.compact_at * window, window - min(replies.max_tokens, window / 2))

    async def shorten(self, *, keep: int = KEPT_MESSAGES) -> bool:
        """Hide old turns behind a summary if there is one. False: there is nothing left to hide."""
        count = hideable(self._log.state.messages, keep)
        if count <= self._log.state.shortening.hidden:
            return False
        await self._hooks.before_compaction("auto")  # there is no room: a hook cannot keep it as it is
        try:
            summary = await self._summary(count)
        except ProviderError:
            summary = _Summary()
        self._hide(count, summary)
        return True

    def shorten_results(self, share: float | None) -> bool:
        """Send large results in part from now on, so that about a share of the conversation remains. False: there are
        none."""
        state = self._log.state
        sizes, size = result_sizes(self._requests.sent(state)), size_of(self._requests.build(state))
        limit = limit_for(sizes, size, share)
        if limit is None:
            return False
        shorter = replace(state, shortening=replace(state.shortening, result_limit=limit))
        before = state.spending.last_usage.total
        after = before * size_of(self._requests.build(shorter)) // size
        self._log.record(ResultsShortened(limit, after))
        cut = sum(each > limit for each in sizes)
        self._log.emit(ContextShortened(state.shortening.hidden, None, before, after, shortened_results=cut))
        return True

    def shorten_old_results(self) -> bool:
        """Send large results only in part if they are old. False: that would not gain much."""
        state = self._log.state
        until = len(state.messages) - KEPT_MESSAGES
        old_results = state.shortening.old_results
        if until <= 0 or (old_results is not None and old_results[1] >= until):
            return False
        shorter = replace(state, shortening=replace(state.shortening, old_results=(OLD_RESULT, until)))
        size, after = (size_of(self._requests.build(each)) for each in (state, shorter))
        if after > size * (1 - _WORTH_IT):
            return False
        old = (message for message, place in zip(visible(state), places(state), strict=True) if place < until)
        before = state.spending.last_usage.total
        tokens = before * after // size
        self._log.record(ResultsShortened(OLD_RESULT, tokens, until))
        cut = sum(each > OLD_RESULT for each in result_sizes(old))
        self._log.emit(ContextShortened(state.shortening.hidden, None, before, tokens, shortened_results=cut))
        return True

    async def compact(self) -> None:
        """What `shorten` does, because the user wants it: as much as can be, and only behind a summary."""
        self.compact_next = False
        count = hideable(self._log.state.messages, KEPT_ON_REQUEST)
        if count <= self._log.state.shortening.hidden:
            self._log.emit(ContextKept("there is nothing to summarize yet"))
            return
        if (blocked := await self._hooks.before_compaction("manual")) is not None:
            self._log.emit(ContextKept(f"a hook prevents it: {blocked}"))
            return
        try:
            summary = await self._summary(count)
        except ProviderError as error:
            self._log.emit(ContextKept(str(error)))
            return
        if summary.text:
            self._hide(count, summary)
        else:
            self._log.emit(ContextKept("the model wrote no summary"))

    def _hide(self, count: int, summary: _Summary) -> None:
        text, usage = summary.text or None, summary.usage
        cost = self._cost(summary) if usage.total else None
        state, before = self._log.state, self._log.state.spending.last_usage.total
        sent = state.shortening
        messages = state.messages[1 + sent.hidden : 1 + count]
        kept = kept_of(messages, sent.kept)
        shorter = replace(
            state, shortening=replace(sent, hidden=count, summary=text, kept=kept, of=len(state.messages))
        )
        after = before * size_of(self._requests.build(shorter)) // size_of(self._requests.build(state))
        self._log.record(MessagesHidden(count, text, after, usage, cost, kept))
        named = (*kept_names(kept, len(open_todos(tuple(state.todos)))), *_names_of_words(kept_words(self._log.state)))
        self._log.emit(ContextShortened(count, text, before, after, usage, cost, 0, dropped_from(messages), named))

    def _cost(self, summary: _Summary) -> float | None:
        model = self._config.model
        return model.prices.cost(summary.by, summary.usage) if summary.by else model.cost(summary.usage)

    async def _summary(self, count: int) -> _Summary:
        """The first `count` messages after the task in short, with those hidden before. Raises ProviderError."""
        state, model = self._log.state, self._config.model
        made = self._config.profile.summary(state.messages[1 : 1 + count])
        if made is not None:
            return _Summary(made)
        messages = visible(state)[: 1 + count - state.shortening.hidden]
        request = ModelRequest(
            model=model.name,
            messages=(*map(_as_text, messages), Message("user", (TextBlock(_INSTRUCTIONS),))),
            system=_SUMMARIZER,
            max_tokens=model.replies.max_tokens,
            temperature=model.replies.temperature,
        )
        if model.fast is not None and (written := await self._by_fast(model.fast, request)):
            return written
        return await persist(lambda: self._written(request, model.provider), self._config, self._log)

    async def _by_fast(self, fast: FastModel, request: ModelRequest) -> _Summary | None:
        """What the fast model writes, at the first attempt; None where it cannot: then the model of the task does."""
        request = replace(request, model=fast.name, reasoning=fast.reasoning)
        problem = "it wrote nothing"
        try:
            written = await self._written(request, fast.provider)
            if written.text:
                return replace(written, by=fast.label)
        except ProviderError as error:
            problem = str(error)
        reason = f"{fast.label} wrote no summary ({problem}); {self._config.model.full_name} writes it"
        self._log.emit(RetryScheduled(1, 0.0, reason))
        return None

    async def _written(self, request: ModelRequest, provider: Provider) -> _Summary:
        text: list[str] = []
        usage = Usage()
        async with aclosing(provider.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextChunk):
                    text.append(chunk.text)
                elif isinstance(chunk, UsageChunk):
                    usage = usage.merge(chunk)
        return _Summary("".join(text).strip(), usage)


def _as_text(message: Message) -> Message:
    return Message(message.role, tuple(_block_as_text(block) for block in message.content))


def _block_as_text(block: Block) -> Block:
    """Calls and results in words: a request without tools may not carry them, and a summary needs no more."""
    if isinstance(block, ToolUseBlock):
        lines = [f"{name}: {below_heading(_short(value))}" for name, value in block.arguments.items()]
        return TextBlock("\n".join([f"[Tool Use: {block.name}]", *lines]))
    if isinstance(block, ToolResultBlock):
        text = "\n".join(part.text if isinstance(part, TextBlock) else "[Image]" for part in block.content)
        return TextBlock(f"[Tool Result{' (Error)' if block.is_error else ''}]\n{below_heading(_short(text))}")
    return TextBlock("[Image]") if isinstance(block, ImageBlock) else block


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MAX_RESULT else f"{text[:_MAX_RESULT]}… ({len(text) - _MAX_RESULT} more characters)"


_MAX_KEPT = 8_000
_PLAN, _QUESTIONS = "The plan that the user accepted:", "Questions that nobody has answered:"


def kept_of(messages: Sequence[Message], before: str = "") -> str:
    """The plan and the open questions in these messages; what was kept `before` stands where there is no newer plan."""
    plan, questions = "", list[str]()
    calls: dict[str, ToolUseBlock] = {}
    for call, text in _answers(messages, calls):
        if text.startswith(PLAN_ACCEPTED):
            plan = _plan_in(text) or str(call.arguments.get("result", "") if call else "")
        elif text == UNANSWERED and call is not None:
            questions.append(f"- {call.arguments.get('question', '')}")
    parts = [
        f"{_PLAN}\n{framed('plan', plan)}" if plan else "",
        "\n".join([_QUESTIONS, *questions]) if questions else "",
    ]
    kept = "\n\n".join(part for part in (("" if plan else before), *parts) if part)
    return kept if len(kept) <= _MAX_KEPT else f"{kept[:_MAX_KEPT]}\n[cut]"


def _answers(messages: Sequence[Message], calls: dict[str, ToolUseBlock]) -> Iterator[tuple[ToolUseBlock | None, str]]:
    """Every text that the model was sent, with the call that it answers."""
    for message in messages:
        for block in message.content:
            match block:
                case ToolUseBlock(call_id):
                    calls[call_id] = block
                case ToolResultBlock(call_id, content):
                    texts = (part.text for part in content if isinstance(part, TextBlock))
                    yield from ((calls.get(call_id), text) for text in texts)
                case TextBlock(text) if message.role == "user":
                    yield None, text
                case _:
                    pass


def _plan_in(text: str) -> str:
    """The plan as the user edited it, if they did."""
    _, opened, rest = text.partition("<plan>\n")
    return original(rest.rpartition("\n</plan>")[0]) if opened else ""


def dropped_from(messages: Sequence[Message]) -> str:
    """What these messages hold, in words: calls by tool, and messages of the user's."""
    names = Counter(block.name for message in messages for block in message.content if isinstance(block, ToolUseBlock))
    texts = sum(result_sizes(messages))
    calls = ", ".join(f"{count} {name}" for name, count in sorted(names.items(), key=lambda each: -each[1])[:6])
    return f"{calls}; {texts:,} characters of results" if calls else ""


def kept_names(kept: str, todos: int) -> tuple[str, ...]:
    """What is sent word by word all the same, for people."""
    questions = kept.partition(_QUESTIONS)[2].count("\n- ")
    counted = [(todos, "todo"), (questions, "open question")]
    names = [f"{count} {name}{'s' * (count > 1)}" for count, name in counted if count]
    return (*(["the plan"] if _PLAN in kept else []), *names)


def _names_of_words(count: int) -> tuple[str, ...]:
    return () if not count else ("your newest message" if count == 1 else f"your {count} newest messages",)
