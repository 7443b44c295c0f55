"""For the tests of the gateway: recorded requests, a client in the same process, and the laws of each wire's stream."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx2

from joey.gateway import Gateway, GatewayOptions, Upstream
from joey.gateway.connections import GatewayConnection
from joey.gateway.in_process import AsyncGatewayTransport
from joey.gateway.serving import HttpServer, bound
from joey.protocols import get
from joey.providers import Abilities, Provider
from joey.testing import ScriptedProvider, reply
from joey.testing.script import Scripted
from vectors_data import ROOT

FOLDER = ROOT / "gateway"
ARCHIVE = Path(__file__).parent / "vectors" / "gateway.tar.xz"
TEXT_ONLY = Abilities(tools=False)

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "text": {"type": "string"},
        "lines": {"type": "integer"},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}}},
    },
    "required": ["path"],
}
CHAT_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "write_file", "description": "Write a file.", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "list_files", "parameters": {"type": "object", "properties": {}}}},
]
RESPONSES_TOOLS: list[Any] = [{"type": "function", **tool["function"]} for tool in CHAT_TOOLS]
MESSAGES_TOOLS: list[Any] = [
    {"name": "write_file", "description": "Write a file.", "input_schema": SCHEMA},
    {"name": "list_files", "input_schema": {"type": "object", "properties": {}}},
]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


def call_text(name: str, **arguments: Any) -> str:
    """A call as the protocol json_mix writes it."""
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def request_body(wire: str, words: str = "Write it.", **fields: Any) -> dict[str, Any]:
    """A request with the two tools."""
    if wire == "responses":
        return {"model": "m", "input": words, "tools": RESPONSES_TOOLS, **fields}
    tools = MESSAGES_TOOLS if wire == "messages" else CHAT_TOOLS
    usage = {"stream_options": {"include_usage": True}} if wire == "chat" and fields.get("stream") else {}
    limit = {"max_tokens": 1000} if wire == "messages" else {}
    return {"model": "m", "messages": [{"role": "user", "content": words}], "tools": tools, **limit, **usage, **fields}


def upstream(*answers: str | Scripted, protocol: str = "json_mix", grammar: bool = False, **fields: Any) -> Upstream:
    """A scripted model that calls no tools by itself."""
    script = [reply(answer) if isinstance(answer, str) else answer for answer in answers]
    provider = ScriptedProvider(script, abilities=fields.pop("abilities", TEXT_ONLY), takes_grammar=grammar)
    return Upstream(provider, "m", get(protocol), "m", **fields)


def requests_of(model: Upstream) -> list[Any]:
    """The requests that a scripted model got."""
    assert isinstance(model.provider, ScriptedProvider)
    return model.provider.requests


@asynccontextmanager
async def client_of(model: Upstream | Provider, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway in this process."""
    made = model if isinstance(model, Upstream) else Upstream(model, "m", get("native"), "m")
    gateway = Gateway([made], GatewayOptions(**options))
    transport = AsyncGatewayTransport(gateway.application())
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=30) as client:
        yield client


@asynccontextmanager
async def served(
    *answers: str | Scripted, connection: type[GatewayConnection] = GatewayConnection, **fields: Any
) -> AsyncIterator[int]:
    """The port of a gateway in front of a scripted model, over real sockets."""
    with bound("127.0.0.1", 0) as listening:
        server = HttpServer(Gateway([upstream(*answers, **fields)]), connection)
        serving = asyncio.create_task(server.serve(listening))
        try:
            yield listening.getsockname()[1]
        finally:
            server.stop()
            await serving


# Recorded requests


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What a real client sent."""

    file: str
    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any

    def __str__(self) -> str:
        return f"{self.file}-{self.number}"


@cache
def recorded() -> tuple[RecordedRequest, ...]:
    """All of them, but for Gemini's wire, which is not spoken here."""
    found = []
    for name, text in sorted(_files().items()):
        for number, line in enumerate(text.splitlines()):
            row = json.loads(line)
            found.append(RecordedRequest(name, number, row["method"], row["path"], row["headers"], row["body"]))
    return tuple(each for each in found if "gemini" not in each.file)


