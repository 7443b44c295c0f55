"""Parse the tool calls of any open model behind a server's own interface.

An inference server calls a parser with the text so far and the new piece (`extract_tool_calls_streaming(previous,
current, delta)`, as vLLM's and SGLang's parsers do) and wants OpenAI's deltas back. This adapter gives them from Joey's
events: text, reasoning, and for each call its name once and then the pieces of its arguments as JSON.
"""

import json
from collections.abc import Sequence
from typing import Any

from joey import protocols
from joey.events import ReasoningDelta, StreamEvent, TextDelta, ToolCallFinished, ToolCallStarted
from joey.toolspec import ToolSpec


class ToolParser:
    """One reply of one model, in one dialect."""

    def __init__(self, dialect: str, tools: Sequence[dict[str, Any]], prompt_tail: str = "") -> None:
        protocol = protocols.get(dialect)
        protocol = protocol.with_options(prompt_tail=prompt_tail) if prompt_tail else protocol
        self._parser = protocol.parser([ToolSpec.read(tool) for tool in tools])
        self._places: dict[str, int] = {}

    def extract_tool_calls_streaming(self, previous: str, current: str, delta: str) -> dict[str, Any] | None:
        """What the new piece adds, as an OpenAI delta; None if nothing yet."""
        assert current == previous + delta
        return self._delta(self._parser.feed(delta))

    def finish(self) -> dict[str, Any] | None:
        """The reply has ended: what was held back."""
        return self._delta(self._parser.finish())

    def _delta(self, events: Sequence[StreamEvent]) -> dict[str, Any] | None:
        delta: dict[str, Any] = {}
        for event in events:
            match event:
                case TextDelta(text):
                    delta["content"] = delta.get("content", "") + text
                case ReasoningDelta(text):
                    delta["reasoning_content"] = delta.get("reasoning_content", "") + text
                case ToolCallStarted(call_id, name):
                    self._places[call_id] = len(self._places)
                    call = {"index": self._places[call_id], "id": call_id, "function": {"name": name, "arguments": ""}}
                    delta.setdefault("tool_calls", []).append(call)
                case ToolCallFinished(call_id, _, arguments):
                    # Complete and checked; a server that shows arguments as they grow uses ToolCallDelta as well.
                    function = {"arguments": json.dumps(arguments, ensure_ascii=False)}
                    delta.setdefault("tool_calls", []).append({"index": self._places[call_id], "function": function})
        return delta or None


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
        },
    }
]
REPLY = (
    "I write it.<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a.md</parameter>\n"
    "<parameter name=\"content\">A tag such as </parameter> is text here.\n</parameter>\n"
    "</invoke>\n</minimax:tool_call>"
)  # fmt: skip

if __name__ == "__main__":
    parser = ToolParser("minimax_m2", TOOLS)
    for at in range(0, len(REPLY), 12):
        print(parser.extract_tool_calls_streaming(REPLY[:at], REPLY[: at + 12], REPLY[at : at + 12]))
    print(parser.finish())

    # A whole reply at once, and a model whose dialect nobody named:
    reply = protocols.parse(REPLY, protocol="minimax_m2", tools=TOOLS)
    assert reply.calls[0].arguments == {"path": "a.md", "content": "A tag such as </parameter> is text here.\n"}
