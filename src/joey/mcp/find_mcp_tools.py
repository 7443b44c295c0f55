"""Find tools of MCP servers where there are too many to list: their schemas are sent when they are needed."""

from __future__ import annotations

import json
import re
from functools import cached_property

from pydantic import Field

from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.tool import McpTool
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, Tool, ToolContext, ok
from joey.tools.display import Display

MAX_FOUND = 8
_MAX_TEXT = 24_000


class FindMcpToolsParams(Params):
    query: str = Field(min_length=1, description="What the tool should do, or a name, in a few words.")


class FindMcpTools(Tool[FindMcpToolsParams]):
    name = "find_mcp_tools"
    display = Display(("query",), kind="search")
    group = "mcp"
    params = FindMcpToolsParams
    example = {"query": "create issue"}

    def __init__(self, catalogue: ServerCatalogue, *, listed: bool) -> None:
        self._catalogue = catalogue
        self.listed = listed

    @cached_property
    def description(self) -> str:
        words = super().description
        return f"{words}\n\n{self._catalogue.counts}" if self.listed else words

    async def run(self, params: FindMcpToolsParams, context: ToolContext) -> ToolResult:
        catalogue = self._catalogue.now()
        found = ranked(params.query, catalogue.tools)[:MAX_FOUND]
        if not found:
            return ok(f"No tool was found for {params.query!r}. The servers and their tools:\n{catalogue.names_text}")
        parts = (_shown(tool) for tool in found)
        text = "\n\n".join(parts)[:_MAX_TEXT]
        return ok(f"{text}\n\nCall one with use_mcp_tool: server_name, tool_name and arguments.")


def ranked(query: str, tools: tuple[McpTool, ...]) -> list[McpTool]:
    """The tools that share words with a query, the best first: a word of a name counts more than one of a description,
    and a rare word more than one that many tools have."""
    words = set(_words(query))
    names = {id(tool): set(_words(f"{tool.server.name} {tool.tool.name}")) for tool in tools}
    texts = {id(tool): set(_words(tool.description)) for tool in tools}
    common = {word: 1 + sum(word in names[key] or word in texts[key] for key in names) for word in words}

    def score(tool: McpTool) -> float:
        return sum((3 * (word in names[id(tool)]) + (word in texts[id(tool)])) / common[word] for word in words)

    scored = sorted(((score(tool), tool) for tool in tools), key=lambda each: (-each[0], each[1].name))
    return [tool for points, tool in scored if points > 0]


def _words(text: str) -> list[str]:
    """Words as they are compared: `createIssues` and `create_issue` are the same two."""
    parts = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower())
    return [part.removesuffix("s") if len(part) > 3 else part for part in parts]


def _shown(tool: McpTool) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False)
    name = f"server_name: {quoted(tool.server.name)}, tool_name: {quoted(tool.tool.name)}"
    return f"{name}\n{tool.description}\nschema of its arguments: {schema}"
