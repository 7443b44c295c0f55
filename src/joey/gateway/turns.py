"""One request over a connection and its answer: what ASGI calls scope, receive and send.

    head --> body in parts (receive) --> head of the answer --> its body in parts (send) --> the next turn

An answer without a length goes out in chunks; for a client of HTTP 1.0, which knows none, it ends with the connection.
An application that fails has its client told, in words of both APIs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Protocol

from joey.gateway.http import AsgiApp, AsgiMessage, Scope

_LOG = logging.getLogger("joey.gateway")
_PHRASES = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    413: b"Content Too Large",
    429: b"Too Many Requests",
    500: b"Internal Server Error",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
    529: b"Overloaded",
}
"""Those that are answered here; `http` is not loaded for them, and does not know the last, which is Anthropic's."""


class _Transport(Protocol):
    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...
    def resume_reading(self) -> None: ...


class ClientConnection(Protocol):
    """What a turn needs of its connection."""

    @property
    def transport(self) -> _Transport: ...

    async def can_write(self) -> None: ...
    def next_turn(self) -> None: ...


class HttpTurn:
    """One request and its answer. `is_kept` says whether the connection is used again behind it."""

    def __init__(self, connection: ClientConnection, scope: Scope, *, is_kept: bool) -> None:
        self._connection = connection
        self._scope = scope
        self.is_kept = is_kept
        self._wants_continue = any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"]
        )
        self._parts: list[bytes] = []
        self._size = 0
        self._has_more = True
        self._news = asyncio.Event()
        self._is_gone = False
        self.is_begun = self._is_done = False
        self._is_chunked = False

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to send something now."""
        return self._has_more and not self._parts

    def add(self, part: bytes) -> int:
        """Take a part of the body; returns how much of it nobody has read yet."""
        if not self._is_done:
            self._parts.append(part)
            self._size += len(part)
            self._news.set()
        return self._size

    def complete(self) -> None:
        self._has_more = False
        self._news.set()

    def disconnect(self) -> None:
        """The client is gone."""
        self._is_gone = True
        self._news.set()

    async def run(self, application: AsgiApp) -> None:
        try:
            await application(self._scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, whatever happens
            # Never with the text of the error: it may hold words of a prompt.
            _LOG.error("a request failed: %s", type(error).__name__)
        if not self.is_begun and not self._is_gone:
            self._connection.transport.write(plain_answer(500, "the gateway failed unexpectedly", "server_error"))
        if not self._is_done:
            self._connection.transport.close()

    async def _receive(self) -> AsgiMessage:
        if self._wants_continue and not self._is_gone:
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._wants_continue = False
        if not self._is_gone and not self._is_done:
            self._connection.transport.resume_reading()
            await self._news.wait()
            self._news.clear()
        if self._is_gone or self._is_done:
            return {"type": "http.disconnect"}
        body, self._parts, self._size = b"".join(self._parts), [], 0
        return {"type": "http.request", "body": body, "more_body": self._has_more}

    async def _send(self, message: AsgiMessage) -> None:
        await self._connection.can_write()
        if self._is_gone or self._is_done:
            return
        if message["type"] == "http.response.start":
            self._connection.transport.write(self._head(message))
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._scope["method"] != "HEAD":
            self._connection.transport.write(_chunk(body, is_last=is_last) if self._is_chunked else body)
        if is_last:
            self._is_done = True
            self._news.set()
            self._connection.next_turn()

    def _head(self, message: AsgiMessage) -> bytes:
        if self._wants_continue and self._has_more:
            self.is_kept = False  # whether the body comes now or the next request, is for the client to choose
        self.is_begun, self._wants_continue = True, False
        lines = [name + b": " + value for name, value in message["headers"]]
        has_length = any(name == b"content-length" for name, _ in message["headers"])
        self._is_chunked = not has_length and self._scope["http_version"] != "1.0"
        if self._is_chunked:
            lines.append(b"transfer-encoding: chunked")
        if not self.is_kept:
            lines.append(b"connection: close")
        return _head(message["status"], lines)


def _chunk(body: bytes, *, is_last: bool) -> bytes:
    data = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return data + b"0\r\n\r\n" if is_last else data


def _head(status: int, lines: list[bytes]) -> bytes:
    first = b"HTTP/1.1 %d %s" % (status, _PHRASES.get(status, b""))
    now = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
    return b"\r\n".join([first, b"date: " + now.encode(), *lines, b"", b""])


def plain_answer(status: int, message: str, code: str) -> bytes:
    """An error outside of any API, in words that clients of each can read; the connection ends with it."""
    kind = "invalid_request_error" if status == 400 else "server_error"
    error = {"type": kind, "message": message, "param": None, "code": code}
    body = json.dumps({"type": "error", "error": error}).encode()
    wait = [b"retry-after: 5"] if status == 503 else []
    length = b"content-length: %d" % len(body)
    return _head(status, [b"content-type: application/json", length, b"connection: close", *wait]) + body
