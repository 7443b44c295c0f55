from __future__ import annotations

from typing import Any

import pytest

from joey import protocols
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.protocols import collect
from joey.providers import Abilities, ModelRequest, Provider, open_model
from joey.testing import Faults, LocalServer, reply
from joey.toolspec import ToolSpec

TOOLS = (
    ToolSpec(
        "write_to_file",
        "Write it.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "file_text": {"type": "string"}},
            "required": ["path", "file_text"],
        },
    ),
)
CALL = ToolUseBlock("", "write_to_file", {"path": "é.py", "file_text": "if a < b:\n    print('&')\n"})


def opened(wire: str, server: LocalServer, **options: Any) -> tuple[Provider, str]:
    if wire == "responses":
        return open_model("openai/m", base_url=server.openai_url, api="responses", **options)
    url = server.anthropic_url if wire == "anthropic" else server.openai_url
    return open_model(f"{wire}/m", base_url=url, **options)


@pytest.mark.parametrize("wire", ["anthropic", "openai", "responses"])
@pytest.mark.parametrize("name", protocols.text_names())
async def test_a_call_in_the_text_runs_over_any_wire(name: str, wire: str) -> None:
    protocol = protocols.get(name)
    written = protocol.encode_call(CALL)
    assert isinstance(written, TextBlock)
    answer = reply("On it.\n", written.text, faults=Faults(by_character=True))
    async with LocalServer([answer]) as server:
        provider, model = opened(wire, server)
        request = ModelRequest(model, (Message("user", (TextBlock("go"),)),), protocol.describe(TOOLS))
        parser = protocol.parser(TOOLS)
        events = [event async for chunk in provider.stream(request) for event in parser.feed(chunk)]
        await provider.close()
    content = collect(events + parser.finish())
    assert [(call.name, call.arguments) for call in content.calls] == [(CALL.name, CALL.arguments)]
    assert content.text.strip() == "On it."
    assert "tools" not in server.requests[0].body
    assert "write_to_file" in str(server.requests[0].body)


@pytest.mark.parametrize("wire", ["anthropic", "openai", "responses"])
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_native_calls_are_read_from_any_wire(streaming: bool, wire: str) -> None:
    calls = [ToolUseBlock(f"toolu_{number}", CALL.name, CALL.arguments) for number in range(3)]
    async with LocalServer([reply("Three.", *calls)]) as server:
        provider, model = opened(wire, server, abilities=Abilities(streaming=streaming))
        request = ModelRequest(model, (Message("user", (TextBlock("go"),)),), tools=TOOLS)
        parser = protocols.get("native").parser(TOOLS)
        events = [event async for chunk in provider.stream(request) for event in parser.feed(chunk)]
        await provider.close()
    content = collect(events + parser.finish())
    found = [(call.call_id, call.name, call.arguments) for call in content.calls]
    assert found == [(call.id, call.name, call.arguments) for call in calls]
    assert content.stop == "tool_calls" and not content.malformed
