"""What the servers of a task offer now: their tools as Joey's tools, and the way from names to them.

A catalogue is a snapshot, and cheap to make again. Tools of a server that is down stay in it: it will be
back, and a list of tools that changes costs a model its place. Calling one says what is the matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from joey.frames import in_prompt, neutral, one_line
from joey.mcp.checking import UnusableSchemaError
from joey.mcp.listing import ListedResource, ListedTool
from joey.mcp.names import McpNames, same_name
from joey.mcp.servers import McpServers, Server
from joey.mcp.tool import McpTool
from joey.system.filenames import quoted, unquoted

BUDGET = 10_000
"""Tokens of tool definitions that every request may carry; beyond, tools are searched for (find_mcp_tools)."""
_CHARACTERS_A_TOKEN = 4
_MAX_NAMES = 6_000
"""Characters of names that are listed where schemas are not."""
_MAX_RESOURCES = 100
_STATES = {"ready": "", "starting": " (starting: its tools may not be known yet)"}


class ServerCatalogue:
    def __init__(self, servers: McpServers, *, in_text: bool = False, budget: int = BUDGET) -> None:
        """`in_text`: the protocol writes calls as text; there the servers' tools are called through use_mcp_tool."""
        self._servers, self._in_text, self._budget = servers, in_text, budget
        pairs = [(server, tool) for server in servers.servers for tool in _wanted(server)]
        names = McpNames((server.name, tool.name) for server, tool in pairs)
        self.problems: list[tuple[str, str]] = [
            (server.name, problem) for server in servers.servers for problem in server.listing.problems
        ]
        """What is wrong with what servers say: the server, and what."""
        made: list[McpTool] = []
        for server, tool in pairs:
            try:
                made.append(McpTool(server, tool, names.name(server.name, tool.name), listed=False))
            except UnusableSchemaError as error:
                self.problems.append((server.name, f"tool {tool.name!r} was left out: its schema is wrong: {error}"))
        self._names = names
        self._by_pair = {(tool.server.name, tool.tool.name): tool for tool in made}
        self.tools = tuple(made)
        self.size = sum(_size(tool) for tool in made)
        self.searched = self.size > budget * _CHARACTERS_A_TOKEN
        """Whether there are too many tools to send all their schemas."""
        self.one_by_one = not in_text and not self.searched
        """Whether each tool is listed for the model by itself."""
        for each in made:
            each.listed = self.one_by_one

    def now(self) -> ServerCatalogue:
        """The same, as it is now."""
        return ServerCatalogue(self._servers, in_text=self._in_text, budget=self._budget)

    @property
    def needs_use_mcp_tool(self) -> bool:
        """Whether there is something that can be reached by use_mcp_tool alone."""
        starting = any(server.state == "starting" and not server.listing.tools for server in self._servers.servers)
        return starting or (not self.one_by_one and bool(self.tools))

    @property
    def has_resources(self) -> bool:
        return any(server.listing.resources for server in self._servers.servers)

    # From names to things

    @property
    def server_names(self) -> list[str]:
        return [server.name for server in self._servers.servers]

    def server(self, name: str) -> Server | None:
        servers = self._servers.servers
        exact = [server for server in servers if server.name == name]
        near = exact or [server for server in servers if same_name(server.name, name)]
        return near[0] if len(near) == 1 else None

    def tool_names(self, server: str) -> list[str]:
        return [tool.tool.name for tool in self.tools if tool.server.name == server]

    def find(self, server: str, tool: str) -> McpTool | None:
        known = self.server(server)
        found = self._names.find_pair(known.name if known else server, unquoted(tool))
        return self._by_pair.get((found.server, found.tool)) if found else None

    # In words

    @property
    def text(self) -> str:
        """The servers and their tools with their schemas; where these are too many, the names, or what there is."""
        if self.searched:
            return "find_mcp_tools finds the tools of these servers, with their schemas.\n" + self.names_text
        return "\n".join(line for server in self._servers.servers for line in self._lines(server, detailed=True))

    @property
    def names_text(self) -> str:
        """The servers and the names of their tools, or how many there are."""
        text = "\n".join(line for server in self._servers.servers for line in self._lines(server, detailed=False))
        return text if len(text) <= _MAX_NAMES else self.counts

    @property
    def counts(self) -> str:
        servers = self._servers.servers
        lines = (f"Server {each.name}: {len(self.tool_names(each.name))} tools" for each in servers)
        return "\n".join(lines)

    def _lines(self, server: Server, *, detailed: bool) -> Iterator[str]:
        tools = [tool for tool in self.tools if tool.server is server]
        yield f"Server {server.name}{_STATES.get(server.state, ' (not running)')}"
        for tool in tools:
            name = neutral(quoted(tool.tool.name))
            yield f"- {name}: {tool.description}" if detailed and tool.description else f"- {name}"
            if detailed:
                yield in_prompt(f"  schema of its arguments: {json.dumps(tool.schema, ensure_ascii=False)}")

    @property
    def resources_text(self) -> str:
        lines = [_resource_line(server, each) for server in self._servers.servers for each in server.listing.resources]
        more = [f"… and {len(lines) - _MAX_RESOURCES} more"] if len(lines) > _MAX_RESOURCES else []
        return "\n".join(["Resources:", *lines[:_MAX_RESOURCES], *more])


def _wanted(server: Server) -> Iterator[ListedTool]:
    return (tool for tool in server.listing.tools if tool.name not in server.config.disabled_tools)


def _size(tool: McpTool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(tool.schema, ensure_ascii=False))


def _resource_line(server: Server, resource: ListedResource) -> str:
    kind = "template, " if resource.is_template else ""
    words = one_line(resource.description)[:120] or quoted(resource.name)
    return neutral(f"- {server.name}: {quoted(resource.uri[:300])} ({kind}{words})")
