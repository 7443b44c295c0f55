"""The streams of the three wires: everything a client needs, in order, however the model's text is cut."""

from __future__ import annotations

import json
import random
from typing import Any

import anthropic
import openai
import pytest

from gateway_kit import (
    CHAT_TOOLS,
    MESSAGES_TOOLS,
    PATHS,
    RESPONSES_TOOLS,
    TEXT_ONLY,
    call_text,
    client_of,
    request_body,
    requests_of,
    streamed,
    upstream,
    whole,
)
from joey.chunks import Chunk, StopChunk, TextChunk, UsageChunk
from joey.gateway import Upstream, connect, connect_async
from joey.messages import ReasoningBlock, ToolUseBlock
from joey.protocols import get
from joey.testing import ScriptedProvider, cuttings, reply
from joey.testing.script import ScriptedReply

WIRES = tuple(PATHS)
ARGUMENTS = {"path": "a.py", "text": 'print("hi")\n\tü😀\\', "lines": 3, "edits": [{"old": "x"}, {"old": "y"}]}
REPLIES = {
    "text": "Nothing to do: 1 < 2.",
    "call": call_text("write_file", **ARGUMENTS),
    "text and call": "I will.\n" + call_text("write_file", **ARGUMENTS),
    "two calls": call_text("list_files") + "\n" + call_text("write_file", path="b.py"),
    "number in a string": call_text("write_file", path="a.py", lines="12"),
    "reasoning": "<think>\nWhich file?\n</think>\n" + call_text("list_files"),
    "no such tool": call_text("format_disk", drive="c"),
    "cut": '<tool_call>{"name": "write_file", "arguments": {"path": "a.py", "text": "pri',
}


def cut_reply(pieces: list[str]) -> ScriptedReply:
    chunks: list[Chunk] = [*map(TextChunk, pieces), UsageChunk(100, 20), StopChunk("end")]
    return ScriptedReply(tuple(chunks))


async def answer(wire: str, script: Any, *, stream: bool, **fields: Any) -> Any:
    async with client_of(upstream(script, retries=0)) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=stream, **fields))
    assert got.status_code == 200, got.text
    return streamed(wire, got.content) if stream else whole(wire, got.json())


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_says_the_same_as_the_whole_answer_however_it_is_cut(wire: str, name: str) -> None:
    plain = await answer(wire, REPLIES[name], stream=False)
    for pieces in cuttings(REPLIES[name], seed=random.Random(name).randrange(99), count=4):
        got = await answer(wire, cut_reply(pieces), stream=True)
        assert (got.calls, got.stop, got.reasoning) == (plain.calls, plain.stop, plain.reasoning)
        if name != "cut":
            assert got.text == plain.text
        else:  # whole, the cut call is its own source as text; in a stream it had begun as a call, and is none
            assert (got.text, plain.text) == ("", REPLIES[name])


BARE = '{"name": "list_files", "arguments": {}}'
GOOD = call_text("list_files") + call_text("write_file", path="b.py")
WITH_GRAMMAR = {
    **REPLIES,
    "bare call": BARE,
    "fenced call": f"```json\n{BARE}\n```",
    "fenced call behind space": f"\n \n```json\n{BARE}\n```",
    "long fenced call": "```json\n" + json.dumps({"name": "write_file", "arguments": {"path": "a" * 900}}) + "\n```",
    "listed call": f"[{BARE}, {BARE}]",
    "call of another model": "<write_file><path>a.py</path></write_file>",
    "reasoning and a fenced call": f"<think>\nA fence.\n</think>\n```json\n{BARE}\n```",
    "code": "```sh\nls\n```",
    "code in a line": "`ls` lists files.",
    "empty code": "`` is empty",
    "one mark": "`",
    "two marks": "``",
    "a fence": "```",
    "a mark and a call": "`" + call_text("list_files"),
    "call and code": call_text("list_files") + "\n```sh\nls\n```",
    "words and a fenced call": f"So:\n```json\n{BARE}\n```",
    "JSON that is no call": '{"name": "Ada", "age": 36}',
    "words and no such tool": "I will.\n" + call_text("format_disk"),
    "made up result": "<tool_response>a.py</tool_response>",
    "call and made up result": call_text("list_files") + "\n<tool_response>a.py</tool_response>",
    "nothing": "",
    "space": " \n",
}


