"""Servers for tests, and calls of their tools."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.config import ServerConfig
from joey.mcp.servers import McpServers
from joey.messages import ToolResult
from joey.tools.base import ToolContext

HERE = Path(__file__).parent / "mcp"


def kit_config(name: str = "kit", **fields: Any) -> ServerConfig:
    """The server made with the SDK."""
    return ServerConfig(
        name,
        "stdio",
        Path("mcp.json"),
        "user",
        command=sys.executable,
        args=(str(HERE.parent / "mcp_kit_server.py"),),
        **fields,
    )


def raw_config(behaviour: str, **fields: Any) -> ServerConfig:
    """A server that misbehaves in one way."""
    arguments = (str(HERE / "raw_server.py"), behaviour)
    return ServerConfig(behaviour, "stdio", Path("mcp.json"), "user", command=sys.executable, args=arguments, **fields)


@asynccontextmanager
async def running(*configs: ServerConfig, first_pause: float = 0.05) -> AsyncIterator[McpServers]:
    servers = McpServers(configs, first_pause=first_pause)
    servers.start()
    try:
        await servers.settled()
        yield servers
    finally:
        await servers.close()


async def until(condition: Callable[[], bool], *, what: str) -> None:
    """Wait for a condition to hold, as long as the test may run."""
    for _ in range(3_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never happened: {what}")


async def call(servers: McpServers, server: str, tool: str, context: ToolContext, **arguments: Any) -> ToolResult:
    found = ServerCatalogue(servers).find(server, tool)
    assert found is not None, f"{server} has no tool {tool}"
    checked = found.checked(arguments)
    assert not isinstance(checked, str), checked
    return await found.run(checked, context)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the test run's."""
        yield


@asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncIterator[int]:
    """The app on a port of this machine, until the block ends; then it is gone at once, as if killed."""
    listening = socket.create_server(("127.0.0.1", port))
    server = _Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0))
    work = asyncio.create_task(server.serve([listening]))
    try:
        await until(lambda: server.started, what="the app is served")
        yield listening.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        for connection in list(server.server_state.connections):
            getattr(connection, "transport").abort()  # noqa: B009 - not in the annotations
        await asyncio.gather(work, return_exceptions=True)
        listening.close()
