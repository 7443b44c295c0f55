"""Signing in to a server: a real authorization server (the SDK's), a user who agrees or not, and a keyring."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.middleware.authentication import AuthenticationMiddleware

from joey.mcp.config import ServerConfig
from joey.mcp.login import log_in
from joey.mcp.oauth import KeyringTokens, LoginError, is_signed_in, sign_out, stored_under
from joey.tools.base import ToolContext
from mcp_kit import call, kit_config, running, serving
from mcp_kit_server import make_server

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the keyring has another program there")
KEYRING = """#!/bin/sh
case "$1" in
    store) cat > "{folder}/$6" ;;
    lookup) cat "{folder}/$5" ;;
    clear) rm "{folder}/$5" ;;
esac
"""


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "keyring"
    folder.mkdir()
    program = folder / "secret-tool"
    program.write_text(KEYRING.format(folder=folder))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@dataclass
class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """What the SDK's authorization server keeps: clients, codes and tokens. `agrees`: what its user does."""

    agrees: bool = True
    seconds: int = 3600
    """How long an access token is good for."""
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    refreshed: int = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if not self.agrees:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = secrets.token_hex(16)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id or "",
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri, resource=params.resource,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )  # fmt: skip
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client.client_id or "", authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshed += 1
        del self.refreshing[refresh_token.token]
        return self._issue(client.client_id or "", scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def verify_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)

    def _issue(self, client_id: str, scopes: list[str]) -> OAuthToken:
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        ends = int(time.time()) + self.seconds
        self.tokens[access] = AccessToken(token=access, client_id=client_id, scopes=scopes, expires_at=ends)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.seconds, scope=" ".join(scopes))


@asynccontextmanager
async def protected(provider: Provider) -> AsyncIterator[ServerConfig]:
    """An MCP server that lets in whoever its authorization server gave a token, and the configuration for it."""
    app = make_server().streamable_http_app()
    async with serving(app) as port:
        base = f"http://127.0.0.1:{port}"
        guarded: Any = next(route for route in app.routes if getattr(route, "path", "") == "/mcp")
        known = AnyHttpUrl(f"{base}/.well-known/oauth-protected-resource/mcp")
        guarded.app = AuthenticationMiddleware(
            RequireAuthMiddleware(guarded.app, [], known),
            backend=BearerAuthBackend(provider),
        )
        options = ClientRegistrationOptions(enabled=True)
        app.router.routes += create_auth_routes(provider, AnyHttpUrl(base), client_registration_options=options)
        app.router.routes += create_protected_resource_routes(AnyHttpUrl(f"{base}/mcp"), [AnyHttpUrl(base)])
        yield replace(kit_config(), transport="streamable-http", url=f"{base}/mcp", command="", args=())


def browser(visited: list[asyncio.Task[Any]]) -> Any:
    """A browser that follows the address to its end, as that of a user who agrees at once."""

    async def visit(url: str) -> int:
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            return (await client.get(url)).status_code

    return lambda url: visited.append(asyncio.create_task(visit(url)))


async def test_sign_in_use_refresh_and_sign_out(keyring: Path, context: ToolContext) -> None:
    provider, visited = Provider(seconds=1), list[asyncio.Task[Any]]()
    async with protected(provider) as config:
        async with running(config) as servers:
            assert servers.servers[0].state == "down" and "joey mcp login kit" in servers.servers[0].words.tail
        assert await log_in(config, browser(visited)) > 0 and await visited[0] == 200
        assert (keyring / stored_under(config.url)).exists(), "the tokens are in the keyring"
        provider.tokens.clear()  # the first token is over
        await asyncio.sleep(1.1)
        async with running(config) as servers:
            assert servers.servers[0].state == "ready", servers.servers[0].words.tail
            result = await call(servers, "kit", "add", context, a=1, b=2)
            assert "3" in result.text and provider.refreshed >= 1
        kept = await KeyringTokens(config.url).get_tokens()
        assert kept is not None and kept.access_token in provider.tokens, "the new one is kept"
        provider.tokens.clear()
        provider.refreshing.clear()  # the server has forgotten us
        await asyncio.sleep(1.1)
        async with running(config) as servers:
            assert servers.servers[0].state == "down" and "joey mcp login kit" in servers.servers[0].why_not
        assert sign_out(config.url) and not sign_out(config.url)


