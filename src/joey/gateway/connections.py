"""The connections of clients: httptools reads their HTTP, and each request becomes a turn of the application.

    bytes --> httptools --> turns, one after another --> the application --> bytes

Writes of one moment go out together. A stream is many small events, and each write of its own is a system call here
and a wake-up of the client.

A client that does not finish its request is not waited for: the head of a request has to be complete after some
seconds, its body has to keep coming, and a head has a size. One that does not read its answer is given up, too: it
keeps a slot of the model from the others. Beyond a number of connections new ones are refused, so that those that are
there can be answered.

This does not use a framework's server, which would load much more at start-up: uvicorn loads a command line and process
managers, and costs a new gateway as much time as all that it needs itself.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools

from joey.gateway.http import AsgiApp, Scope
from joey.gateway.turns import HttpTurn, plain_answer

MAX_CONNECTIONS = 1000
MAX_HEAD = 64 * 2**10
SLOW_SECONDS = 30.0
"""How long a client may take for the head of a request, be silent within its body, and keep a connection unused."""
STUCK_SECONDS = 120.0
"""How long a client may leave its answer unread."""
_MAX_UNREAD = 64 * 2**10
"""Of a body; what is more stays with the client until the application takes it."""
_TOGETHER = 64 * 2**10
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class OpenConnections:
    """The connections of one server, and the turns that are being answered."""

    def __init__(self, application: AsgiApp) -> None:
        self.application = application
        self.connections: set[GatewayConnection] = set()
        self.tasks: set[asyncio.Task[None]] = set()


class GatewayConnection(asyncio.Protocol):
    """One connection of a client. The first of its turns is being answered, the others wait."""

    slow_seconds = SLOW_SECONDS
    stuck_seconds = STUCK_SECONDS
    max_connections = MAX_CONNECTIONS

    def __init__(self, opened: OpenConnections) -> None:
        self._opened = opened
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        # Otherwise a request behind one with `Connection: close` would take the answer of that one away.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._turns: deque[HttpTurn] = deque()
        self._unread_size = 0
        """Of what came since the parser last reported a head or a part of a body; trailers of a body count, too."""
        self._in_body = False
        self._last = self._loop.time()
        self._stuck: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_ending = False
        self._is_broken = False
        """Whether what came last is no request, and what follows it is not read."""

    # What the transport reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = WritesTogether(transport, self._loop)
        self._client = transport.get_extra_info("peername")
        self._watch = self._loop.call_later(self.slow_seconds, self._look)
        self._opened.connections.add(self)
        if len(self._opened.connections) > self.max_connections:
            self._refuse(503, "too many connections; try again later", "overloaded")

    def connection_lost(self, exc: Exception | None) -> None:
        self._opened.connections.discard(self)
        self._watch.cancel()
        self.resume_writing()
        for turn in self._turns:
            turn.disconnect()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._stuck = self._loop.call_later(self.stuck_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._writable.set()
        if self._stuck is not None:
            self._stuck.cancel()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._is_broken:
            return
        if self._in_body:
            self._last = self._loop.time()
        self._unread_size += len(data)
        try:
            self._parser.feed_data(data if self._in_body else _without_upgrade(data))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):  # the latter where its name came in two pieces
            self._refuse(400, "this is not a valid HTTP request")
            return
        if self._unread_size > MAX_HEAD:
            self._refuse(400, "the head of the request is too large")

    # What the parser reports

    def on_message_begin(self) -> None:
        self._last = self._loop.time()
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # a trailer must not become a part of the head, which may be judged already
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._unread_size = 0
        self._in_body = True
        version = self._parser.get_http_version()
        is_kept = version != "1.0" and self._parser.should_keep_alive() and not self._is_ending
        self._turns.append(HttpTurn(self, self._scope(version), is_kept=is_kept))
        if len(self._turns) == 1:
            self._begin()
        else:
            self.transport.pause_reading()

    def on_body(self, body: bytes) -> None:
        self._unread_size = 0
        if self._turns and self._turns[-1].add(body) > _MAX_UNREAD:
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        self._unread_size = 0
        self._in_body = False
        if self._turns:
            self._turns[-1].complete()

    def _scope(self, version: str) -> Scope:
        url = httptools.parse_url(self._url)
        raw = url.path or b"/"
        path = raw.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "scheme": "http",
            "method": self._parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw,
            "query_string": url.query or b"",
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": None,
        }

    # Turns

    def _begin(self) -> None:
        task = self._loop.create_task(self._turns[0].run(self._opened.application))
        self._opened.tasks.add(task)
        task.add_done_callback(self._opened.tasks.discard)

    def next_turn(self) -> None:
        """The first turn is answered."""
        done = self._turns.popleft()
        self._last = self._loop.time()
        if not done.is_kept or self._is_ending or (self._is_broken and not self._turns):
            self.transport.close()
        elif self._turns:
            self._begin()
        else:
            self.transport.resume_reading()

    async def can_write(self) -> None:
        await self._writable.wait()

    def end(self) -> None:
        """The server ends: this connection does, too, with the answer that is under way."""
        self._is_ending = True
        if not self._turns:
            self.transport.close()

    def _refuse(self, status: int, message: str, code: str = "invalid_request") -> None:
        """End the connection with a reason; behind whole requests, with the answers to those."""
        if len(self._turns) > int(self._in_body):
            if self._in_body:
                self._turns.pop()
            self._is_broken = True
            return
        is_answered = self._in_body and (not self._turns or self._turns[0].is_begun)
        if not is_answered:
            self.transport.write(plain_answer(status, message, code))
        self.transport.close()

    def _look(self) -> None:
        """Whether the client is too slow. One that waits for its answer is not, nor one that we do not read from."""
        is_reading = not self._turns or self._turns[0].is_waiting
        if is_reading and self._loop.time() - self._last >= self.slow_seconds:
            self.transport.abort()
        else:
            self._watch = self._loop.call_later(self.slow_seconds, self._look)


def _without_upgrade(data: bytes) -> bytes:
    """A request that would like another protocol is answered in this one, as it should be. httptools takes its body for
    the other protocol: Java's client, which wishes for HTTP/2 each time, would never get an answer."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-upgrade:", head) + end + rest if _UPGRADE.search(head) else data


class WritesTogether(asyncio.Transport):
    """A transport that hands on in one piece what is written in one turn of the event loop."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts:
            self._inner.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def abort(self) -> None:
        self._parts = []
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        if not self._inner.is_closing():
            self._inner.resume_reading()
