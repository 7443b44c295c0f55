"""Parse the tool calls of any open model behind a server's own interface.

An inference server calls a parser with the text so far and the new piece (`extract_tool_calls_streaming(previous,
current, delta)`, as vLLM's and SGLang's parsers do) and wants OpenAI's deltas back. This adapter gives them from Joey's
events: text, reasoning, and for each call its name once and then its arguments as pieces of JSON while they grow. The
JSON of a call that was cut or is broken is never closed, so no client can run it.
"""

import json
from collections.abc import Sequence
from typing import Any

from joey import protocols
from joey.events import (
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
)
from joey.gateway.arguments import ArgumentWriter
from joey.toolspec import ToolSpec


class ToolParser:
    """One reply of one model, in one dialect."""

    def __init__(self, dialect: str, tools: Sequence[dict[str, Any]], prompt_tail: str = "") -> None:
        specs = [ToolSpec.read(tool) for tool in tools]
        protocol = protocols.get(dialect)
        protocol = protocol.with_options(prompt_tail=prompt_tail) if prompt_tail else protocol
        self._parser = protocol.parser(specs)
        self._schemas = {spec.name: spec.schema for spec in specs}
        self._calls: list[tuple[str, ArgumentWriter]] = []

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
                    self._calls.append((name, ArgumentWriter(self._schemas.get(name, {}))))
                    delta.setdefault("tool_calls", []).append(self._piece("", call_id, name))
                case ToolCallDelta(_, path, text, _, literal):
                    if written := self._calls[-1][1].grow(path, text, literal=literal):
                        delta.setdefault("tool_calls", []).append(self._piece(written))
                case ToolCallFinished(arguments=arguments):
                    rest = self._calls[-1][1].finish(arguments) or ""
                    delta.setdefault("tool_calls", []).append(self._piece(rest))
                case ToolCallMalformed(name=name) if name is not None:
                    # Without a brace that is never closed, some clients take "no arguments" for an empty object.
                    delta.setdefault("tool_calls", []).append(self._piece("{"))
                case ToolCallMalformed(source=source):
                    delta["content"] = delta.get("content", "") + source
        return delta or None

    def _piece(self, arguments: str, call_id: str = "", name: str = "") -> dict[str, Any]:
        """A piece of the last call: its name, or what its arguments grew by. A reply writes one call after another."""
        function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
        return {"index": len(self._calls) - 1, **({"id": call_id} if call_id else {}), "function": function}


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
    written = ""
    for at in range(0, len(REPLY), 12):
        delta = parser.extract_tool_calls_streaming(REPLY[:at], REPLY[: at + 12], REPLY[at : at + 12]) or {}
        print(delta)
        written += "".join(call["function"]["arguments"] for call in delta.get("tool_calls", []))
    print(parser.finish())
    assert json.loads(written) == {"path": "a.md", "content": "A tag such as </parameter> is text here.\n"}

    # A whole reply at once, and a model whose dialect nobody named:
    reply = protocols.parse(REPLY, protocol="minimax_m2", tools=TOOLS)
    assert reply.calls[0].arguments == {"path": "a.md", "content": "A tag such as </parameter> is text here.\n"}
