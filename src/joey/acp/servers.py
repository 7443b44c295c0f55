"""The MCP servers that an editor hands to a session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from joey.acp.connection import INVALID_PARAMS, RpcError
from joey.mcp.config import ServerConfig, Transport

_TRANSPORTS: dict[str, Transport] = {"http": "streamable-http", "sse": "sse"}


def read_servers(servers: Any, folder: Path) -> tuple[ServerConfig, ...]:
    """As `session/new` lists them. One of a program has no type."""
    if servers is None:
        return ()
    if not isinstance(servers, list):
        raise RpcError(INVALID_PARAMS, "mcpServers is a list")
    return tuple(_server(each, folder) for each in servers)


def _server(server: Any, folder: Path) -> ServerConfig:
    if not isinstance(server, Mapping) or not isinstance(server.get("name"), str):
        raise RpcError(INVALID_PARAMS, "an MCP server has a name")
    name, kind = server["name"], server.get("type")
    if kind in _TRANSPORTS:
        headers = _pairs(server.get("headers"))
        return ServerConfig(name, _TRANSPORTS[kind], folder, "user", url=str(server.get("url", "")), headers=headers)
    command = server.get("command")
    if not isinstance(command, str) or not command:
        raise RpcError(INVALID_PARAMS, f"the MCP server {name!r} has neither a command nor a known type")
    args = server.get("args")
    arguments = tuple(map(str, args)) if isinstance(args, list) else ()
    environment = _pairs(server.get("env"))
    return ServerConfig(
        name, "stdio", folder, "user", command=command, args=arguments, env=environment, cwd=str(folder)
    )


def _pairs(listed: Any) -> tuple[tuple[str, str], ...]:
    """Lists of {name, value}."""
    found = listed if isinstance(listed, list) else []
    return tuple(
        (str(each["name"]), str(each.get("value", "")))
        for each in found
        if isinstance(each, Mapping) and "name" in each
    )
