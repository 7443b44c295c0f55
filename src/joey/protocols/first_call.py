"""A reply that ends with its first call.

Where a reply should be one call and nothing makes sure of it, some models continue with what they think the tool
answers, and with the next call. What comes behind the first complete call is not read.
"""

from __future__ import annotations

from joey.chunks import Chunk
from joey.events import StreamEvent, StreamFinished, ToolCallFinished, UsageReported
from joey.protocols.base import Parser
from joey.wire import JsonValue


class FirstCallOnly:
    """A parser without the events behind the first call, except those that end the reply."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._has_call = False

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        return self._first(self._parser.feed(chunk))

    def finish(self) -> list[StreamEvent]:
        return self._first(self._parser.finish())

    def arguments(self, call_id: str) -> JsonValue:
        return self._parser.arguments(call_id)

    def _first(self, events: list[StreamEvent]) -> list[StreamEvent]:
        kept: list[StreamEvent] = []
        for event in events:
            if not self._has_call or isinstance(event, (UsageReported, StreamFinished)):
                kept.append(event)
            self._has_call = self._has_call or isinstance(event, ToolCallFinished)
        return kept
