"""Call a tool of an MCP server by the names of both."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from pydantic import Field

from joey.actions import Action, CallServer
from joey.mcp.catalogue import ServerCatalogue
from joey.messages import ToolResult
from joey.tools.base import Params, Plan, PlannedTool, ToolContext, failed
from joey.wire import JsonValue


class UseMcpToolParams(Params):
    server_name: str = Field(description="The name of the server.")
    tool_name: str = Field(description="The name of its tool.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="The arguments of the tool: an object, as the tool's schema asks for."
    )


class UseMcpTool(PlannedTool[UseMcpToolParams]):
    """For protocols and moments in which a server's tools are not listed one by one."""

    name = "use_mcp_tool"
    group = "mcp"
    params = UseMcpToolParams
    example = {"server_name": "git", "tool_name": "git_log", "arguments": {"repo_path": ".", "max_count": 5}}

    def __init__(self, catalogue: ServerCatalogue, *, listed: bool) -> None:
        self._catalogue = catalogue
        self.listed = listed

    @cached_property
    def description(self) -> str:
        words = super().description
        return f"{words}\n\n{self._catalogue.text}" if self.listed else words

    def actions(self, params: UseMcpToolParams, context: ToolContext) -> tuple[Action, ...]:
        found = self._catalogue.find(params.server_name, params.tool_name)
        if found is None:
            return (CallServer(params.server_name, params.tool_name),)
        return (CallServer(found.server.name, found.tool.name),)

    async def plan(self, params: UseMcpToolParams, context: ToolContext) -> Plan:
        """Everything that can be checked before asking: the server, the tool, the arguments."""
        server = self._catalogue.server(params.server_name)
        if server is None:
            return _refused("unknown_server", f"There is no MCP server {params.server_name!r}.", {
                "server": params.server_name, "available_servers": self._catalogue.server_names,
            })  # fmt: skip
        await server.settled()
        catalogue = self._catalogue.now()
        tool = catalogue.find(server.name, params.tool_name)
        if tool is None and not server.listing.tools:
            return Plan((), _nothing, refusal=failed(f"Error: {server.why_not}"))
        if tool is None:
            return _refused("unknown_tool", f"The server {server.name!r} has no tool {params.tool_name!r}.", {
                "server": server.name, "tool": params.tool_name, "available_tools": catalogue.tool_names(server.name),
            })  # fmt: skip
        checked = tool.checked(params.arguments)
        if isinstance(checked, str):
            return _refused("invalid_argument", f"The arguments are not right: {checked}", {
                "server": server.name, "tool": tool.tool.name, "schema": tool.schema,
            })  # fmt: skip
        return Plan(tool.actions(checked, context), lambda: tool.run(checked, context))


def _refused(kind: str, message: str, details: dict[str, JsonValue]) -> Plan:
    return Plan((), _nothing, refusal=error_result(kind, message, details))


def error_result(kind: str, message: str, details: dict[str, JsonValue]) -> ToolResult:
    """An error as the JSON that models know from other agents."""
    return failed(
        json.dumps({"status": "error", "type": kind, "message": message, **details}, ensure_ascii=False, default=str)
    )


async def _nothing() -> ToolResult:
    return failed("It was not called.")
