from __future__ import annotations

import pytest

from joey import protocols
from joey.chunks import StopChunk, ToolCallChunk
from joey.events import StreamFinished
from joey.protocols import Protocol
from joey.toolspec import ToolSpec

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
