"""The conversation in the words of a protocol: calls and results as the model writes and reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from joey.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import Protocol
from joey.providers.encoding.memo import GrowingMemo, Memo
from joey.toolspec import ToolSpec


class HistoryEncoder:
    """Conversations with calls and results as one protocol writes them.

    What was made of a message is remembered: the next request has the same messages and two more, and gets the same
    objects, of which the provider remembers in its turn what it made.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._assistant = Memo(self._written)
        self._user = Memo(self._answered)
        self._tools: tuple[ToolSpec, ...] = ()
        self._growing = GrowingMemo(self._encoded)

    def encode(self, messages: Sequence[Message], tools: tuple[ToolSpec, ...] = ()) -> tuple[Message, ...]:
        """The same messages in the words of the protocol; `tools` are those on offer."""
        if not self._protocol.in_text:
            return tuple(messages)
        self._assistant.next_round()
        self._user.next_round()
        if tools is not self._tools:
            self._tools, self._growing = tools, GrowingMemo(self._encoded)
        return tuple(self._growing(messages))

    def _encoded(self, messages: Sequence[Message], place: int) -> Message:
        if messages[place].role == "assistant":
            return self._assistant(messages[place], self._tools)
        before = (messages[each] for each in range(place - 1, -1, -1))
        return self._user(messages[place], next((each for each in before if each.role == "assistant"), None))

    def _written(self, message: Message, tools: tuple[ToolSpec, ...]) -> Message:
        return Message("assistant", tuple(_written_blocks(self._protocol, message.content, tools)))

    def _answered(self, message: Message, last: Message | None) -> Message:
        calls = tuple(block for block in last.content if isinstance(block, ToolUseBlock)) if last else ()
        return Message("user", tuple(_answered(self._protocol, message.content, calls)))


def _written_blocks(protocol: Protocol, content: Sequence[Block], tools: Sequence[ToolSpec]) -> list[Block]:
    """What the model wrote: text and calls in one stretch of text, as it came."""
    blocks: list[Block] = []
    for written in _encoded(protocol, content, tools):
        if isinstance(written, TextBlock) and blocks and isinstance(last := blocks[-1], TextBlock):
            joint = "" if last.text.endswith("\n") or written.text.startswith("\n") else "\n"
            blocks[-1] = TextBlock(last.text + joint + written.text)
        else:
            blocks.append(written)
    return blocks


def _encoded(protocol: Protocol, content: Sequence[Block], tools: Sequence[ToolSpec]) -> Iterator[Block]:
    """The blocks in the model's own words; calls that follow each other are written together."""
    for is_call, group in itertools.groupby(content, lambda block: isinstance(block, ToolUseBlock)):
        blocks = list(group)
        calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
        yield from protocol.encode_turn(calls, tools) if is_call else blocks


def _answered(protocol: Protocol, content: Sequence[Block], calls: Sequence[ToolUseBlock]) -> list[Block]:
    results = tuple(block for block in content if isinstance(block, ToolResultBlock))
    rest = [block for block in content if not isinstance(block, ToolResultBlock)]
    return [*(protocol.encode_results(results, calls) if results else ()), *rest]
