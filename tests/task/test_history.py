from __future__ import annotations

from joey import protocols
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.task.history import HistoryEncoder
from joey.toolspec import ToolSpec

TOOL = ToolSpec(
    "read_file",
    "",
    {"properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "all": {"type": "boolean"}}},
)
MESSAGES = Message(
    "assistant", (TextBlock("Reading."), ToolUseBlock("t1", "read_file", {"path": "a", "line": 3, "all": True}))
)


def test_numbers_and_booleans_are_plain_where_the_tool_says_what_they_are() -> None:
    [message] = HistoryEncoder(protocols.get("xml")).encode([MESSAGES], (TOOL,))
    lines = ["Reading.", "<read_file>", "<path>a</path>", "<line>3</line>", "<all>true</all>", "</read_file>"]
    assert message.content == (TextBlock("\n".join(lines)),)


def test_native_calls_stay_as_they_are() -> None:
    assert HistoryEncoder(protocols.get("native")).encode([MESSAGES], (TOOL,)) == (MESSAGES,)
