"""One reply of the model, put together from its events.

Its content keeps the order of the stream: text, reasoning and calls, each call where it started, neighbouring text
merged. A malformed call cannot stand in a history as a call (no provider takes half a JSON object back), so its source
stands there as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from joey.events import (
    ReasoningDelta,
    ReasoningFinished,
    StreamEvent,
    StreamFinished,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    UsageReported,
)
from joey.messages import Block, ReasoningBlock, StopReason, TextBlock, ToolUseBlock
from joey.protocols.json.repair import as_object
from joey.usage import Usage
from joey.wire import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply: what goes into the history, the calls to run, and those that must not run."""

    content: tuple[Block, ...] = ()
    calls: tuple[ToolCallFinished, ...] = ()
    malformed: tuple[ToolCallMalformed, ...] = ()
    stop: StopReason = "end"
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """The text, with the sources of malformed calls where they stood."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


def collect(events: Iterable[StreamEvent]) -> Reply:
    """The reply that these events make."""
    builder = ReplyBuilder()
    for event in events:
        builder.add(event)
    return builder.build()


class ReplyBuilder:
    """Collects the events of one reply."""

    def __init__(self) -> None:
        self._parts: list[Block | str | None] = []
        """A string is a piece of text, None a call that is not complete."""
        self._places: dict[str, int] = {}
        self._reasoning: list[str] = []
        self._calls: list[ToolCallFinished] = []
        self._malformed: list[ToolCallMalformed] = []
        self._stop: StopReason = "end"
        self._usage = Usage()

    def add(self, event: StreamEvent) -> None:
        match event:
            case ToolCallDelta():
                pass  # nearly all events of a long call; its arguments come whole at its end
            case TextDelta(text):
                self._parts.append(text)
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
                self._parts[self._places[call_id]] = ToolUseBlock(call_id, name, _object(arguments))
            case ToolCallMalformed(call_id, _, source):
                self._malformed.append(event)
                place = self._places.get(call_id, len(self._parts))
                self._parts[place : place + 1] = [source]
            case UsageReported():
                self._usage = self._usage.merge(event)
            case StreamFinished(reason):
                self._stop = reason
            case _:
                pass

    @property
    def has_call(self) -> bool:
        """Whether a call is complete."""
        return bool(self._calls)

    def build(self) -> Reply:
        content = tuple(_blocks(self._parts))
        return Reply(content, tuple(self._calls), tuple(self._malformed), self._stop, self._usage)


def _blocks(parts: Iterable[Block | str | None]) -> Iterator[Block]:
    text: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
        elif part is not None:
            yield from _text_block(text)
            yield part
            text.clear()
    yield from _text_block(text)


def _text_block(pieces: list[str]) -> Iterator[Block]:
    if text := "".join(pieces):
        yield TextBlock(text)


def _object(arguments: JsonValue) -> JsonObject:
    """Arguments as a conversation keeps them: an object, whatever the model wrote; `Reply.calls` has that."""
    found = as_object(arguments)
    return {"arguments": arguments} if found is None else found
