from __future__ import annotations

from typing import Any

import pytest

from joey import protocols
from joey.chunks import Chunk, StopChunk, ToolCallChunk
from joey.errors import UsageError
from joey.events import StreamEvent, StreamFinished
from joey.protocols import Parser, Protocol
from joey.testing.streams import read
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

TOOL = ToolSpec("read_file", "", {"type": "object", "properties": {"path": {"type": "string"}}})
BROKEN: dict[str, str | ToolCallChunk] = {
    "native": ToolCallChunk(0, "t1", "read_file", '{"path": "a'),
    "xml": "<read_file><path>a",
    "json_mix": '<tool_call>{"name": "read_file", "arguments": {"path": </tool_call>',
    "morph_xml": "<read_file><path>a",
}
WHOLE: dict[str, str | ToolCallChunk] = {
    "native": ToolCallChunk(0, "t1", "read_file", '{"path": "a"}'),
    "xml": "<read_file><path>a</path></read_file>",
    "json_mix": '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>',
    "morph_xml": "<read_file><path>a</path></read_file>",
    "tool_choice": '{"name": "read_file", "arguments": {}}',
}


def end_of(protocol: str, *stream: str | ToolCallChunk | StopChunk) -> StreamFinished:
    parser = protocols.get(protocol).parser([TOOL])
    for chunk in stream:
        parser.feed(chunk)
    end = parser.finish()[-1]
    assert isinstance(end, StreamFinished)
    return end


@pytest.mark.parametrize("protocol", BROKEN)
def test_a_reply_with_only_malformed_calls_does_not_end_for_its_calls(protocol: str) -> None:
    assert end_of(protocol, BROKEN[protocol]).reason == "end"


@pytest.mark.parametrize("protocol", WHOLE)
def test_a_reply_with_a_finished_call_ends_for_its_calls(protocol: str) -> None:
    assert end_of(protocol, WHOLE[protocol]).reason == "tool_calls"


def test_what_the_provider_says_about_the_end_wins() -> None:
    assert end_of("xml", BROKEN["xml"], StopChunk("length")).reason == "length"
    assert end_of("xml", WHOLE["xml"], StopChunk("end")).reason == "end"


def test_options_make_another_protocol_and_leave_the_shared_one_alone() -> None:
    shared = protocols.get("json_mix")
    other = shared.with_options(start="[call]")
    assert protocols.parse('[call]{"name": "a"}</tool_call>', protocol=other).calls
    assert not protocols.parse('[call]{"name": "a"}</tool_call>', protocol=shared).calls
    assert shared.with_options() is shared


def test_every_option_a_protocol_names_can_be_set() -> None:
    values = {"start": "<a>", "end": "</a>", "original_schemas": {}}
    for name in protocols.names():
        protocol: Protocol = protocols.get(name)
        for option in protocol.options:
            assert type(protocol.with_options(**{option: values[option]})) is type(protocol)


def test_lists_of_protocols_come_from_the_registry() -> None:
    assert protocols.task_names() == ("native", *protocols.text_names())
    assert set(protocols.names()) - set(protocols.task_names()) == {"tool_choice"}


@pytest.mark.parametrize(
    ("stream", "protocol", "message"),
    [
        (b"x", "native", "a reply is a text or the chunks of joey.chunks, not int"),
        ([{"type": "text", "text": "x"}], "native", "not dict"),
        ("x", None, "there is no protocol None"),
        ("x", "yaml", "there is no protocol 'yaml'; choose one of native, "),
    ],
)
def test_what_is_no_reply_or_no_protocol_is_refused(stream: Any, protocol: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        protocols.parse(stream, protocol=protocol)


def test_a_parser_says_how_other_tool_objects_are_read() -> None:
    tool: Any = {"type": "function", "function": {"name": "run"}}
    with pytest.raises(UsageError, match=r"ToolSpec\.read"):
        protocols.get("kimi_k2").parser([tool])


def test_whatever_has_the_three_methods_is_a_parser() -> None:
    class Counting:
        def __init__(self, parser: Parser) -> None:
            self.parser, self.chunks = parser, 0

        def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
            self.chunks += 1
            return self.parser.feed(chunk)

        def finish(self) -> list[StreamEvent]:
            return self.parser.finish()

        def arguments(self, call_id: str) -> JsonValue:
            return self.parser.arguments(call_id)

    counting = Counting(protocols.get("xml").parser([TOOL]))
    text = WHOLE["xml"]
    assert isinstance(text, str)
    assert read(counting, text) == read(protocols.get("xml").parser([TOOL]), text)
    assert counting.chunks == len(text)
