"""What a llama.cpp server really sent, for two real models, played back byte for byte over HTTP.

They go through the official SDKs, our providers and the parsers. There is no provider for llama.cpp's own /completion:
of that it is checked only that its lines are the recorded text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from joey import protocols
from joey.chunks import Chunk, StopChunk, TextChunk, UsageChunk
from joey.messages import Message, TextBlock
from joey.protocols import collect
from joey.providers import (
    BadRequestError,
    ContextTooLongError,
    CutStreamError,
    ModelRequest,
    ProviderError,
    open_model,
)
from joey.testing import LocalServer, Recording, check_laws, read
from joey.testing.script import summary
from joey.toolspec import ToolSpec
from vectors_data import ROOT

STREAMS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "streams").glob("*.json"))
}
ENDPOINTS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic", "/v1/responses": "responses"}
REPLAYED = [name for name, data in STREAMS.items() if data["meta"]["endpoint"] in ENDPOINTS and "responses" not in name]
ERRORS = {"error-context": ContextTooLongError, "error-badreq": BadRequestError, "chat-abort": CutStreamError}
STOPS = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "end_turn": "end",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}


def lines(data: Any) -> Iterator[Any]:
    """The JSON of a recording, line by line, read without any client."""
    for _, line in data["sse"]:
        text = line.removeprefix("data: ")
        if text.startswith("{"):
            yield json.loads(text)


def recorded_text(data: Any) -> str:
    return "".join(text for _, kind, text, *_ in data["tokens"] if kind in ("content", "text_delta"))


def recorded_calls(data: Any) -> list[Any]:
    """Id, name and arguments of each call, put together from the lines of either format."""
    calls: dict[int, list[Any]] = {}
    for line in lines(data):
        block = line.get("content_block") or {}
        if block.get("type") == "tool_use":
            calls[line["index"]] = [block["id"], block["name"], ""]
        if (line.get("delta") or {}).get("type") == "input_json_delta":
            calls[line["index"]][2] += line["delta"]["partial_json"]
        for choice in line.get("choices", ()):
            for piece in choice["delta"].get("tool_calls", ()):
                function = piece["function"]
                call = calls.setdefault(piece["index"], [piece.get("id"), function.get("name"), ""])
                call[2] += function.get("arguments", "")
    return [tuple(call) for call in calls.values()]


def recorded_usage(data: Any) -> UsageChunk | None:
    """What the server counted last; None if it was not asked to count."""
    counted: dict[str, Any] = {}
    for line in lines(data):
        counted |= line.get("usage") or line.get("message", {}).get("usage") or {}
    if not counted:
        return None
    if "input_tokens" in counted:
        return UsageChunk(
            counted["input_tokens"], counted["output_tokens"], cache_read_tokens=counted["cache_read_input_tokens"]
        )
    cached = counted["prompt_tokens_details"]["cached_tokens"]
    return UsageChunk(counted["prompt_tokens"] - cached, counted["completion_tokens"], cache_read_tokens=cached)


def recorded_stop(data: Any) -> str | None:
    recorded = [choice["finish_reason"] for line in lines(data) for choice in line.get("choices", ())]
    recorded += [line["delta"].get("stop_reason") for line in lines(data) if line.get("type") == "message_delta"]
    return next((STOPS[reason] for reason in recorded if reason), None)


def _spec(name: str, *parameters: str) -> ToolSpec:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(parameters)})


SPECS = (
    _spec("read_file", "path"),
    _spec("write_to_file", "path", "content"),
    _spec("execute_command", "command"),
    _spec("attempt_completion", "result"),
)


async def replay(name: str) -> tuple[list[Chunk], ProviderError | None]:
    """What our provider makes of a recording, through the official SDK and real HTTP."""
    data = STREAMS[name]
    wire = ENDPOINTS[data["meta"]["endpoint"]]
    chunks: list[Chunk] = []
    api: Literal["responses"] | None = "responses" if wire == "responses" else None
    async with LocalServer([Recording.load(ROOT / "streams" / f"{name}.json")]) as server:
        url = server.anthropic_url if wire == "anthropic" else server.openai_url
        named = "openai/m" if wire == "responses" else f"{wire}/m"
        provider, model = open_model(named, base_url=url, api_key="key", api=api)
        try:
            async for chunk in provider.stream(ModelRequest(model, (Message("user", (TextBlock("go"),)),))):
                chunks += [chunk]
        except ProviderError as error:
            return chunks, error
        finally:
            await provider.close()
    return chunks, None


@pytest.mark.parametrize("name", REPLAYED)
async def test_a_recorded_stream_gives_what_was_recorded_and_is_parsed_live(name: str) -> None:
    data = STREAMS[name]
    chunks, error = await replay(name)
    recorded = summary(chunks)
    assert type(error) is ERRORS.get(data["meta"]["name"], type(None))
    assert recorded["text"] == recorded_text(data)
    assert recorded["calls"] == recorded_calls(data)
    assert recorded["stop"] == recorded_stop(data)
    assert recorded["usage"] == recorded_usage(data)
    assert isinstance(chunks[-1], StopChunk) if error is None else recorded["stop"] is None
    check_native(chunks, recorded_calls(data))
    for protocol in protocols.text_names() if not recorded["calls"] else ():  # which are not asked with native tools
        check_text(protocol, chunks, recorded_text(data))
    if "-forced-" in name:
        check_held_to_a_grammar("xml" if "xml" in name else "json_mix", chunks)


def check_native(chunks: list[Chunk], calls: list[Any]) -> None:
    content = collect(read(protocols.get("native").parser(SPECS), chunks))
    expected = [(id_, name, json.loads(arguments)) for id_, name, arguments in calls]
    assert [(call.call_id, call.name, call.arguments) for call in content.calls] == expected
    assert not calls or content.malformed == ()


def check_text(protocol: str, chunks: list[Chunk], text: str) -> None:
    """The laws hold, nothing is lost, and how the model's tokens cut the text does not matter."""
    events = read(protocols.get(protocol).parser(SPECS), chunks)
    check_laws(events, text)
    live = collect(events)
    others = [chunk for chunk in chunks if not isinstance(chunk, TextChunk)]
    whole = collect(read(protocols.get(protocol).parser(SPECS), [TextChunk(text), *others]))
    assert [(call.name, call.arguments) for call in live.calls] == [(call.name, call.arguments) for call in whole.calls]
    assert live.text == whole.text and live.stop == whole.stop


