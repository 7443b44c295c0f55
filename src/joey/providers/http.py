"""A provider over HTTP: what all wire formats share between a request and its chunks.

    somebody sends ──bytes──► ReplyDecoder (events, JSON, bounds) ──► ReplyReader of the format ──chunks──►

Who sends is an official SDK (`sdk.py`), or for servers of this machine `plain_http.py`. The body is read by us, within
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
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from joey.chunks import Chunk
from joey.providers import errors
from joey.providers.base import ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.decoding.reader import ReplyReader
from joey.providers.limiter import limiter_for
from joey.system.hosts import host_of

TIMEOUT = 600.0
"""Seconds of silence after which a server is given up."""
_QUIET_TIMEOUTS = 3
"""So many times the timeout a server may send signs of life and nothing of the reply."""
_DRAIN_SECONDS = 0.1
"""How long the rest of a finished reply is read, so that its connection can be used again."""


class HttpResponse(Protocol):
    """An answer whose body is not read yet, and of an error whose body is: what is used of it."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def content(self) -> bytes: ...

    @property
    def text(self) -> str: ...

    def aiter_bytes(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class HttpErrors:
    """The exceptions of whoever sends: any of its own, a bad status (with its `response`), a connection that failed,
    and one that broke within the reply."""

    any: type[Exception]
    status: type[Exception]
    connection: type[Exception]
    broken: type[Exception]


def checked_key(key: str | None) -> str | None:
    """The key, if there is one, without the line end that was copied with it."""
    if not key:
        return None
    key = key.strip()
    if not key:
        raise errors.MissingKeyError("the API key is blank; set it, or leave it out")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise errors.AuthError("the API key has a character that no key has", advice="Copy the key again.")
    return key


class HttpProvider(Provider):
    """Replies over HTTP."""

    http_errors: ClassVar[HttpErrors]

    def __init__(
        self, abilities: Abilities | None = None, *, timeout: float = TIMEOUT, limits: ReplyLimits | None = None
    ) -> None:
        super().__init__(abilities)
        self._timeout = timeout
        self._limits = limits or ReplyLimits()

    @property
    @abstractmethod
    def _address(self) -> str:
        """Where the server is."""

    @property
    @abstractmethod
    def _key(self) -> str | None:
        """The key, which no error may show."""

    @abstractmethod
    async def _post(self, request: ModelRequest, abilities: Abilities) -> HttpResponse:
        """Send the request. The body of the answer is not read yet."""

    @abstractmethod
    def _reader(self) -> ReplyReader:
        """A reader for the next reply."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        try:
            async with aclosing(self._chunks(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except errors.ProviderError as error:
            error.from_host(host_of(self._address)).hiding(self._key)
            raise
        except (self.http_errors.any, self.http_errors.broken) as error:
            raise self._failure(error).hiding(self._key) from error

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        reader = self._reader()
        try:
            response = await self._in_turn(request)
        except self.http_errors.status as error:
            rescued = reader.rescue(_error_body(_response_of(error)))
            if not rescued:
                raise
            for chunk in rescued:
                yield chunk
            return
        decoder = ReplyDecoder(reader, self._limits)
        try:
            errors.refuse_page(response.headers.get("content-type"), self._address)
            async for chunk in self._decoded(decoder, response.aiter_bytes()):
                yield chunk
        except errors.ProviderError:
            if not decoder.is_complete:
                raise
            ending = decoder.end()
        except self.http_errors.broken as error:
            if not decoder.is_complete:
                raise errors.broken_off(error) from error
            ending = decoder.end()
        else:
            ending = decoder.finish()
        finally:
            await response.aclose()
        for chunk in ending:
            yield chunk

    async def _in_turn(self, request: ModelRequest) -> HttpResponse:
        """Send the request when the provider's limits allow it, and hear what the answer says of them."""
        limiter = limiter_for(self._address, str(self._key), request.model)
        async with limiter.turn(request.on_wait) as turn:
            try:
                async with asyncio.timeout(self._timeout * _QUIET_TIMEOUTS):
                    response = await self._post(request, self.abilities(request.model))
            except TimeoutError as error:
                raise self._nothing_but_signs() from error
            except self.http_errors.status as error:
                refused = _response_of(error)
                turn.hear(refused.status_code, refused.headers)
                raise
            turn.hear(response.status_code, response.headers)
        return response

    async def _decoded(self, decoder: ReplyDecoder, pieces: AsyncIterator[bytes]) -> AsyncIterator[Chunk]:
        heard, quiet = time.monotonic(), self._timeout * _QUIET_TIMEOUTS
        async for piece in pieces:
            for chunk in self._together(decoder.feed(piece)):
                heard = time.monotonic()
                yield chunk
            if decoder.is_over:
                await _drain(pieces, self.http_errors.broken)
                return
            if time.monotonic() - heard > quiet:
                raise self._nothing_but_signs()

    def _nothing_but_signs(self) -> errors.NetworkError:
        seconds = self._timeout * _QUIET_TIMEOUTS
        return errors.NetworkError(f"the server sent signs of life for {seconds:g} seconds, but nothing of the reply")

    def _together(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """The chunks of what came in one moment."""
        return chunks

    def _failure(self, error: Exception) -> errors.ProviderError:
        """The error for a request that got no reply."""
        if isinstance(error, self.http_errors.status):
            response = _response_of(error)
            body, headers = _error_body(response), response.headers
            if 300 <= response.status_code < 400 and headers.get("location"):
                return errors.redirected(self._address, headers["location"])
            failure = errors.from_body(body, status=response.status_code, headers=headers, now=time.time())
            return failure.from_host(host_of(self._address))
        if isinstance(error, (self.http_errors.connection, self.http_errors.broken)):
            return errors.unreachable(error, self._address)
        return errors.BadRequestError(f"the request could not be made ({error})")


async def _drain(pieces: AsyncIterator[bytes], broken: type[Exception]) -> None:
    """Read what is left of a finished reply, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, broken):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


def _response_of(error: Exception) -> HttpResponse:
    response = getattr(error, "response", None)
    assert response is not None, "a status error without its response"
    found: HttpResponse = response
    return found


def _error_body(response: HttpResponse) -> Any:
    """The body of an error: JSON if it is some, else its text."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return response.text.strip()
