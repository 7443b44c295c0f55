"""A reply that ends with its first call: what is behind it is not read, and the end is still the end."""

from __future__ import annotations

import pytest

from joey import protocols
from joey.chunks import StopChunk, TextChunk, UsageChunk
from joey.events import StreamEvent, StreamFinished, ToolCallDelta, ToolCallStarted
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import collect
from joey.protocols.base import FirstCallOnly
from joey.testing import check_laws
from joey.toolspec import ToolSpec

TOOLS = (ToolSpec("look", schema={"type": "object", "properties": {"path": {"type": "string"}}}),)
CALL = "<look>\n<path>a</path>\n</look>"
REPLY = f"I look.\n{CALL}\nIt is empty.\n{CALL}\n<look>\n<path>b"


@pytest.mark.parametrize("size", [1, 7, 1000], ids=["by character", "in pieces", "whole"])
def test_what_is_behind_the_first_call_is_dropped_however_it_is_cut(size: int) -> None:
    parser = FirstCallOnly(protocols.get("xml").parser(TOOLS))
    events: list[StreamEvent] = []
    for start in range(0, len(REPLY), size):
        events += parser.feed(TextChunk(REPLY[start : start + size]))
    events += [*parser.feed(UsageChunk(3, 4)), *parser.feed(StopChunk("length")), *parser.finish()]
    reply = collect(events)
    (call,) = reply.calls
    assert reply.content == (TextBlock("I look.\n"), ToolUseBlock(call.call_id, "look", {"path": "a"}))
    assert not reply.malformed and reply.usage.total == 7
    assert events[-1] == StreamFinished("length")
    assert sum(isinstance(event, ToolCallStarted) for event in events) == 1
    check_laws(events)


def test_until_there_is_a_call_nothing_is_dropped() -> None:
    parser = FirstCallOnly(protocols.get("xml").parser(TOOLS))
    text = "Words, and <look>\n<path>cut"
    plain = protocols.get("xml").parser(TOOLS)
    assert [*parser.feed(text), *parser.finish()] == [*plain.feed(text), *plain.finish()]


def test_arguments_can_be_looked_at_while_they_grow() -> None:
    parser = FirstCallOnly(protocols.get("xml").parser(TOOLS))
    events = parser.feed("<look>\n<path>half")
    started = next(event for event in events if isinstance(event, ToolCallStarted))
    assert parser.arguments(started.call_id) == {"path": "half"}
    assert any(isinstance(event, ToolCallDelta) for event in events)
