from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from joey import protocols
from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import collect
from joey.providers import (
    Abilities,
    AuthError,
    BadRequestError,
    ContextTooLongError,
    CutStreamError,
    ModelRequest,
    OverloadedError,
    ProviderError,
    RateLimitError,
    ReasoningOptions,
    abilities_of,
    open_model,
)
from joey.providers.decoding.responses import ResponsesReader
from joey.providers.openai_responses import ResponsesEncoder
from joey.testing import Failure, Faults, LocalServer, read, reply
from joey.testing.script import Scripted, summary
from joey.tools.builtin.apply_patch import ApplyPatch
from joey.toolspec import ToolChoice, ToolSpec

GPT = abilities_of("gpt-6.1-sol")
TASK = Message("user", (TextBlock("Create a server"),))
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA=="}
CALL = ToolUseBlock("call_1", "read_file", {"path": "é.txt"})
RESULT = Message("user", (ToolResultBlock("call_1", (TextBlock("{}"),)),))
READ = ToolSpec("read_file", "Read it.", {"type": "object", "properties": {"path": {"type": "string"}}})
PATCH = ApplyPatch().spec


def body(request: ModelRequest, abilities: Abilities = GPT, **options: Any) -> Any:
    """What goes over the wire."""
    return json.loads(bytes(ResponsesEncoder(abilities, options.pop("custom", None)).body(request, **options)))


def kinds(made: Any) -> list[str]:
    return [item["type"] for item in made["input"]]


def chunks_of(*events: Any, custom: dict[str, str] | None = None, marked: bool = False) -> list[Chunk]:
    reader = ResponsesReader(custom)
    return [chunk for event in events for chunk in reader.read("", event)] + list(reader.end(marked=marked))


def completed(*output: Any, **fields: Any) -> dict[str, Any]:
    response = {"object": "response", "status": "completed", "output": list(output), **fields}
    return {"type": "response.completed", "response": response}


def incomplete(reason: str) -> dict[str, Any]:
    return {"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}}


# The request


def test_the_request_keeps_nothing_on_the_server() -> None:
    turns = (TASK, Message("assistant", (ReasoningBlock("", json.dumps(THOUGHT)), CALL)), RESULT)
    request = ModelRequest("gpt", turns, "You are Joey.", (READ,), ToolChoice("required", parallel=False), 100, 0.5)
    made = body(replace(request, reasoning=ReasoningOptions("high"), conversation="task-1"))
    assert made == {
        "model": "gpt",
        "store": False,
        "max_output_tokens": 100,
        "instructions": "You are Joey.",
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Read it.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                "strict": False,
            }
        ],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "prompt_cache_key": "task-1",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Create a server"}]},
            THOUGHT,
            {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path":"é.txt"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "{}"},
        ],
    }


def test_reasoning_goes_back_byte_for_byte_and_in_place() -> None:
    signature = '{"type": "reasoning",  "id":"rs_1", "summary":[], "encrypted_content":"x"}'
    content = (ReasoningBlock("a", signature), TextBlock("Look."), ReasoningBlock("b", signature), CALL)
    request = ModelRequest("gpt", (TASK, Message("assistant", content), RESULT), tools=(READ,))
    made = bytes(ResponsesEncoder(GPT).body(request))
    assert made.count(signature.encode()) == 2
    assert kinds(json.loads(made))[1:] == ["reasoning", "message", "reasoning", "function_call", "function_call_output"]


@pytest.mark.parametrize(
    "signature", [None, "EqQB", "redacted_thinking:x", '[{"type": "reasoning.text"}]', "{broken", '{"type": "message"}']
)
def test_another_providers_reasoning_stays_away(signature: str | None) -> None:
    content = (ReasoningBlock("thought", signature), CALL)
    made = body(ModelRequest("gpt", (TASK, Message("assistant", content), RESULT), tools=(READ,)))
    assert kinds(made) == ["message", "function_call", "function_call_output"]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    cut = Message("assistant", (TextBlock("Hm."), ReasoningBlock("", json.dumps(THOUGHT))))
    assert kinds(body(ModelRequest("gpt", (TASK, cut, TASK)))) == ["message", "message", "message"]


def test_plain_reasoning_goes_back_to_a_model_that_wants_it() -> None:
    turns = (TASK, Message("assistant", (ReasoningBlock("hm"), CALL)), RESULT)
    made = body(ModelRequest("m", turns, tools=(READ,)), Abilities(echo_reasoning=True))
    assert made["input"][1] == {
        "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]
    }  # fmt: skip


def test_a_model_that_does_not_reason_is_not_asked_to() -> None:
    made = body(ModelRequest("gpt-4o", (TASK,), reasoning=ReasoningOptions("high")), abilities_of("gpt-4o"))
    assert set(made) == {"model", "store", "max_output_tokens", "input"}


