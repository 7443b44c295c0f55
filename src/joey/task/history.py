"""The conversation as it goes into a request: what is hidden left out, calls in the words of the protocol.

The journal keeps every message. What is sent is the first message (the task itself), the summary of what is hidden, and
the rest. Hiding is by count, so it deletes nothing and can be undone by forgetting the record.
"""

from __future__ import annotations

from collections.abc import Sequence

from joey.frames import neutral
from joey.journal.replay import TaskState
from joey.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import Protocol
from joey.toolspec import ToolSpec

_HIDDEN = "[{count} earlier messages of this task are no longer shown.]"
_SUMMARY = "[{count} earlier messages of this task are no longer shown. In short:]\n\n{summary}"


def visible(state: TaskState) -> tuple[Message, ...]:
    """The messages that are still sent."""
    messages = state.messages
    if not state.hidden or not messages:
        return tuple(messages)
    note = (_SUMMARY if state.summary else _HIDDEN).format(count=state.hidden, summary=neutral(state.summary or ""))
    first = Message("user", (*messages[0].content, TextBlock(note)))
    return (first, *messages[1 + state.hidden :])


def hideable(messages: Sequence[Message], keep: int) -> int:
    """How many messages after the first can be hidden so that about `keep` remain, and no call loses its answer.

    The rest must begin with a message of the assistant: answers then stand with their calls, and the model's turn
    follows the task as it always does.
    """
    for count in range(max(0, len(messages) - 1 - keep), 0, -1):
        if messages[1 + count].role == "assistant":
            return count
    return 0


def in_words_of(protocol: Protocol, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> tuple[Message, ...]:
    """The same messages with calls and results as this protocol writes them; `tools` are those on offer."""
    if not protocol.in_text:
        return tuple(messages)
    encoded: list[Message] = []
    calls: tuple[ToolUseBlock, ...] = ()
    for message in messages:
        if message.role == "assistant":
            calls = tuple(block for block in message.content if isinstance(block, ToolUseBlock))
            encoded.append(Message("assistant", tuple(_said(protocol, message.content, tools))))
        else:
            encoded.append(Message("user", tuple(_answered(protocol, message.content, calls))))
    return tuple(encoded)


def _said(protocol: Protocol, content: Sequence[Block], tools: Sequence[ToolSpec]) -> list[Block]:
    """What the model wrote: text and calls in one stretch of text, as it came."""
    blocks: list[Block] = []
    for block in content:
        written = protocol.encode_call(block, tools) if isinstance(block, ToolUseBlock) else block
        if isinstance(written, TextBlock) and blocks and isinstance(last := blocks[-1], TextBlock):
            joint = "" if last.text.endswith("\n") or written.text.startswith("\n") else "\n"
            blocks[-1] = TextBlock(last.text + joint + written.text)
        else:
            blocks.append(written)
    return blocks


def _answered(protocol: Protocol, content: Sequence[Block], calls: Sequence[ToolUseBlock]) -> list[Block]:
    results = tuple(block for block in content if isinstance(block, ToolResultBlock))
    rest = [block for block in content if not isinstance(block, ToolResultBlock)]
    return [*(protocol.encode_results(results, calls) if results else ()), *rest]
