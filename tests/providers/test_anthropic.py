from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from anthropic_shapes import message
from joey.chunks import Chunk, ReasoningChunk, UsageChunk
from joey.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers import Abilities, AuthError, CutStreamError, ModelRequest, NetworkError, ReasoningOptions
from joey.providers.anthropic import AnthropicProvider
from joey.providers.decoding.messages import REDACTED
from joey.providers.encoding.messages import MessagesEncoder
from joey.testing import LocalServer, Recording, ScriptedReply, reply
from joey.testing.script import summary
from joey.toolspec import ToolChoice, ToolSpec
from vectors_data import cases

MARK = {"type": "ephemeral"}
USUAL = Abilities()
TASK = Message("user", (TextBlock("Create a server"), TextBlock("<environment_details/>")))
CALL = ToolUseBlock("toolu_01A7BcD3eFgH4iJkL5mNo6pQ", "read_file", {"path": "package.json"})
TURNS = (
    TASK,
    Message("assistant", (TextBlock("First, a look."), CALL)),
    Message("user", (ToolResultBlock(CALL.id, (TextBlock("{}"),)),)),
    Message("assistant", (TextBlock("Now npm."), ToolUseBlock("toolu_02R7", "execute_command", {"command": "npm i"}))),
    Message("user", (ToolResultBlock("toolu_02R7", (TextBlock("added 64 packages"),)),)),
)
READ = ToolSpec("read_file", "Read it.", {"type": "object", "properties": {"path": {"type": "string"}}})


def body(request: ModelRequest, abilities: Abilities = USUAL) -> Any:
    """What goes over the wire."""
    return json.loads(bytes(MessagesEncoder(abilities).body(request)))


async def ask(provider: AnthropicProvider, request: ModelRequest) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]


@pytest.fixture
async def hello() -> AsyncIterator[LocalServer]:
    async with LocalServer([reply("Hello")]) as server:
        yield server


def test_the_request_has_the_shape_of_a_messages_request() -> None:
    request = ModelRequest("claude", TURNS[:1], "You are Joey.", (READ,), max_tokens=8096, temperature=0)
    assert body(request) == {
        "model": "claude",
        "max_tokens": 8096,
        "system": [{"type": "text", "text": "You are Joey.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Create a server"},
                    {"type": "text", "text": "<environment_details/>", "cache_control": MARK},
                ],
            }
        ],
        "tools": [{"name": "read_file", "description": "Read it.", "input_schema": READ.schema}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
        "temperature": 0,
    }


def test_the_last_two_user_messages_are_marked_for_the_cache() -> None:
    messages = body(ModelRequest("claude", TURNS, tools=(READ,)))["messages"]
    marked = [number for number, each in enumerate(messages) if each["content"][-1].get("cache_control") == MARK]
    assert marked == [2, 4]
    assert json.dumps(messages).count("cache_control") == 2
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": CALL.id, "content": "{}", "cache_control": MARK}
    ]


async def test_the_request_arrives_as_it_was_made(hello: LocalServer) -> None:
    provider = AnthropicProvider(base_url=hello.anthropic_url, api_key="secret")
    request = ModelRequest(
        "claude", TURNS, "You are Joey.", (READ,), ToolChoice("one", "read_file", False), temperature=0
    )
    await ask(provider, request)
    await provider.close()
    (received,) = hello.requests
    expected = body(request)
    expected |= {"stream": True}
    assert received.body == expected
    assert received.body["tool_choice"] == {"type": "tool", "name": "read_file", "disable_parallel_tool_use": True}
    assert received.headers["anthropic-beta"] == "fine-grained-tool-streaming-2025-05-14"
    assert "secret" in (received.headers.get("authorization", "") + received.headers.get("x-api-key", ""))


async def test_no_beta_is_requested_without_need(hello: LocalServer) -> None:
    provider = AnthropicProvider(base_url=hello.anthropic_url)
    await ask(provider, ModelRequest("claude", TURNS[:1]))
    await provider.close()
    assert "anthropic-beta" not in hello.requests[0].headers


def test_reasoning_goes_back_with_its_signature_and_other_providers_does_not() -> None:
    thoughts = (
        ReasoningBlock("hm", "sig"),
        ReasoningBlock("", REDACTED + "xyz"),
        ReasoningBlock("unsigned"),
        ReasoningBlock("theirs", '[{"type": "reasoning.text"}]'),
        TextBlock("so"),
    )
    made = body(ModelRequest("claude", (TASK, Message("assistant", thoughts))))["messages"][1]["content"]
    assert made == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "so"},
    ]