def test_an_image_stands_in_the_result_it_belongs_to() -> None:
    result = ToolResultBlock("call_1", (TextBlock("see"), ImageBlock("image/png", "AA==")))
    turns = (TASK, Message("assistant", (CALL,)), Message("user", (result, TextBlock("and?"))))
    made = body(ModelRequest("gpt", turns, tools=(READ,)))["input"]
    assert [part["type"] for part in made[2]["output"]] == ["input_text", "input_image"]
    assert made[2]["output"][1]["image_url"] == "data:image/png;base64,AA=="
    assert made[3]["content"] == [{"type": "input_text", "text": "and?"}]


def test_one_tool_can_be_required_by_its_name() -> None:
    request = ModelRequest("gpt", (TASK,), tools=(READ, PATCH), tool_choice=ToolChoice("one", "read_file"))
    assert body(request)["tool_choice"] == {"type": "function", "name": "read_file"}
    patch = replace(request, tool_choice=ToolChoice("one", "apply_patch"))
    assert body(patch, custom={})["tool_choice"] == {"type": "custom", "name": "apply_patch"}


def test_a_patch_is_a_custom_tool_for_models_that_were_trained_on_it() -> None:
    call = ToolUseBlock("c", "apply_patch", {"patch": "*** Begin Patch\n"})
    turns = (TASK, Message("assistant", (call,)), Message("user", (ToolResultBlock("c", (TextBlock("ok"),)),)))
    request = ModelRequest("gpt", turns, tools=(PATCH,))
    made = body(request, custom={})
    assert made["tools"][0]["type"] == "custom" and made["tools"][0]["format"]["syntax"] == "lark"
    assert "hunk: add_hunk" in made["tools"][0]["format"]["definition"]
    assert made["input"][1] == {
        "type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin Patch\n"
    }  # fmt: skip
    assert made["input"][2]["type"] == "custom_tool_call_output"
    for other in (body(request), body(request, Abilities(), custom={})):  # not wanted; not trained on it
        assert other["tools"][0]["type"] == "function"
        assert kinds(other) == ["message", "function_call", "function_call_output"]


def test_tools_of_a_server_are_in_a_namespace_and_so_are_their_calls() -> None:
    tools = tuple(replace(READ, name=f"mcp--files--{name}", namespace="mcp--files") for name in ("read", "stat"))
    call = replace(CALL, name="mcp--files--stat")
    request = ModelRequest("gpt", (TASK, Message("assistant", (call,)), RESULT), tools=(READ, *tools))
    made = body(request)
    assert [tool["type"] for tool in made["tools"]] == ["function", "namespace"]
    assert [tool["name"] for tool in made["tools"][1]["tools"]] == ["mcp--files--read", "mcp--files--stat"]
    assert made["input"][1]["namespace"] == "mcp--files"
    plain = body(request, Abilities())
    assert [tool["type"] for tool in plain["tools"]] == ["function"] * 3 and "namespace" not in plain["input"][1]


# The reply


def test_a_reply_of_deltas_of_whole_items_or_of_one_event_reads_the_same() -> None:
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "read_file", "arguments": '{"path": "a"}'}
    items = [THOUGHT | {"summary": [{"type": "summary_text", "text": "hm"}]}, message, call]
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}
    usage |= {"output_tokens_details": {"reasoning_tokens": 3}}
    deltas = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "hm"},
        {"type": "response.output_item.done", "output_index": 0, "item": items[0]},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "H"},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "i"},
        {"type": "response.output_item.added", "output_index": 2, "item": call | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"path": "a"}'},
    ]
    whole = [
        {"type": "response.output_item.done", "output_index": place, "item": item} for place, item in enumerate(items)
    ]
    unnumbered = [{key: value for key, value in event.items() if key != "output_index"} for event in whole]
    end = completed(*items, usage=usage)
    reported = [summary(chunks_of(*events, end)) for events in (deltas, whole, unnumbered, [])]
    assert all(each == reported[0] for each in reported)
    assert reported[0]["calls"] == [("c", "read_file", '{"path": "a"}')] and reported[0]["text"] == "Hi"
    assert reported[0]["usage"] == UsageChunk(6, 5, 0, 4, 3) and reported[0]["stop"] == "tool_calls"
    assert json.loads(reported[0]["signatures"][0])["encrypted_content"] == "gAAA=="


def test_reasoning_without_its_encrypted_content_has_no_signature() -> None:
    item = {"type": "reasoning", "id": "rs", "content": [{"type": "reasoning_text", "text": "hm"}], "summary": []}
    assert ReasoningChunk("hm") in chunks_of(completed(item))


def test_the_parts_of_a_summary_are_paragraphs() -> None:
    delta = {"type": "response.reasoning_summary_text.delta", "output_index": 0}
    pieces = [{**delta, "summary_index": place, "delta": text} for place, text in ((0, "a"), (0, "b"), (1, "c"))]
    assert summary(chunks_of(*pieces, completed()))["reasoning"] == "ab\n\nc"


