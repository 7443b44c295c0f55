"""The connections of clients: uvicorn reads their HTTP; here is what it leaves open.

Writes of one moment go out together. A stream is many small events, and each write of its own is a system call here
and a wake-up of the client.

A client that does not finish its request is not waited for: the head of a request has to be complete after some
seconds, its body has to keep coming, and a head has a size. One that does not read its answer is given up, too: it
keeps a slot of the model from the others. Beyond a number of connections new ones are refused, so that those that are
there can be answered.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_CONNECTIONS = 1000
MAX_HEAD = 64 * 2**10
SLOW_SECONDS = 30.0
"""How long a client may take for the head of a request, and be silent within its body."""
STUCK_SECONDS = 120.0
"""How long a client may leave its answer unread."""
_TOGETHER = 64 * 2**10
_FULL = b'{"error": {"message": "too many connections; try again later", "type": "server_error", "code": "overloaded"}}'
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\n"
_LENGTH = b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(_FULL)
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class GatewayConnection(HttpToolsProtocol):
    """One connection of a client."""

    slow_seconds = SLOW_SECONDS
    stuck_seconds = STUCK_SECONDS
    max_connections = MAX_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(WritesTogether(transport, self.loop))
        self._in_head, self._in_body = True, False
        self._head_size = 0
        self._last = self.loop.time()
        self._watch = self.loop.call_later(self.slow_seconds, self._look)
        self._stuck: asyncio.TimerHandle | None = None
        if len(self.connections) > self.max_connections:
            self.transport.write(_REFUSAL + _LENGTH + _FULL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        self._forget_stuck()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._stuck = self.loop.call_later(self.stuck_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._forget_stuck()
        super().resume_writing()

    def _forget_stuck(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if not self._in_head or self._in_body:
            self._last = self.loop.time()
        super().data_received(data if self._in_body else _without_upgrade(data))
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._in_head, self._in_body = True, False
        self._head_size, self._last = 0, self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def _look(self) -> None:
        """Whether the client is too slow. One that waits for its answer is not, nor one that we do not read from."""
        is_reading = (self._in_head or self._in_body) and not self.flow.read_paused
        if is_reading and self.loop.time() - self._last >= self.slow_seconds:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(self.slow_seconds, self._look)


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

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)
