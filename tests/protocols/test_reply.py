"""One reply from its events: the order of the stream, and nothing lost."""

from __future__ import annotations

from typing import Any

import pytest

from joey.chunks import ReasoningChunk, StopChunk, ToolCallChunk, UsageChunk
from joey.events import StreamEvent, StreamFinished, TextDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.messages import ReasoningBlock, TextBlock, ToolUseBlock
from joey.protocols import Reply, collect, parse
from joey.usage import Usage


def test_content_keeps_the_order_of_the_stream() -> None:
    reply = parse([ReasoningChunk("hm", "s"), "one", " two", ToolCallChunk(0, "t1", "f", "{}"), "three"])
    assert reply.content == (
        ReasoningBlock("hm", "s"), TextBlock("one two"), ToolUseBlock("t1", "f", {}), TextBlock("three"),
    )  # fmt: skip
    assert reply.text == "one twothree"
    assert [call.call_id for call in reply.calls] == ["t1"]


def test_a_malformed_call_stands_as_text_where_it_started() -> None:
    events: list[StreamEvent] = [
        TextDelta("a"), ToolCallStarted("1", "f"), ToolCallStarted("2", "g"), ToolCallMalformed("1", "f", "<f>", "cut"),
        ToolCallFinished("2", "g", {}), ToolCallMalformed("3", None, "<?>", "no name"), StreamFinished("length"),
    ]  # fmt: skip
    reply = collect(events)
    assert reply.content == (TextBlock("a<f>"), ToolUseBlock("2", "g", {}), TextBlock("<?>"))
    assert [call.message for call in reply.malformed] == ["cut", "no name"]
    assert reply.stop == "length"


def test_usage_is_reported_in_parts_and_only_grows() -> None:
    reply = parse([UsageChunk(100, 1, 7), UsageChunk(0, 20, 0, 9), StopChunk("end")])
    assert reply.usage == Usage(100, 20, 7, 9)


def test_no_events_are_an_empty_reply() -> None:
    assert collect([]) == Reply()


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ({"path": "a"}, {"path": "a"}),
        ('{"path": "a"}', {"path": "a"}),
        ("{'path': 'a',}", {"path": "a"}),
        (None, {}),
        ("", {}),
        ("null", {}),
        ("ls -la", {"arguments": "ls -la"}),
        ('{"path": "a', {"arguments": '{"path": "a'}),
        (["a"], {"arguments": ["a"]}),
        ("[" * 50_000, {"arguments": "[" * 50_000}),
    ],
)
def test_arguments_are_kept_as_an_object_whatever_the_model_wrote(written: Any, kept: Any) -> None:
    reply = collect([ToolCallStarted("1", "run"), ToolCallFinished("1", "run", written)])
    assert reply.content == (ToolUseBlock("1", "run", kept),)
