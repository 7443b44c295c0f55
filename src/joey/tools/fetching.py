"""One page over HTTP, within bounds, from nowhere but where it was allowed to come from.

A name is looked up once, here, and the connection goes to the address that was judged: a name that leads to this
machine or into a private network goes nowhere, unless that very address is allowed (`may_fetch`). Redirects within a
host are followed; to another host only if that is allowed, too. Nothing is sent but the request: no cookies, no keys.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpcore2

from joey.sandbox.proxy import is_public, resolve
from joey.system.hosts import host_of, is_loopback, is_this_machine

MAX_BYTES = 5_000_000
SECONDS = 30.0
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": "joey (coding agent)",
    "Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, identity",
}


class FetchError(Exception):
    """Why there is no page, in words for the model."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What a server sent. `cut`: it was more than is read."""

    url: str
    status: int
    content_type: str
    body: bytes
    cut: bool = False

    @property
    def text(self) -> str:
        _, _, charset = self.content_type.partition("charset=")
        try:
            return self.body.decode(charset.split(";")[0].strip("\"' ") or "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches pages for one call. `may_fetch` decides about addresses and hosts that were not judged with it."""

    may_fetch: Callable[[str], bool]
    resolve: Callable[[str, int], Awaitable[Sequence[str]]] = resolve

    async def fetch(self, url: str) -> FetchedPage:
        """The page at an address that may be fetched from. Raises FetchError."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._followed(url)
        except TimeoutError:
            raise FetchError(f"{url} did not answer within {SECONDS:g} s") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol, OSError) as error:
            raise FetchError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from None

    async def _followed(self, url: str) -> FetchedPage:
        for _ in range(_MAX_REDIRECTS + 1):
            page, target = await self._one(url)
            if target is None:
                return page
            following = urljoin(url, target)
            if host_of(following) != host_of(url) and not self.may_fetch(following):
                raise FetchError(
                    f"{url} redirects to {following}, which needs approval; call web_fetch with that address"
                )
            url = following
        raise FetchError(f"{url} redirects again and again")

    async def _one(self, url: str) -> tuple[FetchedPage, str | None]:
        if not host_of(url):
            raise FetchError(f"{url} is no http or https address")
        backend = _JudgedBackend(self, host_of(url))
        context = ssl.create_default_context()
        async with (
            httpcore2.AsyncConnectionPool(ssl_context=context, network_backend=backend) as pool,
            pool.stream("GET", _plain(url), headers=list(_HEADERS.items())) as response,
        ):
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            location = headers.get("location") if response.status in _REDIRECTS else None
            body, cut = (b"", False) if location else await _read(response, headers.get("content-encoding", ""))
        return FetchedPage(url, response.status, headers.get("content-type", "text/plain"), body, cut), location

    async def address(self, host: str, port: int, judged: str) -> str:
        """Where to connect to. Raises FetchError for a place that was not judged."""
        addresses = await self.resolve(host, port)
        if not addresses:
            raise FetchError(f"there is no host {host}")
        for address in addresses:
            here = is_this_machine(judged) and is_loopback(address)
            if not (is_public(address) or here or address == judged or self.may_fetch(_url_of(address))):
                raise FetchError(
                    f"{host} leads to {address}, which is this machine or a private network and was not approved; if "
                    f"the user wants it, call web_fetch with {_url_of(address)}"
                )
        return addresses[0]


class _JudgedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the address that was judged, and to no other."""

    def __init__(self, fetcher: Fetcher, judged: str) -> None:
        self._fetcher = fetcher
        self._judged = judged
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own name
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        address = await self._fetcher.address(host, port, self._judged)
        return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)


async def _read(response: httpcore2.Response, encoding: str) -> tuple[bytes, bool]:
    """The body, unpacked if need be, and whether there was more of it."""
    unpack = zlib.decompressobj(47) if "gzip" in encoding or "deflate" in encoding else None
    body = bytearray()
    async with aclosing(response.aiter_stream()) as pieces:
        async for piece in pieces:
            try:
                body += unpack.decompress(piece, MAX_BYTES + 1 - len(body)) if unpack else piece
            except zlib.error as error:
                raise FetchError(f"its body cannot be unpacked: {error}") from None
            if len(body) > MAX_BYTES:
                return bytes(body[:MAX_BYTES]), True
    return bytes(body), False


def _plain(url: str) -> str:
    """The address without its fragment, and every character as it may stand in a request."""
    parts = urlsplit(url)._replace(fragment="")
    return quote(parts.geturl(), safe="%/:?#[]@!$&'()*+,;=~-._")


def _url_of(address: str) -> str:
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"