@pytest.mark.parametrize("name", WITH_GRAMMAR)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_is_asked_again_says_the_same_however_it_is_cut(wire: str, name: str) -> None:
    """Held to a grammar, and with a second attempt that makes two calls, where there is one."""
    text = WITH_GRAMMAR[name]
    plain, attempts = await with_two_attempts(wire, [text], stream=False)
    for pieces in [["", *text], *cuttings(text, seed=random.Random(name).randrange(99), count=6)]:
        got, requests = await with_two_attempts(wire, pieces, stream=True)
        assert requests == attempts, pieces
        assert (got.calls, got.stop, got.reasoning) == (plain.calls, plain.stop, plain.reasoning), pieces
        if name != "cut":  # as above
            assert got.text == plain.text, pieces


async def with_two_attempts(wire: str, pieces: list[str], *, stream: bool) -> tuple[Any, int]:
    model = upstream(cut_reply(pieces), GOOD, grammar=True)
    async with client_of(model) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=stream))
    assert got.status_code == 200, got.text
    return streamed(wire, got.content) if stream else whole(wire, got.json()), len(requests_of(model))


@pytest.mark.parametrize("name", ["bare call", "fenced call", "fenced call behind space", "long fenced call"])
async def test_nothing_is_seen_of_a_call_without_markers_that_is_made_again(name: str) -> None:
    for pieces in ([WITH_GRAMMAR[name]], list(WITH_GRAMMAR[name])):
        got, attempts = await with_two_attempts("messages", pieces, stream=True)
        assert (got.text, attempts) == ("", 2)
        assert got.calls == [("list_files", {}), ("write_file", {"path": "b.py"})]


async def test_the_replies_mean_what_they_say() -> None:
    found = {name: await answer("chat", text, stream=False) for name, text in REPLIES.items()}
    assert found["call"].calls == [("write_file", ARGUMENTS)]
    assert found["text and call"].text == "I will.\n"
    assert found["two calls"].calls == [("list_files", {}), ("write_file", {"path": "b.py"})]
    assert found["two calls"].text == ""
    assert found["number in a string"].calls == [("write_file", {"path": "a.py", "lines": 12})]
    assert (found["reasoning"].reasoning, found["reasoning"].text) == ("Which file?", "")
    assert (found["no such tool"].calls, found["no such tool"].text) == ([], REPLIES["no such tool"])
    assert (found["cut"].calls, found["cut"].stop) == ([], "length")


STOPS = {
    "chat": {"end": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "content_filter"},
    "messages": {"end": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal"},
    "responses": {"end": "completed", "tool_calls": "completed", "length": "incomplete", "refusal": "incomplete"},
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reason", ["end", "tool_calls", "length", "refusal"])
@pytest.mark.parametrize("wire", WIRES)
async def test_each_wire_has_its_word_for_why_a_reply_ended(wire: str, reason: Any, stream: bool) -> None:
    script = reply(REPLIES["call"] if reason == "tool_calls" else "Text.", stop=reason)
    assert (await answer(wire, script, stream=stream)).stop == STOPS[wire][reason]


async def test_arguments_grow_while_the_model_writes_them() -> None:
    pieces = [REPLIES["call"][start : start + 5] for start in range(0, len(REPLIES["call"]), 5)]
    async with client_of(upstream(cut_reply(pieces))) as client:
        got = await client.post(PATHS["chat"], json=request_body("chat", stream=True))
    deltas = [
        call["function"]["arguments"]
        for line in got.text.split("\n\n")
        if '"tool_calls":[' in line
        for call in json.loads(line[6:])["choices"][0]["delta"]["tool_calls"]
    ]
    assert len(deltas) > 6
    assert json.loads("".join(deltas)) == ARGUMENTS
    for end in range(1, len(deltas)):
        with pytest.raises(json.JSONDecodeError):
            json.loads("".join(deltas[:end]))


# Native calls upstream: only the wire is translated


NATIVE = reply(
    "Both.", ToolUseBlock("call_abc123", "list_files", {}), ToolUseBlock("call_def456", "write_file", ARGUMENTS)
)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_native_calls_of_the_model_pass_through(wire: str, stream: bool) -> None:
    provider = ScriptedProvider([NATIVE])
    async with client_of(provider) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=stream))
    found = streamed(wire, got.content) if stream else whole(wire, got.json())
    assert found.calls == [("list_files", {}), ("write_file", ARGUMENTS)]
    assert [tool.name for tool in provider.requests[0].tools] == ["write_file", "list_files"]
    assert "call_def456" in got.text
    assert provider.requests[0].system == ""


