"""A provider over HTTP through an official SDK: it makes the connection, signs the request, raises for a bad status."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

import httpx2

from joey.providers.base import CONNECT_TIMEOUT, ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding.body import Body
from joey.providers.http import HttpErrors, HttpProvider
from joey.system.hosts import host_of, is_this_machine


def errors_of(any_error: type[Exception], status: type[Exception], connection: type[Exception]) -> HttpErrors:
    """The exceptions of an SDK. Once it has handed over the body, they are those of its HTTP client."""
    return HttpErrors(any_error, status, connection, httpx2.HTTPError)


class SdkProvider(HttpProvider):
    """Replies over HTTP, through a client of an official SDK."""

    _client: Any
    """The SDK's client. A wire format makes it, with `_http_options`."""
    _stream_class: ClassVar[Any]
    """What the SDK makes of a stream, which it is not asked to read."""

    @abstractmethod
    async def _post(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        """Send the request. The body of the answer is not read yet."""

    @property
    def _address(self) -> str:
        return str(self._client.base_url)

    @property
    def _key(self) -> str | None:
        key: str | None = self._client.api_key
        return key

    async def _send(self, path: str, body: Body, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """Send a body as it is: the SDK copies what it is given, part by part, unless it is what goes over the wire.
        Its length makes it one that servers of every kind take; they need not know that it comes in pieces."""
        response: httpx2.Response = await self._client.post(
            path,
            cast_to=httpx2.Response,
            content=body,
            options={"headers": {"Content-Length": str(len(body)), **(headers or {})}},
            stream=True,
            stream_cls=self._stream_class,
        )
        return response

    def _http_options(self, base_url: str | None) -> dict[str, Any]:
        """Options for the SDK's HTTP client. A proxy cannot reach this machine's own servers, and text for them is
        nobody else's business."""
        return {
            "timeout": self._http_timeout,
            "trust_env": not is_this_machine(host_of(base_url or "")),
            "event_hooks": {"response": [self._bound_error]},
        }

    @property
    def _http_timeout(self) -> httpx2.Timeout:
        return httpx2.Timeout(self._timeout, connect=CONNECT_TIMEOUT)

    async def close(self) -> None:
        await self._client.close()

    async def _bound_error(self, response: httpx2.Response) -> None:
        """The SDKs read the body of an error whole, before anyone can say no."""
        if response.is_error and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Beginning(response.stream, self._limits.error, time.monotonic() + self._timeout)


class _Beginning(httpx2.AsyncByteStream):
    """A body, as far as it is read: so many bytes, and until a time."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, until: float) -> None:
        self._stream = stream
        self._limit = limit
        self._until = until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0 or time.monotonic() > self._until:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()
