from __future__ import annotations

import json

import pytest

from joey.chunks import CHUNKS, ToolCallChunk
from joey.errors import WireError
from joey.events import STREAM_EVENTS, ToolCallDelta, ToolCallStarted
from joey.messages import BLOCKS, MESSAGES, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.wire import encode, tag


def test_tags_are_class_names_in_snake_case() -> None:
    assert tag(ToolCallStarted) == "tool_call_started"
    assert tag(TextBlock) == "text"


def test_an_event_comes_back_from_json_as_it_was() -> None:
    event = ToolCallDelta("call_1", ("args", 0, "path"), "a\ud83d", '"a\\ud83d', literal=False)
    assert STREAM_EVENTS.decode(json.loads(json.dumps(encode(event)))) == event


def test_nested_blocks_come_back_from_json_as_they_were() -> None:
    message = Message(
        "user",
        (
            ToolResultBlock("t1", (TextBlock("ok"), ImageBlock("image/png", "AA=="))),
            ToolUseBlock("t2", "f", {"a": [1, None]}),
        ),
    )
    assert MESSAGES.decode(json.loads(json.dumps(encode(message)))) == message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"type": "nonsense"}, "unknown type 'nonsense'; known: image"),
        ({"type": "text"}, "text needs a 'text'"),
        ({"type": "text", "text": 5}, "text.text: expected a string, got an integer (5)"),
        ({"type": "text", "text": "a", "bold": True}, "text has no field 'bold'; it has: text"),
        (["text"], "expected a JSON object"),
    ],
)
def test_a_wrong_document_is_refused_with_what_was_expected(data: object, complaint: str) -> None:
    with pytest.raises(WireError) as error:
        BLOCKS.decode(data)
    assert complaint in str(error.value)


def test_a_boolean_is_no_integer() -> None:
    with pytest.raises(WireError, match="expected an integer"):
        CHUNKS.decode({"type": "tool_call_chunk", "index": True})
    assert CHUNKS.decode({"type": "tool_call_chunk", "index": 1}) == ToolCallChunk(1)
