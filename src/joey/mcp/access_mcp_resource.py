"""Read a resource of an MCP server."""

from __future__ import annotations

from functools import cached_property

from pydantic import Field

from joey.actions import Action, CallServer
from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.errors import CallError
from joey.mcp.results import resource_result
from joey.mcp.use_mcp_tool import error_result
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed


class AccessMcpResourceParams(Params):
    server_name: str = Field(description="The name of the server.")
    uri: str = Field(min_length=1, description="The address of the resource, as the server names it.")


class AccessMcpResource(Tool[AccessMcpResourceParams]):
    name = "access_mcp_resource"
    group = "mcp"
    params = AccessMcpResourceParams
    feature = "mcp_resources"
    example = {"server_name": "docs", "uri": "docs://guides/start"}

    def __init__(self, catalogue: ServerCatalogue) -> None:
        self._catalogue = catalogue

    @cached_property
    def description(self) -> str:
        return f"{super().description}\n\n{self._catalogue.resources_text}"

    def actions(self, params: AccessMcpResourceParams, context: ToolContext) -> tuple[Action, ...]:
        server = self._catalogue.server(params.server_name)
        return (CallServer(server.name if server else params.server_name),)

    async def run(self, params: AccessMcpResourceParams, context: ToolContext) -> ToolResult:
        server = self._catalogue.server(params.server_name)
        if server is None:
            message = f"There is no MCP server {params.server_name!r}."
            known = self._catalogue.server_names
            return error_result("unknown_server", message, {"server": params.server_name, "available_servers": known})
        try:
            answer = await server.read(params.uri)
        except CallError as error:
            return failed(f"Error: {error}")
        return resource_result(answer, f"{server.name} {params.uri}", context)
