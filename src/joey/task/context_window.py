"""Keeping the conversation within the model's window.

What the provider counted decides, not an estimate. When the window is nearly full, the model is asked to sum up the
old turns; if that fails, they are hidden without a summary. Either way the task itself, the last turns and every call
with its answer stay, nothing is deleted, and one attempt is made for each time the window fills: a summary that does
not come cannot hold up the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from joey.chunks import TextChunk
from joey.events import ContextShortened
from joey.journal.records import MessagesHidden
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import Request
from joey.providers.failures import ProviderError
from joey.task.core import TaskCore
from joey.task.history import hideable, visible

KEPT_MESSAGES = 6
_RESULT_LIMIT = 2000

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
    return used > min(settings.condense_at * window, window - min(settings.max_tokens, window / 2))


async def shorten(core: TaskCore, *, keep: int = KEPT_MESSAGES) -> bool:
    """Hide old turns behind a summary if one can be had. False: there is nothing left to hide."""
    count = hideable(core.state.messages, keep)
    if count <= core.state.hidden:
        return False
    summary = await _summary(core, visible(core.state)[: 1 + count - core.state.hidden])
    core.record(MessagesHidden(count, summary))
    core.emit(ContextShortened(count, summary))
    return True


async def _summary(core: TaskCore, messages: Sequence[Message]) -> str | None:
    request = Request(
        model=core.parts.model,
        messages=(*map(_as_text, messages), Message("user", (TextBlock(_INSTRUCTIONS),))),
        system=_SUMMARISER,
        max_tokens=core.parts.settings.max_tokens,
        temperature=core.parts.settings.temperature,
    )
    try:
        return await core.persist(lambda: _text_of_reply(core, request)) or None
    except ProviderError:
        return None


async def _text_of_reply(core: TaskCore, request: Request) -> str:
    said: list[str] = []
    async with aclosing(core.parts.provider.stream(request)) as chunks:
        async for chunk in chunks:
            said += [chunk.text] if isinstance(chunk, TextChunk) else []
    return "".join(said).strip()


def _as_text(message: Message) -> Message:
    return Message(message.role, tuple(_block_as_text(block) for block in message.content))


def _block_as_text(block: Block) -> Block:
    """Calls and results in words: a request without tools may not carry them, and a summary needs no more."""
    if isinstance(block, ToolUseBlock):
        lines = [f"{name}: {_short(value)}" for name, value in block.arguments.items()]
        return TextBlock("\n".join([f"[Tool Use: {block.name}]", *lines]))
    if isinstance(block, ToolResultBlock):
        text = "\n".join(part.text if isinstance(part, TextBlock) else "[Image]" for part in block.content)
        return TextBlock(f"[Tool Result{' (Error)' if block.is_error else ''}]\n{_short(text)}")
    return TextBlock("[Image]") if isinstance(block, ImageBlock) else block


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return (
        text if len(text) <= _RESULT_LIMIT else f"{text[:_RESULT_LIMIT]}… ({len(text) - _RESULT_LIMIT} more characters)"
    )
