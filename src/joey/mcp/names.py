"""The names under which the model sees the tools of MCP servers, and the way back.

A provider accepts `[a-zA-Z0-9_-]{1,64}`; servers name themselves and their tools as they like. A tool is offered as
`mcp--server--tool`, both parts made safe. That is not reversible by looking at the name: letters were dropped, long
names are shortened, and models write `-` as `_` or leave the prefix out. So the way back is a table:

* each (server, tool) has exactly one name, no two have the same, and a name depends only on the set of tools, not on
  their order: a name that is too long or wanted twice ends in a hash of the pair;
* a name is found as offered; else in any of its other spellings, when only one tool fits.

`split` takes a name apart without a table, for names that came from elsewhere (an imported task).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LIMIT = 64
PREFIX = "mcp"
SEPARATOR = "--"

_SEPARATORS = re.compile("--|__")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server, under the names they gave themselves."""

    server: str
    tool: str


def safe_part(name: str) -> str:
    """A server's or a tool's name with only characters that providers accept."""
    if not name:
        return "_"
    safe = _UNSAFE.sub("", re.sub(r"\s+", "_", name))
    safe = re.sub("-{2,}", "-", safe)
    if not safe:
        return "_unnamed"
    return safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}"


def loosely(name: str) -> str:
    """The name with the confusion of hyphen and underscore taken out, for comparing."""
    return name.replace("-", "_")


def same_name(one: str, other: str) -> bool:
    return loosely(one) == loosely(other)


def is_mcp_name(name: str) -> bool:
    return name.startswith((f"{PREFIX}--", f"{PREFIX}__"))


def offered_name(server: str, tool: str) -> str:
    """The name of one tool when no other tool wants it too."""
    name = _plain_name(server, tool)
    return name if len(name) <= LIMIT else _hashed(name, ServerTool(server, tool))


def canonical(name: str) -> str:
    """A name with every separator written as `--`, if it is the name of an MCP tool at all."""
    return _SEPARATORS.sub(SEPARATOR, name) if is_mcp_name(name) else name


def split(name: str) -> ServerTool | None:
    """Server and tool by the look of the name alone; None if it is not the name of an MCP tool."""
    if not is_mcp_name(name):
        return None
    server, _, tool = canonical(name)[len(PREFIX + SEPARATOR) :].partition(SEPARATOR)
    return ServerTool(server, tool) if server and tool else None


class McpNames:
    """The reversible table for one set of tools."""

    def __init__(self, tools: Iterable[tuple[str, str]]) -> None:
        self._names = _assign([ServerTool(server, tool) for server, tool in dict.fromkeys(tools)])
        self._tools = {name: tool for tool, name in self._names.items()}
        self._spellings: defaultdict[str, set[ServerTool]] = defaultdict(set)
        for tool, name in self._names.items():
            for spelling in (name, *_spellings(tool)):
                self._spellings[loosely(spelling)].add(tool)

    def __iter__(self) -> Iterator[tuple[str, ServerTool]]:
        return iter(self._tools.items())

    def __len__(self) -> int:
        return len(self._tools)

    def name(self, server: str, tool: str) -> str:
        """The name under which this tool is offered. It must be one of the table's."""
        return self._names[ServerTool(server, tool)]

    def find(self, name: str) -> ServerTool | None:
        """The tool that the model means by this name; None if there is none, or more than one."""
        return self._tools.get(name) or self._only(self._spellings.get(loosely(name), set()))

    def find_pair(self, server: str, tool: str) -> ServerTool | None:
        """The tool that is meant by these two names, which the model may have written as it saw them or as they are."""
        exact = ServerTool(server, tool)
        if exact in self._names:
            return exact
        return self.find(_plain_name(server, tool))

    @staticmethod
    def _only(tools: set[ServerTool]) -> ServerTool | None:
        return next(iter(tools)) if len(tools) == 1 else None


def _assign(tools: list[ServerTool]) -> dict[ServerTool, str]:
    plain = {tool: _plain_name(tool.server, tool.tool) for tool in tools}
    wanted = Counter(plain.values())
    return {
        tool: name if wanted[name] == 1 and len(name) <= LIMIT else _hashed(name, tool) for tool, name in plain.items()
    }


def _plain_name(server: str, tool: str) -> str:
    return SEPARATOR.join((PREFIX, safe_part(server), safe_part(tool)))


def _hashed(name: str, tool: ServerTool) -> str:
    digest = hashlib.sha256(f"{tool.server}\0{tool.tool}".encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{name[: LIMIT - _HASH_LENGTH - 1]}_{digest}"


def _spellings(tool: ServerTool) -> Iterator[str]:
    """How else a model may write it: unshortened, cut, without the prefix, with the server's and tool's own words."""
    plain = _plain_name(tool.server, tool.tool)
    yield plain
    yield plain[:LIMIT]
    yield plain.removeprefix(PREFIX + SEPARATOR)
    own = SEPARATOR.join((tool.server, tool.tool))
    yield own
    yield SEPARATOR.join((PREFIX, own))