def _files() -> dict[str, str]:
    if FOLDER.is_dir():
        return {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.jsonl")}
    with tarfile.open(ARCHIVE) as archive:
        members = [each for each in archive if each.name.endswith(".jsonl")]
        return {Path(each.name).stem: archive.extractfile(each).read().decode() for each in members}  # type: ignore[union-attr]


# Streams


def events_of(data: bytes) -> list[tuple[str, Any]]:
    """The events of a stream with their names; comments are left out, `[DONE]` is a string."""
    found = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        name = next((line[7:] for line in lines if line.startswith("event: ")), "")
        (text,) = [line[6:] for line in lines if line.startswith("data: ")]
        found.append((name, text if text == "[DONE]" else json.loads(text)))
    return found


@dataclass(slots=True)
class Collected:
    """What a client collects from an answer: text, reasoning, whole calls as (name, arguments), and why it ended."""

    text: str
    reasoning: str
    calls: list[tuple[str, Any]]
    stop: str


def streamed(wire: str, data: bytes) -> Collected:
    """What a stream says, after its laws were checked."""
    return _STREAMED[wire](events_of(data))


def _chat_stream(events: Sequence[tuple[str, Any]]) -> Collected:
    assert events[-1] == ("", "[DONE]"), "the stream does not end with [DONE]"
    chunks = [data for _, data in events[:-1]]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] > 0, "the usage is missing"
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == [choices[-1]["finish_reason"]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    calls: dict[int, list[Any]] = {}
    for choice in choices:
        for piece in choice["delta"].get("tool_calls", ()):
            index = piece["index"]
            if index not in calls:
                assert index == len(calls) and piece["id"] and piece["type"], "a call without its beginning"
                calls[index] = [(piece.get("function") or piece["custom"])["name"], ""]
            else:
                assert index == len(calls) - 1, "calls interleave"
            part = piece.get("function") or piece["custom"]
            calls[index][1] += part.get("arguments", part.get("input", ""))
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    thoughts = "".join(choice["delta"].get("reasoning_content") or "" for choice in choices)
    stop = choices[-1]["finish_reason"]
    return Collected(text, thoughts, _whole_calls(calls.values(), stop == "length"), stop)


def _whole_calls(calls: Iterable[Sequence[str]], cut: bool) -> list[tuple[str, Any]]:
    found = []
    for name, written in calls:
        try:
            found.append((name, json.loads(written)))
        except ValueError:
            assert cut, f"the arguments of {name} are not JSON: {written}"
    return found


_GROWS = {
    "text": ("text_delta",),
    "thinking": ("thinking_delta", "signature_delta"),
    "tool_use": ("input_json_delta",),
}


def _messages_stream(events: Sequence[tuple[str, Any]]) -> Collected:
    assert all(name == data["type"] for name, data in events), "an event under another name"
    kinds = [name for name, _ in events if name != "ping"]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("message_start") == kinds.count("message_delta") == 1
    blocks: list[list[Any]] = []
    is_open = False
    for name, data in events:
        if name == "content_block_start":
            assert not is_open and data["index"] == len(blocks)
            blocks.append([data["content_block"], ""])
            is_open = True
        elif name == "content_block_delta":
            assert is_open and data["index"] == len(blocks) - 1
            kind = blocks[-1][0]["type"]
            assert data["delta"]["type"] in _GROWS[kind], f"{data['delta']['type']} in a block of {kind}"
            blocks[-1][1] += next(
                data["delta"][key] for key in ("text", "thinking", "partial_json", "signature") if key in data["delta"]
            ) * (data["delta"]["type"] != "signature_delta")
        elif name == "content_block_stop":
            assert is_open and data["index"] == len(blocks) - 1
            is_open = False
    assert not is_open, "a block was left open"
    end = events[-2][1]
    assert end["usage"]["output_tokens"] > 0
    stop = end["delta"]["stop_reason"]
    calls = [(block["name"], written or "{}") for block, written in blocks if block["type"] == "tool_use"]
    text = "".join(written for block, written in blocks if block["type"] == "text")
    thoughts = "".join(written for block, written in blocks if block["type"] == "thinking")
    return Collected(text, thoughts, _whole_calls(calls, stop == "max_tokens"), stop)


def _responses_stream(events: Sequence[tuple[str, Any]]) -> Collected:
    assert all(name == data["type"] for name, data in events), "an event under another name"
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    kinds = [name for name, _ in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    done = [data["item"] for name, data in events if name == "response.output_item.done"]
    last = events[-1][1]["response"]
    assert kinds[-1] == f"response.{last['status']}"
    assert last["output"] == done, "the items of the end are not those that were done"
    assert last["usage"]["total_tokens"] > 0
    _check_items(events)
    return responses_body(last)


_BREAKABLE = ("function_call", "custom_tool_call")
"""Items that may have no end: a call that must not run."""
_ITEM_GROWS = {
    "message": "response.output_text",
    "reasoning": "response.reasoning_summary_text",
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}


def _check_items(events: Sequence[tuple[str, Any]]) -> None:
    """Each item: added, what grows, what it grew to, done; none inside another."""
    current: dict[str, Any] = {}
    grown = ""
    for name, data in events:
        if name == "response.output_item.added":
            assert not current or current["type"] in _BREAKABLE, "an item inside another"
            current, grown = data["item"], ""
        elif name.endswith(".delta"):
            assert data["item_id"] == current["id"]
            assert name.startswith(_ITEM_GROWS[current["type"]]), f"{name} in an item of {current['type']}"
            grown += data["delta"]
        elif name.endswith((".text.done", "_text.done", "arguments.done", "input.done")):
            whole = next(data[key] for key in ("text", "arguments", "input") if key in data)
            assert whole == grown, "the pieces are not the whole"
        elif name == "response.output_item.done":
            assert data["item"]["id"] == current["id"]
            current = {}


_STREAMED = {"chat": _chat_stream, "messages": _messages_stream, "responses": _responses_stream}


# Whole answers


def whole(wire: str, body: Any) -> Collected:
    return {"chat": chat_body, "messages": messages_body, "responses": responses_body}[wire](body)


def chat_body(body: Any) -> Collected:
    choice = body["choices"][0]
    message = choice["message"]
    calls = [(each.get("function") or each["custom"]) for each in message.get("tool_calls") or ()]
    named = [(call["name"], json.loads(call["arguments"]) if "arguments" in call else call["input"]) for call in calls]
    text, thoughts = message["content"] or "", message.get("reasoning_content") or ""
    return Collected(text, thoughts, named, choice["finish_reason"])


def messages_body(body: Any) -> Collected:
    content = body["content"]
    calls = [(block["name"], block["input"]) for block in content if block["type"] == "tool_use"]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    thoughts = "".join(block["thinking"] for block in content if block["type"] == "thinking")
    return Collected(text, thoughts, calls, body["stop_reason"])


def responses_body(body: Any) -> Collected:
    items = body["output"]
    text = "".join(part["text"] for item in items if item["type"] == "message" for part in item["content"])
    thoughts = "".join(part["text"] for item in items if item["type"] == "reasoning" for part in item["summary"])
    calls = [(item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"]
    calls += [(item["name"], item["input"]) for item in items if item["type"] == "custom_tool_call"]
    return Collected(text, thoughts, calls, body["status"])