def test_the_text_of_a_custom_tool_grows_as_its_one_argument() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": ""}
    text = 'say "hé"\n\\ \U0001f600'
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": piece}
          for piece in (text[:5], text[5:9], "\\ \ud83d", "\ude00")),
    ]  # fmt: skip
    done = {"type": "response.output_item.done", "output_index": 0, "item": item | {"input": text}}
    for given in ([*events, done], [done], []):
        chunks = chunks_of(*given, completed(done["item"]), custom={"apply_patch": "patch"})
        call = collect(read(protocols.get("native").parser((PATCH,)), chunks)).calls[0]
        assert (call.call_id, call.arguments) == ("c", {"patch": text})


def test_a_custom_call_that_was_cut_is_malformed() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch"}
    cut = incomplete("max_output_tokens")
    delta = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "*** Beg"}
    chunks = chunks_of({"type": "response.output_item.added", "output_index": 0, "item": item}, delta, cut)
    content = collect(read(protocols.get("native").parser((PATCH,)), chunks))
    assert content.stop == "length" and content.malformed and not content.calls


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (completed(), "end"),
        (completed({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}), "refusal"),
        (incomplete("content_filter"), "refusal"),
        (incomplete("max_output_tokens"), "length"),
        ({"type": "response.incomplete"}, "length"),
    ],
)
def test_why_a_reply_stops(event: Any, reason: str) -> None:
    assert [chunk.reason for chunk in chunks_of(event) if isinstance(chunk, StopChunk)] == [reason]


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "error", "code": "server_error", "message": "busy"}, OverloadedError),
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}, RateLimitError),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "b"}}}, OverloadedError),
        ({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "b"}}},
         ContextTooLongError),
        ({"type": "response.failed"}, CutStreamError),
        ({"type": "response.created"}, CutStreamError),
    ],
)  # fmt: skip
def test_an_error_inside_the_stream_is_an_error_of_ours(event: Any, error: type[ProviderError]) -> None:
    with pytest.raises(error):
        chunks_of(event)


def test_that_a_reply_failed_says_more_than_the_error_before_it() -> None:
    failed = {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}}
    with pytest.raises(RateLimitError, match="slow"):
        chunks_of({"type": "error", "message": "something"}, failed)


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, {"a": [None]}, True])
def test_an_event_of_any_shape_is_read_or_reported(odd: Any) -> None:
    reader = ResponsesReader()
    names = [name for name in reader._handlers if name not in ("error", "response.failed", "response.cancelled")]
    fields = ("item", "delta", "output_index", "content_index", "summary_index", "item_id", "response", "text")
    for name in names:
        for field in fields:
            with suppress(CutStreamError):
                list(ResponsesReader().read("", {"type": name, "item": {"type": "message"}, field: odd}))
    for event in (odd, {"type": odd}, completed(odd), completed({"type": odd, "content": odd, "arguments": odd})):
        with suppress(ProviderError):
            list(ResponsesReader().read("", event))
        with suppress(ProviderError):
            list(ResponsesReader().read_whole(event))


def test_an_end_mark_is_enough_for_a_reply_that_says_no_more() -> None:
    delta = {"type": "response.output_text.delta", "delta": "Hi"}
    assert chunks_of(delta, marked=True) == [TextChunk("Hi"), StopChunk("end", "")]
    with pytest.raises(CutStreamError):
        chunks_of(delta)


# Over HTTP


async def ask(server: LocalServer, request: ModelRequest, name: str = "openai/gpt", **options: Any) -> list[Chunk]:
    provider, _ = open_model(name, base_url=server.openai_url, api_key="key", **options)
    try:
        return [chunk async for chunk in provider.stream(request)]
    finally:
        await provider.close()


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_reasoning_and_calls_make_the_round_trip(streaming: bool) -> None:
    thought = ReasoningBlock("hm", json.dumps(THOUGHT))
    async with LocalServer([reply(thought, "Look.", CALL, usage=UsageChunk(6, 5, 1, 4)), reply("Done.")]) as server:
        abilities = replace(GPT, streaming=streaming)
        first = await ask(server, ModelRequest("gpt", (TASK,), tools=(READ,)), api="responses", abilities=abilities)
        content = collect(read(protocols.get("native").parser((READ,)), first)).content
        assert [type(block) for block in content] == [ReasoningBlock, TextBlock, ToolUseBlock]
        assert summary(first)["usage"] == UsageChunk(6, 5, 1, 4)
        turns = (TASK, Message("assistant", content), RESULT)
        await ask(server, ModelRequest("gpt", turns, tools=(READ,)), api="responses", abilities=abilities)
    sent = server.requests[1].body["input"]
    assert sent[1].items() >= THOUGHT.items() and server.requests[1].path == "/v1/responses"