@pytest.mark.parametrize("forged", ["code=evil", "code=evil&state=guessed", "error=access_denied&state="])
async def test_what_another_page_sends_to_the_open_port_is_not_taken_for_the_answer(keyring: Path, forged: str) -> None:
    """Any page in the browser can reach a port of this machine: a code of somebody else's must not sign us in there,
    and must not end the sign-in either."""
    provider, visited = Provider(), list[asyncio.Task[Any]]()
    follow, statuses = browser(visited), list[int]()

    async def attacked(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        async with httpx2.AsyncClient() as client:
            statuses.append((await client.get(f"{back}?{forged}")).status_code)
        follow(url)

    waiting: list[asyncio.Task[Any]] = []
    async with protected(provider) as config:
        assert await log_in(config, lambda url: waiting.append(asyncio.create_task(attacked(url)))) > 0
        await waiting[0]
        assert statuses == [404] and await visited[0] == 200
        kept = await KeyringTokens(config.url).get_tokens()
        assert kept is not None and kept.access_token in provider.tokens


async def test_a_user_who_refuses_is_not_signed_in(keyring: Path) -> None:
    visited = list[asyncio.Task[Any]]()
    async with protected(Provider(agrees=False)) as config:
        with pytest.raises(LoginError, match="the sign-in was refused: access_denied"):
            await log_in(config, browser(visited))
        await asyncio.gather(*visited)
        assert await KeyringTokens(config.url).get_tokens() is None


async def test_a_sign_in_that_is_refused_or_left_leaves_the_one_before_it(keyring: Path) -> None:
    provider, visited = Provider(), list[asyncio.Task[Any]]()
    async with protected(provider) as config:
        await log_in(config, browser(visited))
        provider.agrees = False
        with pytest.raises(LoginError, match="was refused"):
            await log_in(config, browser(visited))
        shown = asyncio.Event()
        left = asyncio.create_task(log_in(config, lambda _url: shown.set()))
        await shown.wait()
        left.cancel()
        await asyncio.gather(left, *visited, return_exceptions=True)
        async with running(config) as servers:
            assert servers.servers[0].state == "ready", servers.servers[0].words.tail


async def test_a_first_sign_in_that_is_refused_is_none(keyring: Path) -> None:
    visited = list[asyncio.Task[Any]]()
    async with protected(Provider(agrees=False)) as config:
        with pytest.raises(LoginError):
            await log_in(config, browser(visited))
        await asyncio.gather(*visited)
        assert not is_signed_in(config.url)


async def test_a_token_that_is_refused_before_its_time_is_refreshed(keyring: Path, context: ToolContext) -> None:
    provider, visited = Provider(), list[asyncio.Task[Any]]()
    async with protected(provider) as config:
        await log_in(config, browser(visited))
        async with running(config) as servers:
            provider.tokens.clear()  # such as after a restart of the server
            result = await call(servers, "kit", "add", context, a=1, b=2)
            assert "3" in result.text and provider.refreshed == 1
            assert servers.servers[0].words.tail == "", "nothing went wrong"


async def test_what_another_process_refreshed_is_used(keyring: Path, context: ToolContext) -> None:
    """A refresh token is good for one use: a second use is often taken for a theft, which ends the sign-in."""
    provider, visited = Provider(), list[asyncio.Task[Any]]()
    async with protected(provider) as config:
        await log_in(config, browser(visited))
        async with running(config) as first, running(config) as second:
            provider.tokens.clear()
            assert "3" in (await call(first, "kit", "add", context, a=1, b=2)).text
            assert "7" in (await call(second, "kit", "add", context, a=3, b=4)).text
        assert provider.refreshed == 1


async def test_a_sign_in_that_is_over_is_reported_once(keyring: Path) -> None:
    provider, visited = Provider(), list[asyncio.Task[Any]]()
    async with protected(provider) as config:
        await log_in(config, browser(visited))
        provider.tokens.clear()
        provider.refreshing.clear()
        async with running(config) as servers:
            [server] = servers.servers
            assert server.state == "down"
            assert server.words.tail.count("[its sign-in has expired; run `joey mcp login kit`]") == 1
            assert "who calls" not in server.words.tail


async def test_tokens_belong_to_an_address_and_not_to_a_name(keyring: Path) -> None:
    await KeyringTokens("https://mine.example/mcp").set_tokens(OAuthToken(access_token="secret"))
    assert await KeyringTokens("https://theirs.example/mcp").get_tokens() is None
    (keyring / stored_under("https://mine.example/mcp")).write_text("garbage")
    assert await KeyringTokens("https://mine.example/mcp").get_tokens() is None


async def test_without_a_keyring_there_is_no_sign_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = replace(kit_config(), transport="streamable-http", url="http://127.0.0.1:9/mcp")
    with pytest.raises(LoginError, match="there is no keyring"):
        await log_in(config, lambda _url: None)


async def test_a_server_without_a_sign_in_says_so(keyring: Path) -> None:
    async with serving(make_server().streamable_http_app()) as port:
        config = replace(kit_config(), transport="streamable-http", url=f"http://127.0.0.1:{port}/mcp")
        with pytest.raises(LoginError, match="lets everybody in"):
            await log_in(config, lambda _url: None)
