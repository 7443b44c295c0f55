"""What an answer took: as the model's server counts it, with what it found in its cache, and about, where it cannot."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from gateway_kit import PATHS, call_text, client_of, events_of, request_body, upstream, whole
from joey.chunks import Chunk, StopChunk, TextChunk, UsageChunk
from joey.testing import Faults, reply
from joey.testing.script import ScriptedReply

WIRES = tuple(PATHS)
COUNTED = UsageChunk(input_tokens=40, output_tokens=7, cache_read_tokens=60)
USAGES: dict[str, dict[str, Any]] = {
    "chat": {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 0},
    },
    "responses": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 107,
    },
    "messages": {
        "input_tokens": 40,
        "output_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 60,
    },
}
ONE_CALL: dict[str, dict[str, Any]] = {
    "chat": {"parallel_tool_calls": False},
    "responses": {"parallel_tool_calls": False},
    "messages": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
}


def written(*texts: str) -> ScriptedReply:
    chunks: list[Chunk] = [*map(TextChunk, texts), COUNTED, StopChunk("end")]
    return ScriptedReply(tuple(chunks))


async def ask(wire: str, script: ScriptedReply, **fields: Any) -> httpx2.Response:
    async with client_of(upstream(script)) as client:
        return await client.post(PATHS[wire], json=request_body(wire, **fields))


def usage_of(wire: str, got: httpx2.Response, *, stream: bool) -> Any:
    if not stream:
        return got.json()["usage"]
    events = [data for _, data in events_of(got.content) if isinstance(data, dict)]
    found = [data.get("response", data).get("usage") for data in events]
    return [usage for usage in found if usage][-1]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_the_tokens_of_the_cache_are_told(wire: str, stream: bool) -> None:
    got = await ask(wire, written("Hello."), stream=stream)
    assert usage_of(wire, got, stream=stream) == USAGES[wire]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_so_they_are_where_only_the_first_call_counts(wire: str, stream: bool) -> None:
    got = await ask(wire, written(call_text("list_files"), "\n"), stream=stream, **ONE_CALL[wire])
    assert usage_of(wire, got, stream=stream) == USAGES[wire]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_goes_on_behind_its_only_call_is_not_heard(wire: str) -> None:
    script = written(call_text("list_files"), "\n", "Then", "x" * 400)
    got = await ask(wire, script, **ONE_CALL[wire])
    assert whole(wire, got.json()).calls == [("list_files", {})]
    usage = got.json()["usage"]
    assert usage != USAGES[wire] and 0 < usage.get("completion_tokens", usage.get("output_tokens")) < 50


async def test_what_was_written_for_a_client_that_went_away_is_counted() -> None:
    model = upstream(reply("word " * 40, faults=Faults(silent_after=10)))
    async with client_of(model) as client:
        async with client.stream("POST", PATHS["chat"], json=request_body("chat", stream=True)) as got:
            async for _ in got.aiter_bytes():
                break
        metrics = (await client.get("/metrics")).text
    tokens = dict(re.findall(r'tokens_total\{kind="(\w+)"\} (\d+)', metrics))
    assert int(tokens["input"]) > 100 and int(tokens["output"]) > 0
    assert 'outcome="gone"} 1' in metrics


async def test_a_request_that_no_server_answered_took_nothing() -> None:
    model = upstream(reply("Never.", faults=Faults(cut_after=0)))
    async with client_of(model) as client:
        assert (await client.post(PATHS["chat"], json=request_body("chat"))).status_code == 502
        assert 'tokens_total{kind="input"} 0' in (await client.get("/metrics")).text
