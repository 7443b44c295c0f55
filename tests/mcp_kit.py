"""Servers for tests, and calls of their tools."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from joey.mcp.catalogue import Catalogue
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
    found = Catalogue(servers).find(server, tool)
    assert found is not None, f"{server} has no tool {tool}"
    checked = found.checked(arguments)
    assert not isinstance(checked, str), checked
    return await found.run(checked, context)
