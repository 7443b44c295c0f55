"""One HTTP request from its body to the last byte of its answer.

    body --> understood --> encoded and checked --> its turn --> pieces --> bytes

An error before the first byte is an HTTP status with the wire's own body; after it, the wire's own error event: no
stream ends without its reason. A slow model must not look like a dead one: when nothing could be sent for some seconds,
the stream is begun, and a comment or ping is sent each time. A client that goes away ends everything at once, down to
the request upstream.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from joey.gateway.exchange import Exchange
from joey.gateway.http import ClientGoneError, HttpCall, Send, as_refusal, head, read_json, unless_gone
from joey.gateway.pieces import Piece
from joey.gateway.records import Records, RequestRecord
from joey.gateway.refusal import Refusal
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest
from joey.gateway.routing import Route
from joey.gateway.seal import Seal
from joey.gateway.upstream import estimate
from joey.gateway.wires.base import ReadingContext, Wire, WireWriter, encoded, new_id
from joey.providers import ModelRequest

_LOG = logging.getLogger("joey.gateway")


@dataclass(frozen=True, slots=True)
class _Pending:
    """One request that was understood, and who answers it."""

    request: ClientRequest
    route: Route
    exchange: Exchange
    writer: WireWriter
    record: RequestRecord


class WireEndpoint:
    """Answers requests over one wire."""

    def __init__(
        self,
        wire: Wire,
        *,
        find: Callable[[ClientRequest], Route],
        seal: Seal,
        replies: KeptReplies,
        records: Records,
        max_bytes: int,
        max_seconds: float,
        keep_alive: float,
    ) -> None:
        self._wire = wire
        self._find = find
        self._seal = seal
        self._replies = replies
        self._records = records
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._keep_alive = keep_alive

    async def __call__(self, call: HttpCall) -> None:
        record = self._records.open(self._wire.name, call.client)
        line = _Line(call.send)
        try:
            body = read_json(await call.body(self._max_bytes))
            work = self._work(body, call.headers, record, line)
            if await unless_gone(work, call.receive):
                self._records.close(record, "done")
            else:
                self._records.close(record, "gone", "the client went away")
        except ClientGoneError:
            self._records.close(record, "gone", "the client went away")
        except (Refusal, RecursionError) as error:
            refusal = as_refusal(error)
            self._records.close(record, "failed", refusal.message)
            await self._refuse(line, refusal)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, whatever happens
            # Never with the text of the error: it may hold words of a prompt.
            _LOG.error("a request over %s failed: %s", self._wire.name, type(error).__name__, exc_info=False)
            unexpected = Refusal("upstream", f"the gateway failed unexpectedly ({type(error).__name__})")
            self._records.close(record, "failed", unexpected.message)
            await self._refuse(line, unexpected)

    async def _work(self, body: Any, headers: dict[str, str], record: RequestRecord, line: _Line) -> None:
        request = self._wire.understood(body, ReadingContext(self._seal, self._replies, headers))
        route = self._find(request)
        upstream = route.upstream
        if not request.model:
            request = replace(request, model=upstream.name)
        record.describe(request, upstream.name, upstream.protocol.name)
        writer = self._wire.writer(request, self._replies)
        pending = _Pending(request, route, Exchange(upstream, self._seal), writer, record)
        answer = self._streamed if request.stream else self._whole
        try:
            async with asyncio.timeout(self._max_seconds):
                await answer(pending, line)
        except TimeoutError:
            raise Refusal("timeout", f"the model did not finish within {self._max_seconds:g} seconds") from None

    async def _whole(self, pending: _Pending, line: _Line) -> None:
        pieces: list[Piece] = []

        async def keep(piece: Piece) -> None:
            pieces.append(piece)

        await self._ask(pending, keep)
        await line.whole(200, pending.writer.body(pieces))

    async def _streamed(self, pending: _Pending, line: _Line) -> None:
        line.writer = writer = pending.writer

        async def send(piece: Piece) -> None:
            await line.write(lambda: writer.write(piece))

        beat = _Beat(self._keep_alive, line, lambda: _sign_of_life(pending.route, writer))
        try:
            await self._ask(pending, send)
        finally:
            beat.stop()
        await line.end()

    async def _ask(self, pending: _Pending, take: Callable[[Piece], Awaitable[None]]) -> None:
        request, route, exchange, record = pending.request, pending.route, pending.exchange, pending.record
        # What cannot be answered is refused before it has waited, and a stream that begins in line says how long it is.
        prepared: ModelRequest = exchange.encode(request)
        pending.writer.expected_input = estimate(prepared)
        prepared = await exchange.check(prepared)
        async with route.line.turn(record.client, route.wait_for):
            record.state = "answering"
            route.arrived()
            made = exchange.pieces(request, prepared, lambda: new_id(self._wire.call_prefix), record.outcome)
            try:
                async for piece in made:
                    record.add(piece)
                    await take(piece)
            finally:
                await made.aclose()

    async def _refuse(self, line: _Line, refusal: Refusal) -> None:
        with suppress(OSError):
            if line.started and (writer := line.writer) is not None:
                await line.write(lambda: writer.fail(refusal))
                await line.end()
            elif not line.started:
                wait = {} if refusal.retry_after is None else {"retry-after": f"{max(1, round(refusal.retry_after))}"}
                await line.whole(self._wire.status(refusal), self._wire.error(refusal), wait)


def _sign_of_life(route: Route, writer: WireWriter) -> bytes:
    place = route.place()
    return f": waiting, {place} in front\n\n".encode() if place else writer.keep_alive


class _Beat:
    """Shows that we are alive, whenever nothing was sent for a while. Until then it costs a timer."""

    def __init__(self, seconds: float, line: _Line, sign: Callable[[], bytes]) -> None:
        self._seconds = seconds
        self._line = line
        self._sign = sign
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._look)
        self._sending: asyncio.Task[None] | None = None

    def _look(self) -> None:
        left = self._line.last + self._seconds - time.monotonic()
        if left <= 0 and (self._sending is None or self._sending.done()):
            self._sending = self._loop.create_task(self._line.write(self._sign))
        self._timer = self._loop.call_later(left if left > 0 else self._seconds, self._look)

    def stop(self) -> None:
        self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()


class _Line:
    """The way back to the client. One thing is sent at a time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self.started = False
        self.last = time.monotonic()
        self.writer: WireWriter | None = None
        """Set for a stream: it begins with the first thing that is written."""

    async def write(self, make: Callable[[], bytes]) -> None:
        """Send what `make` makes, behind everything that was sent before: events of a stream are numbered."""
        async with self._lock:
            begun = b""
            if not self.started:
                assert self.writer is not None
                await self._send_head(200, _STREAM_HEADERS)
                begun = self.writer.begin()
            if data := begun + make():
                self.last = time.monotonic()
                await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def whole(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = encoded(body)
        given = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
        await self._send_head(status, given)
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def _send_head(self, status: int, headers: dict[str, str]) -> None:
        """An answer has started when its head was sent: whoever is given up before that gets another one."""
        await self._send(head(status, headers))
        self.started = True


_STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