async def test_a_model_that_needs_it_is_asked_through_responses() -> None:
    async with LocalServer([reply("Hi"), reply("Hi")]) as server:
        await ask(server, ModelRequest("gpt-6.1-sol", (TASK,)), "openai/gpt-6.1-sol")
        await ask(server, ModelRequest("gpt-4o", (TASK,)), "openai/gpt-4o")
    assert [request.path for request in server.requests] == ["/v1/responses", "/v1/chat/completions"]


USE_RESPONSES = (
    "Function tools with reasoning_effort are not supported for gpt-5.9 in /v1/chat/completions. "
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)


async def test_the_error_that_names_the_other_api_is_heeded_once_and_remembered() -> None:
    script: list[Scripted] = [Failure(400, USE_RESPONSES, "invalid_request_error"), reply("Hi"), reply("Hi")]
    async with LocalServer(script) as server:
        for _ in range(2):
            assert TextChunk("Hi") in await ask(server, ModelRequest("new", (TASK,), tools=(READ,)), "openai/new")
    assert [each.path for each in server.requests] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


async def test_a_server_without_responses_is_asked_through_chat_completions() -> None:
    script: list[Scripted] = [Failure(404, "Not Found"), reply("Hi"), reply("Hi")]
    async with LocalServer(script) as server:
        for _ in range(2):
            await ask(server, ModelRequest("gpt-6-sol", (TASK,)), "openai/gpt-6-sol")
    assert [each.path.rpartition("/")[2] for each in server.requests] == ["responses", "completions", "completions"]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(404, "The requested model 'x' does not exist.", "model_not_found"), BadRequestError),
        (Failure(400, "Something else."), BadRequestError),
        (Failure(401, "Incorrect API key provided", "invalid_api_key"), AuthError),
        (Failure(429, "slow down", retry_after=3), RateLimitError),
        (Failure(400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
         ContextTooLongError),
    ],
)  # fmt: skip
async def test_an_error_before_the_stream_is_not_asked_twice(failure: Failure, error: type[ProviderError]) -> None:
    async with LocalServer([failure]) as server:
        with pytest.raises(error) as caught:
            await ask(server, ModelRequest("gpt-6-sol", (TASK,)), "openai/gpt-6-sol")
    assert len(server.requests) == 1 and caught.value.retry_after == failure.retry_after


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("Your organization must be verified to generate reasoning summaries.", "reasoning"),
        ("Encrypted content is not supported with this model.", "include"),
        ("Unsupported parameter: 'prompt_cache_key'", "prompt_cache_key"),
    ],
)
async def test_a_field_that_is_wanted_but_not_needed_is_left_out_when_it_is_refused(message: str, field: str) -> None:
    async with LocalServer([Failure(400, message), reply("Hi")]) as server:
        await ask(server, ModelRequest("m", (TASK,), conversation="task"), "openai/m", api="responses")
    first, second = (set(request.body) for request in server.requests)
    assert first - second == {field}


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (Faults(cut_after=3), CutStreamError),
        (Faults(malformed_at=2), CutStreamError),
        (Faults(cut_after=3, breaks_with=Failure(500, "busy", "server_error")), OverloadedError),
    ],
)
async def test_a_broken_stream_is_reported(faults: Faults, error: type[ProviderError]) -> None:
    async with LocalServer([reply("Hello, hello, hello, hello", faults=faults)]) as server:
        with pytest.raises(error):
            await ask(server, ModelRequest("m", (TASK,)), api="responses")


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_any_server_can_be_asked_through_any_api(api: Any) -> None:
    paths = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
    async with LocalServer([reply("Hi", CALL)]) as server:
        chunks = await ask(server, ModelRequest("m", (TASK,), tools=(READ,)), "llamacpp/m", api=api)
    assert server.requests[0].path == paths[api]
    assert summary(chunks)["calls"] == [("call_1", "read_file", '{"path": "é.txt"}')]


def test_a_call_keeps_its_place_when_calls_interleave() -> None:
    items = [{"type": "function_call", "call_id": f"c{n}", "name": "read_file", "arguments": ""} for n in range(2)]
    events = [
        *({"type": "response.output_item.added", "output_index": n, "item": item} for n, item in enumerate(items)),
        *({"type": "response.function_call_arguments.delta", "output_index": n, "delta": piece}
          for piece in ('{"path":', '"a"}') for n in (1, 0)),
    ]  # fmt: skip
    chunks = chunks_of(*events, completed())
    assert [chunk.index for chunk in chunks if isinstance(chunk, ToolCallChunk)] == [0, 1, 1, 0, 1, 0]
    assert [call[2] for call in summary(chunks)["calls"]] == ['{"path":"a"}'] * 2
