"""Signing in to MCP servers: OAuth 2.1 in the browser, by the official SDK; tokens live in the system's keyring.

`joey mcp login NAME` connects to the server, which says where to sign in; the browser opens there, and comes back to a
port of this machine that is open just for that. Afterwards every task uses the stored tokens, and has them refreshed. A
task itself never opens a browser: where tokens are missing or refused, it says which command to run. What was stored
before is replaced only by a sign-in that succeeded.

Tokens belong to an address, not to a name: a project that names a server like one of the user's gets nothing of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Container
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from joey.errors import JoeyError
from joey.mcp.config import ServerConfig
from joey.system.keyring import delete_key, find_key, keyring_program, store_key

ModelT = TypeVar("ModelT", bound=BaseModel)
_TIMEOUT = 300.0
_MAX_REQUEST = 16_384
_ATTEMPTS = 3
_LONG_AGO = 1.0
_EXPIRED = "its sign-in has expired; run `joey mcp login {name}`"
_PAGE = "<!doctype html><title>Joey</title><p>{words} You can close this window."


class LoginError(JoeyError):
    """Why there is no sign-in."""


def stored_under(url: str) -> str:
    """The name in the keyring of what belongs to an address."""
    return f"JOEY_MCP_{hashlib.sha256(url.encode()).hexdigest()[:24].upper()}"


@dataclass(slots=True)
class KeyringTokens:
    """The tokens for one address, and the client that they were given to. `fresh`: a new sign-in, which does not read
    what is stored, and stores nothing before it has tokens: until then, the sign-in before it holds."""

    url: str
    fresh: bool = False
    _known: dict[str, Any] = field(default_factory=dict)

    async def get_tokens(self) -> OAuthToken | None:
        return _parsed(OAuthToken, (await self._all()).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        ends = None if tokens.expires_in is None else time.time() + tokens.expires_in
        await self._keep(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=ends)

    async def keep_places(self, context: OAuthContext) -> None:
        """Remember where tokens are refreshed, which is found out by signing in alone."""
        found = {"server": context.oauth_metadata, "resource": context.protected_resource_metadata}
        await self._keep(**{
            name: each.model_dump(mode="json", exclude_none=True) for name, each in found.items() if each is not None
        })  # fmt: skip

    async def restore(self, context: OAuthContext) -> None:
        """What is stored now, which another process may have refreshed, with what the SDK does not remember by itself:
        when the token ends, and where it is refreshed."""
        self._known = {}
        known = await self._all()
        context.current_tokens, context.client_info = await self.get_tokens(), await self.get_client_info()
        ends = known.get("expires_at")
        context.token_expiry_time = ends if isinstance(ends, (int, float)) else None
        context.oauth_metadata = _parsed(OAuthMetadata, known.get("server"))
        context.protected_resource_metadata = _parsed(ProtectedResourceMetadata, known.get("resource"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _parsed(OAuthClientInformationFull, (await self._all()).get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._keep(client=client_info.model_dump(mode="json", exclude_none=True))

    async def _all(self) -> dict[str, Any]:
        if not self._known and not self.fresh:
            self._known = await asyncio.to_thread(_stored, self.url)
        return self._known

    async def _keep(self, **more: Any) -> None:
        self._known = {**await self._all(), **more}
        if self.fresh and "tokens" not in self._known:
            return
        if not await asyncio.to_thread(store_key, stored_under(self.url), json.dumps(self._known)):
            raise LoginError("the tokens cannot be kept: the keyring refused them; `joey doctor` says what it is")


def _stored(url: str) -> dict[str, Any]:
    found = find_key(stored_under(url))
    try:
        data = json.loads(found.value) if found else {}
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _parsed(kind: type[ModelT], value: object) -> ModelT | None:
    try:
        return kind.model_validate(value) if value is not None else None
    except ValidationError:
        return None


def is_signed_in(url: str) -> bool:
    """Whether there are tokens for an address."""
    return _parsed(OAuthToken, _stored(url).get("tokens")) is not None


def sign_out(url: str) -> bool:
    """Forget the tokens for an address; False if there were none."""
    return delete_key(stored_under(url))


async def stored_auth(config: ServerConfig, note: Callable[[str], None]) -> StoredAuth | None:
    """What signs the requests of a task; None for a server that nobody signed in to, or that has a token of its own.
    `note` is called when the sign-in has expired."""
    if any(name.lower() == "authorization" for name, _ in config.headers):
        return None
    storage = KeyringTokens(config.url)
    if await storage.get_tokens() is None:
        return None

    async def refuse(*_: Any) -> Any:
        raise OAuthFlowError(_EXPIRED.format(name=config.name))

    provider = OAuthClientProvider(config.url, _metadata("http://127.0.0.1/callback"), storage, refuse, refuse)
    await storage.restore(provider.context)
    return StoredAuth(config.name, provider, storage, note)


@dataclass(slots=True)
class StoredAuth(httpx2.Auth):
    """Signs requests with stored tokens, and never begins a sign-in.

    A token that is over, or that the server refuses before its time, is replaced by what the keyring holds by now,
    since another Joey may have refreshed it (a refresh token is often good for one use), and else refreshed. The SDK
    refreshes only what has expired by its clock, and begins a sign-in at every 401: so it does not get to see that one.
    """

    name: str
    provider: OAuthClientProvider
    storage: KeyringTokens
    note: Callable[[str], None]
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    """As in the SDK, a request waits until the one before it has its status: two must not refresh one token."""

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with self._one_at_a_time:
            if not self.provider.context.is_token_valid():
                await self.storage.restore(self.provider.context)
            refreshed = set[str]()
            for _ in range(_ATTEMPTS):
                refreshed |= self._expired()
                async with aclosing(self.provider.async_auth_flow(request)) as flow:
                    sent = await anext(flow)
                    while (response := (yield sent)).status_code != 401 or sent is not request:
                        try:
                            sent = await flow.asend(response)
                        except StopAsyncIteration:
                            return
                if not await self._renewable(request, refreshed):
                    break
        self.note(_EXPIRED.format(name=self.name))
        raise OAuthFlowError(_EXPIRED.format(name=self.name))

    def _expired(self) -> set[str]:
        """The token that the SDK is going to refresh, if any."""
        context = self.provider.context
        if context.current_tokens is None or context.is_token_valid():
            return set()
        return {context.current_tokens.access_token}

    async def _renewable(self, refused: httpx2.Request, refreshed: set[str]) -> bool:
        """Whether it is worth trying again: with a token that was not refused, or by refreshing this one."""
        context = self.provider.context
        await self.storage.restore(context)
        if context.current_tokens is None or (token := context.current_tokens.access_token) in refreshed:
            return False
        if refused.headers.get("Authorization") != f"Bearer {token}":
            return True
        context.token_expiry_time = _LONG_AGO
        return context.can_refresh_token()


@asynccontextmanager
async def browser_auth(config: ServerConfig, show: Callable[[str], None]) -> AsyncIterator[OAuthClientProvider]:
    """What signs the requests of a sign-in: `show` is given the address where the user agrees to it."""
    if keyring_program() is None:
        raise LoginError("there is no keyring to keep tokens in (Linux: install libsecret's `secret-tool`)")
    answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
    states: set[str] = set()
    """What tells the answer to our request from what any page can send to this port."""

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _receive(reader, writer, answer, states)

    server = await asyncio.start_server(receive, "127.0.0.1", 0)

    async def redirect(url: str) -> None:
        states.update(parse_qs(urlsplit(url).query).get("state", ()))
        show(url)

    async def callback() -> AuthorizationCodeResult:
        try:
            given = await asyncio.wait_for(answer, _TIMEOUT)
        except TimeoutError:
            raise LoginError(f"nobody signed in within {_TIMEOUT:g} s") from None
        if "code" not in given:
            words = given.get("error_description") or given.get("error") or "no code came back"
            raise LoginError(f"the sign-in was refused: {words[:200]}")
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))

    async with server:
        port = server.sockets[0].getsockname()[1]
        storage = KeyringTokens(config.url, fresh=True)
        metadata = _metadata(f"http://127.0.0.1:{port}/callback")
        provider = OAuthClientProvider(config.url, metadata, storage, redirect, callback)
        yield provider
        if provider.context.current_tokens is not None:
            await storage.keep_places(provider.context)


def _metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="Joey",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - the name of a method: a program on a machine has no secret
    )


async def _receive(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answer: asyncio.Future[dict[str, str]],
    states: Container[str],
) -> None:
    """The browser comes back: take what the server sent along, once. What has not our state is none of ours."""
    with contextlib.suppress(OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
        target = urlsplit(head[:_MAX_REQUEST].decode("latin-1").split(" ")[1])
        found = {name: values[0] for name, values in parse_qs(target.query).items()}
        ours = target.path == "/callback" and ("code" in found or "error" in found) and found.get("state") in states
        words = "You are signed in." if "code" in found else "The sign-in was refused."
        body = _PAGE.format(words=words if ours else "Nothing is here.").encode()
        status = "200 OK" if ours else "404 Not Found"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n".encode())
        writer.write(b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        if ours and not answer.done():
            answer.set_result(found)
    writer.close()
