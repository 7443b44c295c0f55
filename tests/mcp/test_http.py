"""Servers at an address, made with the SDK and run in this process: only the connection matters here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from joey.mcp.config import ServerConfig
from joey.mcp.servers import McpServers
from joey.tools.base import ToolContext
from mcp_kit import call, kit_config, running, serving, until
from mcp_kit_server import make_server


def http_config(port: int, transport: Any = "streamable-http", **fields: Any) -> ServerConfig:
    path = "sse" if transport == "sse" else "mcp"
    url = f"http://127.0.0.1:{port}/{path}"
    return replace(kit_config(), transport=transport, url=url, command="", args=(), **fields)


def app_of(transport: str) -> Any:
    server = make_server()
    return server.sse_app() if transport == "sse" else server.streamable_http_app()


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_a_server_at_an_address_works_and_is_reached_again_after_a_restart(
    context: ToolContext, transport: str
) -> None:
    async with serving(app_of(transport)) as port:
        servers = McpServers([http_config(port, transport)], first_pause=0.1)
        servers.start()
        (server,) = servers.servers
        await until(lambda: server.state == "ready", what="the server answers")
        assert (await call(servers, "kit", "add", context, a=20, b=22)).text == "42"
        assert "was kept whole" in (await call(servers, "kit", "long_text", context, size=200_000)).text
    try:
        assert (await call(servers, "kit", "add", context, a=1, b=1)).is_error
        await until(lambda: server.state != "ready", what="the loss is noticed")
        async with serving(app_of(transport), port):
            await until(lambda: server.state == "ready", what="it is reached again")
            assert (await call(servers, "kit", "add", context, a=2, b=2)).text == "4"
            await servers.close()
    finally:
        await servers.close()


class Odd:
    """A server without the SDK. `answers` says how it answers a call, `asks_for` which header it wants."""

    def __init__(self, answers: str = "", asks_for: str = "") -> None:
        self.answers, self.asks_for = answers, asks_for

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mcp", self.respond, methods=["POST", "GET", "DELETE"])])

    async def respond(self, request: Request) -> Response:
        if request.headers.get("authorization", "") != self.asks_for:
            return Response("who are you?", 401)
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if message["method"] == "initialize":
            info = {"name": "odd", "version": "1"}
            version = message["params"]["protocolVersion"]
            return _result(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        if message["method"] == "tools/list":
            return _result(message, {"tools": [{"name": "good", "inputSchema": {"type": "object"}}]})
        if message["method"] == "tools/call":
            return self._answer(message)
        return Response(status_code=202) if "id" not in message else _result(message, {})

    def _answer(self, message: Any) -> Response:
        if self.answers == "flood":
            return StreamingResponse(_flood(b"x"), media_type="application/json")
        if self.answers == "flood of events":
            return StreamingResponse(_flood(b"data: x\n"), media_type="text/event-stream")
        if self.answers == "a page":
            return Response("<html>Bad Gateway</html>", 502)
        return _result(message, {"content": [{"type": "text", "text": "fine"}]})


def _result(message: Any, result: Any) -> Response:
    if message["method"] == "server/discover":
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def _flood(piece: bytes) -> AsyncIterator[bytes]:
    block = piece * (1024 * 1024 // len(piece))
    for _ in range(16):
        yield block
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("answers", "message"), [("flood", "more than 4 MB"), ("flood of events", ""), ("a page", "HTTP 502")]
)
async def test_an_answer_without_end_or_sense_is_an_error_and_the_next_call_works(
    context: ToolContext, answers: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joey.mcp.transports.MAX_MESSAGE", 4 * 1024 * 1024)
    odd = Odd(answers)
    async with serving(odd.app) as port, running(http_config(port)) as servers:
        broken = await call(servers, "kit", "good", context)
        assert broken.is_error and message in servers.servers[0].words.text
        odd.answers = ""
        again = broken
        for _ in range(500):  # it may be started again first
            if (again := await call(servers, "kit", "good", context)).text == "fine":
                break
            await asyncio.sleep(0.02)
        assert again.text == "fine"


async def test_a_token_in_the_headers_opens_the_door_and_without_it_there_is_a_reason(
    context: ToolContext,
) -> None:
    async with serving(Odd(asks_for="Bearer secret").app) as port:
        async with running(http_config(port), first_pause=60) as servers:
            assert servers.servers[0].state == "down" and "HTTP 401" in servers.servers[0].why_not
            assert "a token in its headers" in servers.servers[0].why_not
        async with running(http_config(port, headers=(("Authorization", "Bearer secret"),))) as servers:
            assert (await call(servers, "kit", "good", context)).text == "fine"
