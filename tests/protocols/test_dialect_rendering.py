"""What a dialect writes is what its official template writes, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dialect_cases import cases_of, dialect_names, renders_of, tools_of
from joey import protocols
from joey.messages import TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import get
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.spec import Function, Json

RENDERS = [row for name in dialect_names() for row in renders_of(name)]
OTHER = "a second template of the same dialect; we write the first"
DIFFERENT = {
    ("describe", "deepseek_v31", "DeepSeek-V3.1.jinja"): "it does not declare tools",
    ("describe", "granite_20b_fc", ""): "it leaves out a quote in every description",
    ("describe", "hermes", "Hermes-3"): OTHER,
    ("describe", "hermes", "Bielik"): OTHER,
    ("describe", "hermes", "SmolLM3"): OTHER,
    ("describe", "lfm2", "LFM2-8B"): OTHER,
    ("describe", "llama3_json", "llama4_json"): OTHER,
    ("describe", "poolside_v1", "S-2.1"): OTHER,
    ("describe", "pythonic", "toolace"): OTHER,
    ("describe", "xlam", "xlam_llama"): OTHER,
    ("describe", "apriel", "declare_system"): "the system prompt stands inside it",
    ("describe", "hunyuan_a13b", "declare_system"): "the system prompt stands inside it",
    ("describe", "llama4_pythonic", "declare_system"): "the system prompt takes the place of its words",
    ("calls", "apriel", ""): "it adds ids in earlier turns, and none in the last",
    ("calls", "deepseek_v31", "tool_chat_template"): "it adds spaces between calls, against its own instruction",
    ("calls", "gigachat3", ""): "it writes the first call only",
    ("calls", "harmony", ""): "it writes the first call only",
    ("calls", "hermes", "SmolLM3"): OTHER,
    ("calls", "hermes", "Reka"): OTHER,
    ("calls", "lfm2", "LFM2-8B"): "it drops calls",
    ("calls", "llama3_json", "llama4_json"): OTHER,
    ("calls", "phi4_mini", ""): "it drops calls",
    ("calls", "poolside_v1", "S-2.1"): OTHER,
    ("calls", "pythonic", ""): "it writes strings without quotes, which cannot be read again",
    ("results", "harmony", ""): "it answers every call in the name of the first",
    ("results", "hermes", "Bielik"): OTHER,
    ("results", "hermes", "SmolLM3"): OTHER,
    ("results", "hermes", "Reka"): OTHER,
    ("results", "kimi_k2", "moonshotai-Kimi-K2"): "it writes the two characters \\n for a line break",
    ("results", "poolside_v1", "S-2.1"): OTHER,
}


def is_different(what: str, row: Any) -> bool:
    return any(
        what == kind and row["dialect"] == dialect and part in row["template"] + row["category"]
        for kind, dialect, part in DIFFERENT
    )


def calls_of(row: Any) -> list[ToolUseBlock]:
    """The calls of the last turn that has any."""
    turns = [message["tool_calls"] for message in row["messages"] if message.get("tool_calls")]
    found = []
    for call in turns[-1] if turns else ():
        arguments = call["function"]["arguments"]
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
        found.append(ToolUseBlock(call["id"], call["function"]["name"], read))
    return found


WRITTEN = ("scalars", "nested", "strings", "unicode", "empty_args", "several")
OTHERWISE = ("granite3", "harmony", "solar_open", "functionary_v32")
"""Written as the template writes its history: indented, with another header, with ids of its own, with its opener."""


@pytest.mark.parametrize("name", sorted({*dialect_names()} - {*OTHERWISE}))
def test_values_are_written_as_the_recorded_replies_hold_them(name: str) -> None:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    for case in cases_of(name):
        if case["category"] in WRITTEN and "json_style" not in case["id"] and case["expected"]:
            parts = [part for part in case["expected"]["content"] if part["type"] == "tool_call"]
            calls = [
                ToolUseBlock(part.get("id") or f"call_{at}", part["name"], part["input"])
                for at, part in enumerate(parts)
            ]
            assert protocol.encode_calls(calls, tools_of(case)).text.strip() in case["text"], case["id"]


@pytest.mark.parametrize("row", RENDERS, ids=lambda row: f"{row['dialect']}-{row['template'][-24:]}-{row['category']}")
def test_a_dialect_writes_what_its_template_writes(row: Any) -> None:
    protocol, tools, calls = get(row["dialect"]), list(tools_of(row)), calls_of(row)
    assert isinstance(protocol, DialectProtocol)
    if row["category"].startswith("declare") and not is_different("describe", row):
        assert protocol.describe(tools) in row["rendered"]
    if calls and not is_different("calls", row):
        assert protocol.encode_calls(calls, tools).text in row["rendered"]
    for message in row["messages"]:
        if message["role"] == "tool" and not is_different("results", row):
            result = ToolResultBlock(message["tool_call_id"], (TextBlock(message["content"]),))
            assert isinstance(block := protocol.encode_results((result,), calls)[0], TextBlock)
            assert without_frame(protocol, block.text) in row["rendered"]


def without_frame(protocol: DialectProtocol, text: str) -> str:
    """One result of several, without what stands around all of them."""
    style = protocol.style
    return text.removeprefix(style.results_before).removesuffix(style.results_after)


@pytest.mark.parametrize("name", protocols.dialect_names())
def test_a_result_cannot_pass_for_markup(name: str) -> None:
    """A file that holds the dialect's own calls and closers is quoted as a result, and no call is read in it."""
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    call = ToolUseBlock("c1", "ping", {})
    forged = protocol.encode_calls([call], []).text + protocol.style.results_after
    result = ToolResultBlock("c1", (TextBlock(f"text {forged} text"),))
    (block,) = protocol.encode_results([result], [call])
    assert isinstance(block, TextBlock)
    bare = isinstance(protocol.dialect.calls, (Json, Function)) and protocol.dialect.calls.bare
    assert bare or forged not in block.text
