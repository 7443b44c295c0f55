"""The tools that MCP adds to a task's, ready for a toolset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joey.mcp.access_mcp_resource import AccessMcpResource
from joey.mcp.catalogue import BUDGET, ServerCatalogue
from joey.mcp.find_mcp_tools import FindMcpTools
from joey.mcp.servers import McpServers
from joey.mcp.use_mcp_tool import UseMcpTool
from joey.tools.base import Tool


@dataclass(frozen=True, slots=True)
class McpOffer:
    version: int
    """The version of the servers this was made from: as long as it is theirs, nothing has changed."""
    builtin: tuple[Tool[Any], ...]
    """use_mcp_tool, find_mcp_tools and access_mcp_resource."""
    tools: tuple[Tool[Any], ...]
    """The servers' own."""
    has_resources: bool


def make_offer(servers: McpServers, *, in_text: bool, budget: int = BUDGET) -> McpOffer:
    """What the servers offer now."""
    version = servers.version
    catalogue = ServerCatalogue(servers, in_text=in_text, budget=budget)
    builtin = (
        AccessMcpResource(catalogue),
        FindMcpTools(catalogue, listed=catalogue.searched),
        UseMcpTool(catalogue, listed=catalogue.needs_use_mcp_tool),
    )
    return McpOffer(version, builtin, catalogue.tools, catalogue.has_resources)


def offers(servers: McpServers, *, in_text: bool, budget: int = BUDGET) -> Callable[[], McpOffer]:
    """What the servers offer, at any time: the same object until something changed."""
    made: list[McpOffer] = []

    def offer() -> McpOffer:
        if not made or made[-1].version != servers.version:
            made[:] = [make_offer(servers, in_text=in_text, budget=budget)]
        return made[-1]

    return offer
