"""One reply of the model, put together from its events.

The assistant's message keeps the order in which things were said: text, reasoning and calls. A malformed call cannot
stand in the history as a call (no provider takes half a JSON object back), so its source stands there as text.
"""

from __future__ import annotations

from dataclasses import dataclass

from joey.chunks import UsageChunk
from joey.events import (
    ReasoningDelta,
    ReasoningFinished,
    StreamEvent,
    StreamFinished,
    TextDelta,
    TokenUsage,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    UsageReported,
)
from joey.messages import Block, ReasoningBlock, StopReason, TextBlock, ToolUseBlock


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered, complete."""

    content: tuple[Block, ...]
    calls: tuple[ToolCallFinished, ...]
    malformed: tuple[ToolCallMalformed, ...]
    stop: StopReason
    usage: TokenUsage

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


class ReplyBuilder:
    """Collects the events of one reply."""

    def __init__(self) -> None:
        self._parts: list[Block | None] = []
        self._places: dict[str, int] = {}
        self._reasoning: list[str] = []
        self._calls: list[ToolCallFinished] = []
        self._malformed: list[ToolCallMalformed] = []
        self._stop: StopReason = "end"
        self._usage = TokenUsage()

    def add(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(text):
                self._parts.append(TextBlock(text))
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case ReasoningFinished(signature):
                self._parts.append(ReasoningBlock("".join(self._reasoning), signature))
                self._reasoning.clear()
            case ToolCallStarted(call_id):
                self._places[call_id] = len(self._parts)
                self._parts.append(None)
            case ToolCallFinished(call_id, name, arguments):
                self._calls.append(event)
                self._parts[self._places[call_id]] = ToolUseBlock(call_id, name, arguments)
            case ToolCallMalformed(call_id, _, source):
                self._malformed.append(event)
                place = self._places.get(call_id, len(self._parts))
                self._parts[place : place + 1] = [TextBlock(source)]
            case UsageReported():
                self._usage = latest(self._usage, event)
            case StreamFinished(reason):
                self._stop = reason
            case _:
                pass

    @property
    def has_call(self) -> bool:
        """Whether a call is complete."""
        return bool(self._calls)

    def forget_after_first_call(self) -> None:
        """Leave out what came behind the first call."""
        self._parts = self._parts[: self._places[self._calls[0].call_id] + 1]
        self._calls, self._malformed = self._calls[:1], []

    def build(self) -> Reply:
        return Reply(
            tuple(merge_text(self._parts)), tuple(self._calls), tuple(self._malformed), self._stop, self._usage
        )


def merge_text(parts: list[Block | None]) -> list[Block]:
    """The blocks with neighbouring text made one, and empty text left out."""
    merged: list[Block] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, TextBlock) and isinstance(last, TextBlock):
            merged[-1] = TextBlock(last.text + part.text)
        elif part is not None and part != TextBlock(""):
            merged.append(part)
    return merged


def latest(known: TokenUsage, report: UsageReported | UsageChunk) -> TokenUsage:
    """Providers report usage in parts and more than once; each number only grows."""
    return TokenUsage(
        max(known.input_tokens, report.input_tokens),
        max(known.output_tokens, report.output_tokens),
        max(known.cache_write_tokens, report.cache_write_tokens),
        max(known.cache_read_tokens, report.cache_read_tokens),
    )


def usage_chunk(usage: TokenUsage) -> UsageChunk:
    return UsageChunk(usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens)
