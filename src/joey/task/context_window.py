"""Keeping the conversation within the model's window.

What the provider counted decides, and an estimate only where it did not count. When the window is nearly full, the
model is asked to sum up the old turns; if that fails, they are hidden without a summary. Either way the task itself,
the last turns and every call with its answer stay, nothing is deleted, and one attempt is made for each time the window
fills: a summary that does not come cannot hold up the task. Where the user asked for it and there is no need, no
summary means that all stays.

A small model is not asked: it would take minutes, and what it wrote would not be true. It gets a list of its calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from joey.chunks import TextChunk, UsageChunk
from joey.events import ContextKept, ContextShortened
from joey.frames import below_heading
from joey.journal.records import MessagesHidden
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest
from joey.providers.errors import ProviderError
from joey.task.core import TaskCore
from joey.task.history import hideable, visible
from joey.task.request import request_for, size_of
from joey.usage import Usage

KEPT_MESSAGES = 6
KEPT_WHEN_ASKED = 2
_RESULT_LIMIT = 2000
_CHARACTERS_A_TOKEN = 3
_CALL_LIMIT, _MOST_CALLS = 80, 30

_SUMMARISER = "You sum up a conversation between a user and a coding agent, so that the agent can go on without it."
_INSTRUCTIONS = """\
Sum up the conversation above for the agent that goes on with it. Under these headings, briefly and exactly:
1. What the user wants, in the user's own words where they matter.
2. What was done: files read, written and changed, with their paths; commands and what they showed.
3. What was decided, and why.
4. What went wrong, and what helped.
5. Where things stand, and the next step.
Write nothing else."""


def nearly_full(core: TaskCore) -> bool:
    """Whether the next reply might not fit. A reply may take `max_tokens`, but not more than half of a small window."""
    settings = core.parts.settings
    window, used = settings.context_window, core.state.last_usage.total
    if window is None:
        return False
    if not used and core.state.turns:  # a reply that was not read to its end has no count
        used = size_of(request_for(core)) // _CHARACTERS_A_TOKEN
    return used > min(settings.condense_at * window, window - min(settings.max_tokens, window / 2))


async def shorten(core: TaskCore, *, keep: int = KEPT_MESSAGES) -> bool:
    """Hide old turns behind a summary if one can be had. False: there is nothing left to hide."""
    count = hideable(core.state.messages, keep)
    if count <= core.state.hidden:
        return False
    try:
        summary = await _summary(core, count)
    except ProviderError:
        summary = _Summary()
    _hide(core, count, summary)
    return True


async def condense(core: TaskCore) -> None:
    """What `shorten` does, because the user wants it: as much as can be, and only behind a summary."""
    count = hideable(core.state.messages, KEPT_WHEN_ASKED)
    if count <= core.state.hidden:
        core.emit(ContextKept("there is nothing to sum up yet"))
        return
    try:
        summary = await _summary(core, count)
    except ProviderError as error:
        core.emit(ContextKept(str(error)))
        return
    if summary.text:
        _hide(core, count, summary)
    else:
        core.emit(ContextKept("the model wrote no summary"))


def _hide(core: TaskCore, count: int, summary: _Summary) -> None:
    text, usage = summary.text or None, summary.usage
    cost = core.parts.prices.cost(core.parts.model, usage) if usage.total else None
    state, before = core.state, core.state.last_usage.total
    shorter = replace(state, hidden=count, summary=text)
    after = before * size_of(request_for(core, shorter)) // size_of(request_for(core, state))
    core.record(MessagesHidden(count, text, after, usage, cost))
    core.emit(ContextShortened(count, text, before, after, usage, cost))


@dataclass(frozen=True, slots=True)
class _Summary:
    text: str = ""
    usage: Usage = field(default_factory=Usage)


async def _summary(core: TaskCore, count: int) -> _Summary:
    """The first `count` messages after the task in short, what was hidden before included. Raises ProviderError."""
    if core.parts.settings.compact:
        return _Summary(_calls_in(core.state.messages[1 : 1 + count]))
    messages = visible(core.state)[: 1 + count - core.state.hidden]
    request = ModelRequest(
        model=core.parts.model,
        messages=(*map(_as_text, messages), Message("user", (TextBlock(_INSTRUCTIONS),))),
        system=_SUMMARISER,
        max_tokens=core.parts.settings.max_tokens,
        temperature=core.parts.settings.temperature,
    )
    return await core.persist(lambda: _reply_to(core, request))


async def _reply_to(core: TaskCore, request: ModelRequest) -> _Summary:
    said: list[str] = []
    usage = Usage()
    async with aclosing(core.parts.provider.stream(request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextChunk):
                said.append(chunk.text)
            elif isinstance(chunk, UsageChunk):
                usage = usage.merge(chunk)
    return _Summary("".join(said).strip(), usage)


def _calls_in(messages: Sequence[Message]) -> str:
    """The calls that were made, a line each, and which of them failed. Ids are unique in a turn only."""
    lines: list[str] = []
    for said, answered in zip(messages, [*messages[1:], None], strict=True):
        results = [block for block in answered.content if isinstance(block, ToolResultBlock)] if answered else []
        failed = {result.tool_use_id for result in results if result.is_error}
        for call in said.content:
            if isinstance(call, ToolUseBlock):
                what = next((value for value in call.arguments.values() if isinstance(value, str)), "")
                lines.append(f"- {call.name} {what.strip()[:_CALL_LIMIT]}{' (failed)' * (call.id in failed)}")
    return "\n".join(lines[-_MOST_CALLS:])


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
    return (
        text if len(text) <= _RESULT_LIMIT else f"{text[:_RESULT_LIMIT]}… ({len(text) - _RESULT_LIMIT} more characters)"
    )
