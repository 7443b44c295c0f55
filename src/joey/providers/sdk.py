"""A provider over HTTP through an official SDK: it makes the connection, signs the request, raises for a bad status."""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import httpx2

from joey.errors import UsageError
from joey.providers.base import CONNECT_TIMEOUT, ERROR_TIMEOUT, ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding.body import Body
from joey.providers.http import HttpErrors, HttpProvider, checked_key
from joey.system.hosts import host_of, is_this_machine

_VARIABLES = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"


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

    def _connect(self, sdk: Callable[..., Any], http: Callable[..., Any], base_url: str | None, **options: Any) -> None:
        """Make the SDK's client. What is wrong with the environment or the key is reported now, in words."""
        try:
            client = http(**self._http_options(base_url))
        except (ValueError, ImportError, OSError) as error:
            why = "a SOCKS proxy needs the package socksio" if isinstance(error, ImportError) else error
            raise UsageError(f"no connection can be set up ({why}); check the variables {_VARIABLES}") from error
        # Retrying is the caller's, who can show it.
        timeout = self._http_timeout
        self._client = sdk(base_url=base_url, http_client=client, max_retries=0, timeout=timeout, **options)
        for name in ("api_key", "auth_token"):
            if key := getattr(self._client, name, None):
                setattr(self._client, name, checked_key(key))

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
        nobody else's business; nor is the conversation that of an address to which a server redirects."""
        return {
            "timeout": self._http_timeout,
            "trust_env": not is_this_machine(host_of(base_url or "")),
            "follow_redirects": False,
            "event_hooks": {"response": [self._keep_error]},
        }

    @property
    def _http_timeout(self) -> httpx2.Timeout:
        return httpx2.Timeout(self._timeout, connect=CONNECT_TIMEOUT)

    async def close(self) -> None:
        await self._client.close()

    async def _keep_error(self, response: httpx2.Response) -> None:
        """Read the body of an error before the SDK does, which would read without end, and fail on one that is in
        another coding than its headers say, or ends early: what it says would be lost."""
        if not response.is_success:
            body = await self._beginning(response.stream)
            with contextlib.suppress(httpx2.DecodingError):
                body = httpx2.Response(200, headers=_coding(response), content=body).content
            response.headers.pop("content-encoding", None)
            response.stream = httpx2.ByteStream(body[: self._limits.error])
            response.encoding = "utf-8"

    async def _beginning(self, stream: Any) -> bytes:
        """A body, as far as it is read: so many bytes, for a time, and until it breaks."""
        body = b""
        with contextlib.suppress(httpx2.HTTPError, TimeoutError):
            async with asyncio.timeout(ERROR_TIMEOUT):
                async for piece in stream:
                    body += piece
                    if len(body) >= self._limits.error:
                        break
        await stream.aclose()
        return body


def _coding(response: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name == "content-encoding"}
