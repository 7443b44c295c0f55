"""Clients of the gateway's three wires: over a socket, and with a reading of the answer that is nobody else's.

What a client would take for a call is looked at as the least careful client would: arguments that are whole JSON are a
call, whether the answer came to its end or not.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from chaos.upstream import SCHEMA, TOOL

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
LENGTH = {"chat": "length", "responses": "incomplete", "messages": "max_tokens"}
"""How each wire says that a reply was too long."""
Call: TypeAlias = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class Heard:
    """What a client got. Either of `stop` and `error` is the reason why an answer ended; `problems` is what is against
    the wire's own rules."""

    raw: bytes = b""
    status: int = 0
    complete: bool = False
    """Whether the HTTP answer came to its end."""
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    stop: str = ""
    error: str = ""
    problems: list[str] = field(default_factory=list)


def request_body(wire: str, words: str, *, stream: bool) -> bytes:
    described = {"name": TOOL, "description": "Save a text."}
    common: dict[str, Any] = {"model": "m", "stream": stream}
    if wire == "responses":
        tools: list[Any] = [{"type": "function", **described, "parameters": SCHEMA}]
        return json.dumps({**common, "input": words, "tools": tools}).encode()
    messages = [{"role": "user", "content": words}]
    if wire == "messages":
        tools = [{**described, "input_schema": SCHEMA}]
        return json.dumps({**common, "messages": messages, "tools": tools, "max_tokens": 4000}).encode()
    tools = [{"type": "function", "function": {**described, "parameters": SCHEMA}}]
    return json.dumps({**common, "messages": messages, "tools": tools}).encode()


