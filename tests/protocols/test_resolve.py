from __future__ import annotations

from typing import Any

import pytest

from joey.messages import Message, TextBlock, ToolUseBlock
from joey.protocols.resolve import resolve_protocol, seen_in_history
from vectors_data import cases


def history(messages: Any) -> list[Message]:
    """Roo's stored messages: content is a string or a list of blocks."""
    return [Message(m["role"], tuple(blocks(m["content"]))) for m in messages]


def blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [TextBlock(content)]
    return [
        ToolUseBlock(block.get("id", ""), block["name"], block["input"])
        if block["type"] == "tool_use"
        else TextBlock("")
        for block in content
    ]


@pytest.mark.parametrize("case", cases("roo/protocol_and_xml_helpers", fn="resolveToolProtocol"))
def test_protocols_resolve_as_in_roo(case: Any) -> None:
    _settings, model, locked, past = [*case["args"], None, None, None][:4]
    native = model.get("supportsNativeTools") if model else None
    assert resolve_protocol(locked=locked, history=history(past or []), supports_native=native) == case["out"]


@pytest.mark.parametrize("case", cases("roo/protocol_and_xml_helpers", fn="detectToolProtocolFromHistory"))
def test_history_shows_its_protocol_as_in_roo(case: Any) -> None:
    assert seen_in_history(history(case["args"][0])) == case["out"]


def test_the_lock_wins_then_history_then_the_model() -> None:
    xml = [Message("assistant", (ToolUseBlock("", "f", {}),))]
    native = [Message("assistant", (ToolUseBlock("t1", "f", {}),))]
    assert resolve_protocol(locked="morph_xml", history=native, supports_native=True) == "morph_xml"
    assert resolve_protocol(history=xml, supports_native=True) == "xml"
    assert resolve_protocol(history=native, supports_native=False) == "native"
    assert resolve_protocol(supports_native=False) == "xml"
    assert resolve_protocol() == "native"


def test_the_last_call_in_a_mixed_history_decides() -> None:
    mixed = [Message("assistant", (ToolUseBlock("", "f", {}),)), Message("assistant", (ToolUseBlock("t", "f", {}),))]
    assert seen_in_history(mixed) == "native"