def check_held_to_a_grammar(protocol: str, chunks: list[Chunk]) -> None:
    """It is one call, or it was cut and says so."""
    content = collect(read(protocols.get(protocol).parser(SPECS), chunks))
    was_cut = summary(chunks)["stop"] == "length"
    assert (len(content.calls), bool(content.malformed)) == ((0, True) if was_cut else (1, False))


@pytest.mark.parametrize("name", [name for name in STREAMS if "responses" in name])
async def test_the_responses_of_a_real_server_are_read(name: str) -> None:
    data = STREAMS[name]
    chunks, error = await replay(name)
    reported, final = summary(chunks), list(lines(data))[-1]["response"]
    assert error is None and reported["text"] + "".join(call[2] for call in reported["calls"]) == data["text"]
    called = [(item["call_id"], item["name"]) for item in final["output"] if item["type"] == "function_call"]
    assert [call[:2] for call in reported["calls"]] == called
    assert reported["stop"] == ("tool_calls" if called else "end")
    usage, cached = final["usage"], final["usage"]["input_tokens_details"]["cached_tokens"]
    assert reported["usage"] == UsageChunk(usage["input_tokens"] - cached, usage["output_tokens"], 0, cached)


@pytest.mark.parametrize("name", [name for name in STREAMS if "completion-raw" in name])
def test_the_lines_of_the_servers_own_format_are_the_recorded_text(name: str) -> None:
    assert "".join(line.get("content", "") for line in lines(STREAMS[name])) == STREAMS[name]["text"] != ""


def test_every_recording_is_tested() -> None:
    others = [name for name in STREAMS if "responses" in name or "completion-raw" in name]
    assert len(STREAMS) == 58 and sorted([*REPLAYED, *others]) == sorted(STREAMS)