class Connection:
    """A connection of one client's, kept for its next request where the gateway keeps it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, heard: Heard, wire: str, words: str, *, stream: bool) -> None:
        """Hear the answer, as far as it comes. Cancelled, the client goes away."""
        request = _request(wire, words, stream=stream)
        was_used = self._streams is not None
        try:
            await self._exchange(heard, request)
            if was_used and not heard.status:  # it was closed in the moment it was used again
                await self._exchange(heard, request)
        except asyncio.CancelledError:
            self.close()
            raise

    async def _exchange(self, heard: Heard, request: bytes) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
            self._streams[1].write(request)
            await _read_answer(self._streams[0], heard)
        if not heard.complete:
            self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def _request(wire: str, words: str, *, stream: bool) -> bytes:
    body = request_body(wire, words, stream=stream)
    head = f"POST {PATHS[wire]} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _read_answer(reader: asyncio.StreamReader, heard: Heard) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    heard.status = int(head.split(" ")[1])
    if "transfer-encoding: chunked" in head:
        while size := int((await reader.readuntil(b"\r\n")), 16):
            heard.raw += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    else:
        found = re.search(r"\r\ncontent-length: *(\d+)", head)
        heard.raw = await reader.readexactly(int(found[1]) if found else 0)
    heard.complete = True


# What was said


def read(wire: str, heard: Heard) -> Heard:
    """Read the body of an answer, as far as it came."""
    if heard.status == 200 and not heard.raw.lstrip().startswith(b"{"):
        events = [*_events(heard)]
        {"chat": _chat_stream, "responses": _responses_stream, "messages": _messages_stream}[wire](events, heard)
    elif heard.status and heard.complete:
        try:
            body = json.loads(heard.raw)
            _whole(wire, body, heard) if heard.status == 200 else _refusal(wire, body, heard)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            heard.problems.append(
                f"status {heard.status} with a body of another shape ({error!r}): {heard.raw[:200]!r}"
            )
    return heard


def _refusal(wire: str, body: Any, heard: Heard) -> None:
    if wire == "messages" and body["type"] != "error":
        heard.problems.append("an error that does not say that it is one")
    _fail(heard, body["error"])


def _fail(heard: Heard, error: Any) -> None:
    """An error has words, and a word for programs."""
    if not isinstance(error["message"], str) or not isinstance(error.get("type") or error.get("code"), str):
        heard.problems.append(f"an error of another shape: {error}")
    heard.error = str(error["message"]) or "no words"


def _events(heard: Heard) -> Iterator[Any]:
    """The events that came whole, `[DONE]` as it is."""
    for block in heard.raw.decode(errors="replace").split("\n\n")[:-1]:
        for line in block.split("\n"):
            if not line.startswith("data: "):
                continue
            if line == "data: [DONE]":
                yield "[DONE]"
                continue
            try:
                yield json.loads(line[6:])
            except ValueError:
                heard.problems.append(f"an event that is no JSON: {line[:100]!r}")


def _taken(name: Any, written: str) -> Iterator[Call]:
    with suppress(ValueError):
        arguments = json.loads(written)
        if isinstance(arguments, dict):
            yield str(name), arguments


def _chat_stream(events: list[Any], heard: Heard) -> None:
    calls: dict[int, list[str]] = {}
    for event in events:
        if event == "[DONE]":
            continue
        if "error" in event:
            _fail(heard, event["error"])
            continue
        for choice in event["choices"]:
            heard.text += choice["delta"].get("content") or ""
            heard.stop = choice["finish_reason"] or heard.stop
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(piece["index"], ["", ""])
                call[0] = piece["function"].get("name") or call[0]
                call[1] += piece["function"].get("arguments") or ""
    heard.calls = [call for name, written in calls.values() for call in _taken(name, written)]
    if heard.complete and events[-1:] != ["[DONE]"]:
        heard.problems.append("the stream does not end with [DONE]")


def _messages_stream(events: list[Any], heard: Heard) -> None:
    blocks: list[list[Any]] = []
    for event in events:
        match event["type"]:
            case "error":
                _fail(heard, event["error"])
            case "content_block_start":
                blocks.append([event["content_block"], ""])
            case "content_block_delta":
                delta = event["delta"]
                blocks[-1][1] += delta.get("text") or delta.get("partial_json") or ""
            case "message_delta":
                heard.stop = event["delta"]["stop_reason"]
    if heard.complete and events and events[-1]["type"] not in ("message_stop", "error"):
        heard.problems.append("the stream does not end with message_stop or an error")
    heard.text = "".join(written for block, written in blocks if block["type"] == "text")
    is_call = heard.stop == "tool_use"
    found = [(block["name"], written) for block, written in blocks if block["type"] == "tool_use"]
    heard.calls = [call for name, written in found for call in _taken(name, written or "{}" * is_call)]


def _responses_stream(events: list[Any], heard: Heard) -> None:
    written: dict[str, list[str]] = {}
    for number, event in enumerate(events):
        if event["sequence_number"] != number:
            heard.problems.append("events are not numbered one after the other")
        match event["type"]:
            case "response.output_text.delta":
                heard.text += event["delta"]
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                written[event["item"]["id"]] = [event["item"]["name"], ""]
            case "response.function_call_arguments.delta":
                written[event["item_id"]][1] += event["delta"]
            case "response.failed":
                _fail(heard, event["response"]["error"])
                heard.calls += _calls_in(event["response"]["output"])
            case "response.completed" | "response.incomplete":
                heard.stop = event["response"]["status"]
                heard.calls += _calls_in(event["response"]["output"])
    streamed = [call for name, arguments in written.values() for call in _taken(name, arguments)]
    if heard.stop and streamed != heard.calls:
        heard.problems.append("the calls of the end are not those that were streamed")
    heard.calls = heard.calls or streamed


def _calls_in(output: Iterable[Any]) -> Iterator[Call]:
    for item in output:
        if item["type"] == "function_call":
            yield from _taken(item["name"], item["arguments"])


def _whole(wire: str, body: Any, heard: Heard) -> None:
    if wire == "chat":
        choice = body["choices"][0]
        heard.text, heard.stop = choice["message"]["content"] or "", choice["finish_reason"]
        called = [each["function"] for each in choice["message"].get("tool_calls") or ()]
        heard.calls = [call for each in called for call in _taken(each["name"], each["arguments"])]
    elif wire == "messages":
        heard.text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
        heard.stop = body["stop_reason"]
        heard.calls = [(block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use"]
    else:
        messages = [item for item in body["output"] if item["type"] == "message"]
        heard.text = "".join(part["text"] for item in messages for part in item["content"])
        heard.stop, heard.calls = body["status"], [*_calls_in(body["output"])]
        if body["status"] == "failed":
            _fail(heard, body["error"])