# The official SDKs as clients


def model() -> Upstream:
    script = [reply(ReasoningBlock("Hm."), REPLIES["text and call"])]
    return Upstream(ScriptedProvider(script, abilities=TEXT_ONLY), "m", get("json_mix"), "m")


def test_the_openai_sdk_reads_a_chat_completion_and_its_stream() -> None:
    client = openai.OpenAI(**connect(model()))
    message = (
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], tools=CHAT_TOOLS)
        .choices[0]
        .message
    )
    assert message.tool_calls is not None and message.tool_calls[0].type == "function"
    assert json.loads(message.tool_calls[0].function.arguments) == ARGUMENTS
    client = openai.OpenAI(**connect(model()))
    with client.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": "x"}], tools=CHAT_TOOLS
    ) as stream:
        last = stream.get_final_completion().choices[0]
    assert last.message.tool_calls is not None and last.finish_reason == "tool_calls"
    assert json.loads(last.message.tool_calls[0].function.arguments) == ARGUMENTS


async def test_the_openai_sdk_reads_a_response_and_its_stream() -> None:
    client = openai.AsyncOpenAI(**connect_async(model()))
    response = await client.responses.create(model="m", input="x", tools=RESPONSES_TOOLS)
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    client = openai.AsyncOpenAI(**connect_async(model()))
    async with client.responses.stream(model="m", input="x", tools=RESPONSES_TOOLS) as stream:
        last = await stream.get_final_response()
    (call,) = [item for item in last.output if item.type == "function_call"]
    assert json.loads(call.arguments) == ARGUMENTS
    assert last.usage is not None and last.usage.input_tokens == 100


async def test_the_anthropic_sdk_reads_a_message_and_its_stream() -> None:
    given: Any = {
        "model": "m",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "x"}],
        "tools": MESSAGES_TOOLS,
    }
    client = anthropic.AsyncAnthropic(**connect_async(model(), for_anthropic=True))
    message = await client.messages.create(**given)
    client = anthropic.AsyncAnthropic(**connect_async(model(), for_anthropic=True))
    async with client.messages.stream(**given) as stream:
        last = await stream.get_final_message()
    for each in (message, last):
        assert [block.type for block in each.content] == ["thinking", "text", "tool_use"]
        assert each.content[2].input == ARGUMENTS  # type: ignore[union-attr]
        assert each.stop_reason == "tool_use" and each.usage.input_tokens == 100


def test_the_anthropic_tool_runner_goes_on_without_threads() -> None:
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"sunny in {city}"

    script = upstream(call_text("get_weather", city="Paris"), "It is sunny.")
    client = anthropic.Anthropic(**connect(script, for_anthropic=True))
    runner = client.beta.messages.tool_runner(
        model="m",
        max_tokens=99,
        messages=[{"role": "user", "content": "Paris?"}],
        tools=[anthropic.beta_tool(get_weather)],
    )
    last = runner.until_done()
    assert last.content[0].text == "It is sunny."  # type: ignore[union-attr]
