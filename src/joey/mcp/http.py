"""The way to servers at an address: a client that sends the configured headers, and takes no message that is too long.

The limit is that of servers run here (stdio.py). It holds for one message: a whole answer, or one event of a stream,
which ends with an empty line. A stream may go on for as long as it likes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from joey.mcp.config import ServerConfig
from joey.mcp.errors import ErrorOutput
from joey.mcp.stdio import MAX_MESSAGE

_CONNECT_SECONDS = 30.0
_MAX_SIGNS = 2_000_000
"""Commas and opening brackets of a message, those in its texts included: as many values as there is memory for."""


_HINTS = {
    401: ": it wants to know who calls; sign in with `joey mcp login {name}`, or send a token in its headers",
    403: ": it does not let this caller in; look at the token in its headers",
    404: ": there is no server at this address",
}


def http_client(config: ServerConfig, words: ErrorOutput, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """`auth` signs the requests (joey.mcp.oauth). Reading has no limit in time: every request has one of its own, and a
    stream may be silent for hours."""

    async def looked_at(response: httpx2.Response) -> None:
        if response.is_error and response.request.method == "POST":
            hint = _HINTS.get(response.status_code, "").format(name=config.name)
            words.note(f"it answered HTTP {response.status_code}{hint}")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Limited(response.stream, words)

    return httpx2.AsyncClient(
        headers=dict(config.headers),
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        event_hooks={"response": [looked_at]},
    )


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, words: ErrorOutput) -> None:
        self._inner, self._words = inner, words

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, values, end = 0, 0, b""
        async for piece in self._inner:
            size += len(piece)
            values += sum(piece.count(sign) for sign in (b",", b"[", b"{"))
            if size > MAX_MESSAGE // 2 or values > _MAX_SIGNS // 2:  # only then is it worth looking where messages end
                last = max((end + piece).rfind(blank) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"))
                size, values = (len(end + piece) - last, 0) if last >= 0 else (size, values)
            if values > _MAX_SIGNS:
                self._words.note(f"cut off: it sent a message of more than {_MAX_SIGNS:,} values")
                raise httpx2.ReadError("the message has too many values")
            if size > MAX_MESSAGE:
                self._words.note(f"cut off: it sent a message of more than {MAX_MESSAGE // 1024 // 1024} MB")
                raise httpx2.ReadError("the message is too long")
            end = piece[-3:]
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
