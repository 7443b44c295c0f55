"""A local HTTP server that plays a script in any of our wire formats, and misbehaves on demand.

    async with LocalServer([reply("Hello")]) as server:
        provider, model = joey.providers.open_model("openai/any", base_url=server.openai_url)

POST /v1/chat/completions is answered as OpenAI would, POST /v1/messages as Anthropic would, streamed if the request
says so. It is made of asyncio alone: what it must do best is to break a connection in the middle of a byte stream,
and that is what servers are written to prevent. It speaks as much HTTP/1.1 as the SDK clients need: a body with
Content-Length in, a chunked stream or a body with Content-Length out, and connections that are kept open.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from joey.testing.script import Failure, Faults, RawAnswer, Recording, Script, Scripted, ScriptedReply
from joey.testing.wire_formats import FORMATS, WireEvent, WireFormat

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request that came: where to, its headers in lower case, and its body."""

    path: str
    headers: Mapping[str, str]
    body: Any


Responder: TypeAlias = Callable[[ReceivedRequest], Scripted]


class _CutError(Exception):
    """The script says that the connection breaks here."""


class LocalServer:
    """Serves on a free port of 127.0.0.1 between `async with` and its end. `requests` are those that came.

    `answers` are given one for each request; a function makes one for each. `pages` are JSON that it answers with at
    other paths, such as `/props`.
    """

    def __init__(
        self, answers: Iterable[Scripted] | Responder, *, port: int = 0, pages: Mapping[str, Any] | None = None
    ) -> None:
        self._pages = pages or {}
        self._answer: Responder = answers if callable(answers) else _in_order(answers)
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[ReceivedRequest] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def anthropic_url(self) -> str:
        return self.url

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (request := await _read_request(reader)) is not None:
                await self._respond(request, writer)
        except _CutError:
            pass  # closing sends what was written and no more: the client sees exactly the events before the cut
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client left, or the server is closing; a cancelled handler would be reported as an error.
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _respond(self, request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        if request.path in self._pages:
            await _send_json(writer, 200, self._pages[request.path])
            return
        self.requests.append(request)
        wire = FORMATS.get(request.path)
        if wire is None:
            message = f"there is no {request.path} here, only {', '.join(FORMATS)}"
            await _send_json(writer, 404, {"error": {"type": "not_found_error", "message": message}})
            return
        if not isinstance(request.body, dict):
            message = "the body of a request is a JSON object"
            await _send_json(writer, 400, {"error": {"type": "invalid_request_error", "message": message}})
            return
        answer = self._answer(request)
        if isinstance(answer, Failure):
            await _fail(writer, wire, answer)
        elif isinstance(answer, Recording):
            await _play_recording(writer, answer)
        elif isinstance(answer, RawAnswer):
            await _play_raw(writer, answer)
        else:
            await _reply(writer, wire, request.body, answer)


def _in_order(answers: Iterable[Scripted]) -> Responder:
    script = Script(answers)
    return lambda _: script.next()


# Answers


async def _fail(writer: asyncio.StreamWriter, wire: WireFormat, failure: Failure) -> None:
    wait = {} if failure.retry_after is None else {"Retry-After": f"{failure.retry_after:g}"}
    await _send_json(writer, failure.status, wire.error(failure), {**failure.headers, **wait})


async def _reply(
    writer: asyncio.StreamWriter, wire: WireFormat, body: Mapping[str, Any], answer: ScriptedReply
) -> None:
    await asyncio.sleep(answer.faults.latency)
    model = str(body.get("model", ""))
    if not body.get("stream"):
        cut = answer.faults.cut_after is not None
        await _send_json(writer, 200, wire.body(answer.chunks, model), answer.headers, cut=cut)
        return
    events = _faulty(wire.events(answer.chunks, model), answer.faults, wire.error_event)
    await _send_stream(writer, events, answer.faults, answer.headers)


async def _play_recording(writer: asyncio.StreamWriter, recording: Recording) -> None:
    if recording.status != 200:
        await _send_json(writer, recording.status, json.loads("\n".join(recording.lines)))
        return

    async def events() -> AsyncIterator[str]:
        for line in recording.lines:
            yield f"{line}\n"
        if recording.aborted:
            raise _CutError

    await _send_stream(writer, events(), Faults())


async def _play_raw(writer: asyncio.StreamWriter, answer: RawAnswer) -> None:
    writer.write(_head(answer.status, {"Content-Type": answer.content_type, "Transfer-Encoding": "chunked"}))
    repeated = itertools.repeat(answer.pieces[-1]) if answer.endless else ()
    for piece in filter(None, itertools.chain(answer.pieces, repeated)):  # an empty chunk would end the body
        await _at_once(writer, piece)
        if answer.pause:
            await asyncio.sleep(answer.pause)
    await _at_once(writer, b"")


async def _faulty(
    events: Iterator[WireEvent],
    faults: Faults,
    error: Callable[[Failure], WireEvent],
) -> AsyncIterator[str]:
    for number, (name, data) in enumerate(events):
        if number == faults.cut_after:
            if faults.breaks_with is not None:
                yield _sse(*error(faults.breaks_with))
            raise _CutError
        if number == faults.silent_after:
            await asyncio.Event().wait()
        yield _sse(name, "{this is not JSON" if number == faults.malformed_at else data)
        if faults.pause:
            await asyncio.sleep(faults.pause)
    if faults.cut_after is not None:
        raise _CutError


def _sse(name: str | None, data: str) -> str:
    heading = "" if name is None else f"event: {name}\n"
    return f"{heading}data: {data}\n\n"


# HTTP


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    """The next request on this connection; None when the client has left."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    payload = await reader.readexactly(int(headers.get("content-length", "0")))
    path = first.split(" ")[1].partition("?")[0]
    return ReceivedRequest(path, headers, _json_or_none(payload))


def _json_or_none(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except ValueError:
        return None


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _send_json(
    writer: asyncio.StreamWriter,
    status: int,
    body: Any,
    headers: Mapping[str, str] | None = None,
    *,
    cut: bool = False,
) -> None:
    payload = json.dumps(body).encode()
    standard = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
    writer.write(_head(status, {**standard, **(headers or {})}) + (payload[: len(payload) // 2] if cut else payload))
    await writer.drain()
    if cut:
        raise _CutError


async def _send_stream(
    writer: asyncio.StreamWriter, events: AsyncIterator[str], faults: Faults, headers: Mapping[str, str] | None = None
) -> None:
    standard = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
    writer.write(_head(200, {**standard, **(headers or {})}))
    send: Callable[[asyncio.StreamWriter, bytes], Awaitable[None]] = _by_byte if faults.by_character else _at_once
    async for text in events:
        await send(writer, text.encode())
    await _at_once(writer, b"")


async def _at_once(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One HTTP chunk; an empty one ends the stream."""
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def _by_byte(writer: asyncio.StreamWriter, data: bytes) -> None:
    for position in range(len(data)):
        await _at_once(writer, data[position : position + 1])
        await asyncio.sleep(0)