def test_thinking_has_room_and_no_temperature() -> None:
    request = ModelRequest("claude", (TASK,), max_tokens=1000, temperature=0, reasoning=ReasoningOptions(budget=4000))
    made = body(request)
    assert made["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    assert made["max_tokens"] > 4000 and "temperature" not in made
    effort = body(ModelRequest("claude", (TASK,), reasoning=ReasoningOptions("high")))
    assert effort["thinking"] == {"type": "adaptive"} and effort["output_config"] == {"effort": "high"}


def test_images_stay_in_results() -> None:
    result = ToolResultBlock(CALL.id, (TextBlock("see"), ImageBlock("image/png", "AA==")), is_error=True)
    request = ModelRequest("claude", (*TURNS[:2], Message("user", (result,))), tools=(READ,))
    (made,) = body(request)["messages"][2]["content"]
    assert made["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
    ]
    assert made["is_error"] is True


def test_without_tools_the_history_is_written_as_text() -> None:
    made = body(ModelRequest("claude", TURNS[:3]))
    assert "tools" not in made and "tool_choice" not in made
    assert "tool_use" not in json.dumps(made)
    assert "[Tool Use: read_file]\\npath: package.json" in json.dumps(made)


@pytest.mark.parametrize("case", cases("roo/functions", fn="filterNonAnthropicBlocks"), ids=lambda c: c["test"])
def test_only_blocks_that_anthropic_knows_are_sent(case: Any) -> None:
    """What was recorded may leave neighbours of one side, or begin with the assistant; a request of ours does not."""
    given = tuple(map(message, case["args"][0]))
    made = body(ModelRequest("claude", given))["messages"]
    texts = [block["text"] for each in made for block in each["content"]]
    expected = [block.text for each in case["out"] for block in message(each).content if isinstance(block, TextBlock)]
    placeholders = ("(no text)", "(The beginning of this conversation is not shown.)")
    assert [text for text in texts if text not in placeholders] == expected
    assert [each["role"] for each in made] == ["user", "assistant", "user"][: len(made)]


REPLIES = {
    "text": reply("Hello, ", "world: é😀"),
    "calls": reply("Look.", CALL, ToolUseBlock("toolu_2", "list_files", {"deep": [1, {"a": None}]}), "After."),
    "no arguments": reply(ToolUseBlock("toolu_3", "stop", {})),
    "thoughts": reply(ReasoningBlock("Let me see…", "c2ln"), "Yes.", usage=UsageChunk(5, 7, 11, 13)),
    "cut by length": reply("and then", stop="length"),
    "refusal": reply("I can't.", stop="refusal"),
    "nothing": reply(),
}


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", REPLIES)
async def test_a_reply_comes_as_it_was_sent(name: str, streaming: bool) -> None:
    sent: ScriptedReply = REPLIES[name]
    async with LocalServer([sent]) as server:
        provider = AnthropicProvider(base_url=server.anthropic_url, abilities=Abilities(streaming=streaming))
        chunks = await ask(provider, ModelRequest("claude", (TASK,)))
        await provider.close()
    assert _comparable(chunks, streaming) == _comparable(sent.chunks, streaming)


def _comparable(chunks: Any, streaming: bool) -> dict[str, Any]:
    sent = summary(chunks)
    calls = [(call_id, name, json.loads(arguments or "{}")) for call_id, name, arguments in sent["calls"]]
    return {**sent, "calls": calls}


async def test_a_redacted_thought_travels_as_a_signature() -> None:
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": "xyz"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    ]
    lines = [line for event in events for line in (f"event: {event['type']}", f"data: {json.dumps(event)}", "")]
    async with LocalServer([Recording(tuple(lines))]) as server:
        provider = AnthropicProvider(base_url=server.anthropic_url)
        chunks = await ask(provider, ModelRequest("claude", (TASK,)))
        await provider.close()
    assert chunks[0] == ReasoningChunk("", REDACTED + "xyz")


def test_without_a_key_the_error_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(AuthError, match="set ANTHROPIC_API_KEY"):
        AnthropicProvider()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ANTHROPIC_AUTH_TOKEN", "token"), ("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer token")],
)
async def test_a_token_stands_for_a_key(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv(variable, value)
    await AnthropicProvider().close()


async def test_a_server_that_is_not_there_is_a_network_error() -> None:
    async with LocalServer([]) as server:
        gone = server.anthropic_url
    provider = AnthropicProvider(base_url=gone)
    with pytest.raises(NetworkError, match=f"no server answers at {gone}"):
        await ask(provider, ModelRequest("claude", (TASK,)))
    await provider.close()


async def test_a_reply_that_ends_without_a_reason_is_cut() -> None:
    async with LocalServer([ScriptedReply(reply("Hello").chunks[:-1])]) as server:
        provider = AnthropicProvider(base_url=server.anthropic_url)
        with pytest.raises(CutStreamError, match="broke off before its end"):
            await ask(provider, ModelRequest("claude", (TASK,)))
        await provider.close()


def test_a_growing_conversation_is_encoded_as_a_fresh_one() -> None:
    encoder = MessagesEncoder(USUAL)
    for length in range(1, len(TURNS) + 1):
        request = ModelRequest("claude", TURNS[:length], "S", (READ,))
        assert json.loads(bytes(encoder.body(request))) == body(request)
