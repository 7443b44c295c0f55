"""Replies of any shape are read or reported, never raised; endless ones end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joey.chunks import CHUNKS, Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.events import ToolCallMalformed
from joey.protocols import collect, get
from joey.providers import (
    CutStreamError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    errors,
)
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.decoder import EventReader
from joey.providers.decoding.messages import MessagesReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.decoding.responses import ResponsesReader
from joey.testing import read
from joey.wire import encode
from recorded_answers import Answer, decode

END: StopChunk = StopChunk("end", "stop")


def chat(*deltas: Any, finish: str | None = "stop") -> list[Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    return [{"choices": [each]} for each in choices] + [{"choices": [{"delta": {}, "finish_reason": finish}]}]


def sse(events: list[Any], *, done: bool = False) -> bytes:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return (text + ("data: [DONE]\n\n" if done else "")).encode()


def refused(written: str) -> Any:
    return {"error": {"code": "tool_use_failed", "message": "no", "failed_generation": written}}


def block(place: int, kind: str, **fields: Any) -> Any:
    return {"type": "content_block_start", "index": place, "content_block": {"type": kind, **fields}}


def delta(place: int, kind: str, **fields: Any) -> Any:
    return {"type": "content_block_delta", "index": place, "delta": {"type": kind, **fields}}


# Shapes


ODD: dict[str, tuple[bytes, list[Chunk]]] = {
    "content in parts, thinking among them (Mistral)": (
        sse(
            chat(
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
                {"content": [{"type": "text", "text": "so"}, {"type": "reference", "reference_ids": [1]}]},
            )
        ),
        [ReasoningChunk("hm"), TextChunk("so"), END],
    ),
    "one part, and a text for a part": (
        sse(chat({"content": {"type": "text", "text": "a"}}, {"content": ["b"]}, "c")),
        [TextChunk("a"), TextChunk("b"), TextChunk("c"), END],
    ),
    "a whole message beside an empty delta (Perplexity)": (
        b'{"choices": [{"delta": {"content": ""}, "message": {"content": "all"}, "finish_reason": "stop"}]}',
        [TextChunk("all"), END],
    ),
    "all the text so far beside the delta": (
        sse([{"choices": [{"delta": {"content": "b"}, "message": {"content": "ab"}, "finish_reason": "stop"}]}]),
        [TextChunk("b"), END],
    ),
    "an end mark and no reason (Snowflake)": (
        sse([{"choices": [{"delta": {"content": "a"}}]}], done=True),
        [TextChunk("a"), StopChunk("end", "")],
    ),
    "an end mark, no reason, and a call": (
        sse([{"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"name": "f"}}]}}]}], done=True),
        [ToolCallChunk(None, "a", "f"), StopChunk("tool_calls", "")],
    ),
    "a whole body and no reason": (
        b'{"choices": [{"message": {"content": "a", "function_call": {"name": ""}}, "finish_reason": ""}]}',
        [TextChunk("a"), StopChunk("end", "")],
    ),
    "one call instead of a list, its index a text": (
        sse(chat({"tool_calls": {"index": "0", "id": 7, "function": {"name": "f", "arguments": {"a": 1}}}})),
        [ToolCallChunk(0, "7", "f", '{"a": 1}'), StopChunk("tool_calls", "stop")],
    ),
    "usage that is none": (
        sse([{"usage": [1]}, {"usage": {"prompt_tokens": "many", "completion_tokens": 3}}, *chat()]),
        [UsageChunk(0, 3), END],
    ),
    "an error after the reason": (
        sse([*chat({"content": "a"}, finish="length"), {"error": {"message": "context length exceeded", "code": 400}}]),
        [TextChunk("a"), StopChunk("length", "length")],
    ),
    "carriage returns, a mark, comments, no last line end": (
        b'\xef\xbb\xbf: hi\r\rdata: {"choices": [{"delta": {"content": "a"},\rdata: "finish_reason": "stop"}]}',
        [TextChunk("a"), END],
    ),
    "a call that the provider refused, with what the model wrote (Groq)": (
        sse([refused('{"name": "f", "arguments": {"a": 1}}')]),
        [ToolCallChunk(None, None, "f", '{"a": 1}'), StopChunk("tool_calls", "tool_use_failed")],
    ),
    "the same, as no call": (
        sse([refused("<function=f>")]),
        [ToolCallChunk(arguments="<function=f>"), StopChunk("tool_calls", "tool_use_failed")],
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_reply_is_read(name: str) -> None:
    body, chunks = ODD[name]
    found = decode(ChatReader(), [body])
    assert (found.chunks, found.error) == (chunks, None)


REPORTED: dict[str, tuple[bytes, type[ProviderError]]] = {
    "content that is a number": (sse(chat({"content": 5})), CutStreamError),
    "calls that are a text": (sse(chat({"tool_calls": "f()"})), CutStreamError),
    "a call that is a text": (sse(chat({"tool_calls": ["f()"]})), CutStreamError),
    "a delta that is a list": (sse(chat(["a"])), CutStreamError),
    "an event that is a number": (b"data: 5\n\n", CutStreamError),
    "half an event": (b'data: {"choices": [{"delta', CutStreamError),
    "no reason and no end mark": (sse([{"choices": [{"delta": {"content": "a"}}]}]), CutStreamError),
    "nothing but an end mark": (b"data: [DONE]\n\n", CutStreamError),
    "nothing": (b"", CutStreamError),
    "an end for an error": (sse(chat({"content": "a"}, finish="error")), OverloadedError),
    "an error in the choice (OpenRouter)": (
        b'{"choices": [{"error": {"code": 429, "message": "slow down"}, "finish_reason": "error"}]}',
        RateLimitError,
    ),
    "a body that is no completion": (b'{"object": "list"}', CutStreamError),
    "brackets without end": (b"[" * 200_000, CutStreamError),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_cannot_be_read_is_reported(name: str) -> None:
    body, error = REPORTED[name]
    assert type(decode(ChatReader(), [body]).error) is error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
CHAT: Any = {
    "choices": [
        {
            "index": 0,
            "delta": {
                "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}],
                "reasoning": "a",
                "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}],
                "refusal": "no",
                "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}],
                "function_call": {"name": "f", "arguments": "{}"},
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}},
    "error": {"message": "no", "code": "x", "metadata": {"raw": "{}"}, "failed_generation": "{}"},
}
MESSAGES: list[Any] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 5}, "content": []}},
    block(0, "tool_use", id="a", name="f", input={}),
    block(1, "thinking", thinking="a", signature="b"),
    block(2, "redacted_thinking", data="a"),
    delta(0, "input_json_delta", partial_json="{}"),
    delta(1, "signature_delta", signature="a"),
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "a"}},
    {"type": "message", "content": [{"type": "text", "text": "a"}], "usage": {}, "stop_reason": "end_turn"},
]

RESPONSES: list[Any] = [
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "function_call", "id": "a", "name": "f"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "a", "delta": "{}"},
    {"type": "response.custom_tool_call_input.delta", "output_index": 1, "delta": "a"},
    {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "a"},
    {"type": "response.output_text.done", "output_index": 3, "content_index": 0, "text": "a"},
    {"type": "response.refusal.done", "output_index": 4, "content_index": 0, "refusal": "a"},
    {"type": "response.reasoning_summary_text.delta", "output_index": 5, "summary_index": 0, "delta": "a"},
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
                {"type": "reasoning", "summary": [{"text": "a"}], "encrypted_content": "a"},
                {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "a"},
            ],
            "usage": {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 1}},
            "incomplete_details": {"reason": "max_output_tokens"},
        },
    },
    {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "a"}}},
    {"type": "error", "message": "a", "code": "server_error"},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a value, itself included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def check_any(reader: Callable[[], ReplyReader], usual: Any, event: Any, name: str) -> None:
    """Streamed, whole and as the body of an error: nothing but ProviderErrors comes out (`decode` catches those), and
    the chunks are such that the native parser takes them."""
    piece = f"event: {name}\ndata: {json.dumps(event)}\n\n".encode()
    for body in (piece, piece + sse([usual, event, usual], done=True), json.dumps([event]).encode()):
        found = decode(reader(), [body])
        assert all(CHUNKS.decode(json.loads(json.dumps(encode(chunk)))) == chunk for chunk in found.chunks)
        collect(read(get("native").parser(()), list(found.chunks)))
    reader().rescue(event)


@pytest.mark.property
@given(st.data(), st.sampled_from(["", "error", "message"]))
def test_any_json_in_any_place_of_a_completion_is_read_or_reported(data: st.DataObject, name: str) -> None:
    sample = {key: value for key, value in CHAT.items() if key != "error" or data.draw(st.booleans())}
    check_any(ChatReader, sample, put(sample, data.draw(st.sampled_from(places(sample))), data.draw(JSON)), name)


@pytest.mark.property
@given(st.data(), st.sampled_from(["", "error", "content_block_start"]))
def test_any_json_in_any_place_of_a_message_is_read_or_reported(data: st.DataObject, name: str) -> None:
    sample = data.draw(st.sampled_from(MESSAGES))
    check_any(MessagesReader, sample, put(sample, data.draw(st.sampled_from(places(sample))), data.draw(JSON)), name)


@pytest.mark.property
@given(st.data(), st.booleans())
def test_any_json_in_any_place_of_a_response_is_read_or_reported(data: st.DataObject, named: bool) -> None:
    sample = data.draw(st.sampled_from(RESPONSES))
    name, usual = sample["type"], {key: value for key, value in sample.items() if key != "type"} if named else sample
    event = put(usual, data.draw(st.sampled_from(places(usual))), data.draw(JSON))
    check_any(ResponsesReader, usual, event, name if named else "")


@pytest.mark.property
@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"data: a", b"event:b", b": c", b"{", b""]), max_size=20))
@example([b"data: a\r", b"\ndata: b"])
def test_how_bytes_are_cut_does_not_change_the_events(pieces: list[bytes]) -> None:
    def events(cut: list[bytes]) -> list[Any]:
        reader = EventReader(10_000)
        return [*(event for piece in cut for event in reader.feed(piece)), *reader.finish()]

    assert events(pieces) == events([b"".join(pieces)])


# Tools that Anthropic runs itself


def test_the_pieces_of_a_servers_own_tool_are_no_calls() -> None:
    kinds = ("server_tool_use", "mcp_tool_use", "web_search_tool_result", "a_kind_of_tomorrow", "tool_use")
    events = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]
    for place, kind in enumerate(kinds):
        events += [block(place, kind, id=f"s{place}", name=kind, input={})]
        events += [delta(place, "input_json_delta", partial_json='{"query": "x"}')]
    found = decode(MessagesReader(), [sse(events)])
    parsed = read(get("native").parser(()), list(found.chunks))
    assert [call.name for call in collect(parsed).calls] == ["tool_use"]
    assert not any(isinstance(event, ToolCallMalformed) for event in parsed)


# A reply that is cut


@pytest.mark.parametrize(("wire", "reader"), [("chat", ChatReader), ("anthropic", MessagesReader)])
def test_half_of_a_recorded_stream_is_recognised_as_cut(wire: str, reader: Callable[[], ReplyReader]) -> None:
    streams = [each for each in Answer.load(wire) if each.kind == "stream" and each.truth and not each.truth["error"]]
    for answer in streams:
        found = decode(reader(), [answer.body[: len(answer.body) // 3]])
        assert isinstance(found.error, CutStreamError), answer.id


@pytest.mark.property
@given(JSON, st.none() | st.integers(100, 599), st.booleans())
def test_any_json_is_a_body_of_an_error(body: Any, status: int | None, began: bool) -> None:
    error = errors.from_body(body, status=status, began=began)
    assert str(error).strip() and len(str(error)) < 2_000
