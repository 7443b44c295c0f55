"""A provider over HTTP: what all wire formats share between a request and its chunks.

    the SDK sends ──bytes──► ReplyDecoder (events, JSON, bounds) ──► ReplyReader of the format ──chunks──►

The official SDKs make the connection, sign the request and raise for a bad status. The body is read by us, within
bounds: an SDK would keep an endless line, and builds objects of each piece that nobody needs. A format adds two
things: how a request is sent (`_post`), and a ReplyReader. When a reply is complete, nothing that goes wrong on the
connection matters any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx2

from joey.chunks import Chunk
from joey.providers import errors
from joey.providers.base import CONNECT_TIMEOUT, ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.decoding.reader import ReplyReader
from joey.providers.limiter import limiter_for
from joey.system.hosts import host_of, is_this_machine

TIMEOUT = 600.0
"""Seconds of silence after which a server is given up."""
_QUIET_TIMEOUTS = 3
"""So many times the timeout a server may send signs of life and nothing of the reply."""
_DRAIN_SECONDS = 0.1
"""How long the rest of a finished reply is read, so that its connection can be used again."""


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """The exceptions of an SDK: any of its own, a bad status, a connection that failed."""

    any: type[Exception]
    status: type[Exception]
    connection: type[Exception]


class HttpProvider(Provider):
    """Replies over HTTP, through a client of an official SDK."""

    sdk_errors: ClassVar[SdkErrors]
    _client: Any
    """The SDK's client. A wire format makes it, with `http_options`."""

    def __init__(
        self, abilities: Abilities | None = None, *, timeout: float = TIMEOUT, limits: ReplyLimits | None = None
    ) -> None:
        super().__init__(abilities)
        self._timeout = timeout
        self._limits = limits or ReplyLimits()

    @abstractmethod
    async def _post(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        """Send the request. The body of the answer is not read yet."""

    @abstractmethod
    def _reader(self) -> ReplyReader:
        """A reader for the next reply."""

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

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        try:
            async with aclosing(self._chunks(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except errors.ProviderError as error:
            error.hiding(self._client.api_key)
            raise
        except (self.sdk_errors.any, httpx2.HTTPError) as error:
            raise self._failure(error).hiding(self._client.api_key) from error

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        reader = self._reader()
        try:
            response = await self._in_turn(request)
        except self.sdk_errors.status as error:
            rescued = reader.rescue(_error_body(_response_of(error)))
            if not rescued:
                raise
            for chunk in rescued:
                yield chunk
            return
        decoder = ReplyDecoder(reader, self._limits)
        try:
            errors.refuse_page(response.headers.get("content-type"), str(self._client.base_url))
            async for chunk in self._decoded(decoder, response.aiter_bytes()):
                yield chunk
        except errors.ProviderError:
            if not decoder.is_complete:
                raise
            ending = decoder.end()
        except httpx2.HTTPError as error:
            if not decoder.is_complete:
                raise errors.broken_off(error) from error
            ending = decoder.end()
        else:
            ending = decoder.finish()
        finally:
            await response.aclose()
        for chunk in ending:
            yield chunk

    async def _in_turn(self, request: ModelRequest) -> httpx2.Response:
        """Send the request when the provider's limits allow it, and hear what the answer says of them."""
        limiter = limiter_for(str(self._client.base_url), str(self._client.api_key), request.model)
        async with limiter.turn(request.on_wait) as turn:
            try:
                response = await self._post(request, self.abilities(request.model))
            except self.sdk_errors.status as error:
                refused = _response_of(error)
                turn.hear(refused.status_code, refused.headers)
                raise
            turn.hear(response.status_code, response.headers)
        return response

    async def _decoded(self, decoder: ReplyDecoder, pieces: AsyncIterator[bytes]) -> AsyncIterator[Chunk]:
        heard, quiet = time.monotonic(), self._timeout * _QUIET_TIMEOUTS
        async for piece in pieces:
            for chunk in decoder.feed(piece):
                heard = time.monotonic()
                yield chunk
            if decoder.is_over:
                await _drain(pieces)
                return
            if time.monotonic() - heard > quiet:
                message = f"the server sent signs of life for {quiet:g} seconds, but nothing of the reply"
                raise errors.NetworkError(message)

    def _failure(self, error: Exception) -> errors.ProviderError:
        """The error for a request that got no reply."""
        if isinstance(error, self.sdk_errors.status):
            response = _response_of(error)
            body, headers = _error_body(response), response.headers
            return errors.from_body(body, status=response.status_code, headers=headers, now=time.time())
        if isinstance(error, (self.sdk_errors.connection, httpx2.HTTPError)):
            return errors.unreachable(error, str(self._client.base_url))
        return errors.BadRequestError(f"the request could not be made ({error})")

    async def _bound_error(self, response: httpx2.Response) -> None:
        """The SDKs read the body of an error whole, before anyone can say no."""
        if response.is_error and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Beginning(response.stream, self._limits.error, time.monotonic() + self._timeout)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what is left of a finished reply, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


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


def _response_of(error: Exception) -> httpx2.Response:
    response = getattr(error, "response", None)
    assert isinstance(response, httpx2.Response), "a status error without its response"
    return response


def _error_body(response: httpx2.Response) -> Any:
    """The body of an error: JSON if it is some, else its text."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return response.text.strip()
