"""The resources of MCP servers as mentions: `@server:uri`.

The user named the resource, so nobody is asked. What it holds is material like that of any other mention, within
bounds: text beyond MAX_TEXT is cut in its middle, and of other content only images are attached.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence

from joey.images.sizing import image_type
from joey.mcp.errors import CallError
from joey.mcp.listing import ListedResource
from joey.mcp.servers import McpServers, Server
from joey.messages import ImageBlock, ResultBlock, TextBlock
from joey.tools.shell.output import shorten_output
from joey.wire import JsonObject

MAX_TEXT = 40_000
_MAX_LINES = 2_000
_MAX_IMAGE = 5 * 1024 * 1024
_MAX_PARTS = 20
_MAX_OFFERED = 1_000


class ServerResources:
    """What the servers of a task let one read, as it is now."""

    def __init__(self, servers: McpServers, *, sees_images: bool = False) -> None:
        self._servers, self._sees_images = servers, sees_images

    def offered(self) -> Mapping[str, ListedResource]:
        """The resources by the names under which they are typed, without the @. Templates are to be filled in."""
        ready = [server for server in self._servers.servers if server.state == "ready"]
        return {f"{each.name}:{one.uri}": one for each in ready for one in each.listing.resources[:_MAX_OFFERED]}

    async def read(self, mention: str) -> tuple[ResultBlock, ...] | None:
        """What a mention names; why it cannot be read, if it cannot; None where it names no server."""
        server = self._server(mention)
        if server is None:
            return None
        uri = mention.removeprefix(f"{server.name}:")
        try:
            answer = await server.read(uri)
        except CallError as error:
            return (TextBlock(f"The MCP server {server.name!r} did not give this resource. {error}"),)
        contents = answer.get("contents")
        return (*self._blocks(contents if isinstance(contents, list) else []),) or (TextBlock("(It is empty.)"),)

    def _server(self, mention: str) -> Server | None:
        """The server of the longest name that the mention begins with, where a URI follows."""
        found = [each for each in self._servers.servers if mention.startswith(f"{each.name}:")]
        server = max(found, key=lambda each: len(each.name), default=None)
        return server if server is not None and len(mention) > len(server.name) + 1 else None

    def _blocks(self, contents: Sequence[object]) -> Iterator[ResultBlock]:
        texts = [str(each["text"]) for each in contents if isinstance(each, dict) and isinstance(each.get("text"), str)]
        if text := "\n\n".join(texts):
            yield TextBlock(shorten_output(text, _MAX_LINES, MAX_TEXT))
        for each in contents[:_MAX_PARTS]:
            if isinstance(each, dict) and isinstance(each.get("blob"), str):
                yield self._blob(each)

    def _blob(self, item: JsonObject) -> ResultBlock:
        kind = str(item.get("mimeType", "")) or "binary"
        try:
            data = base64.b64decode(item["blob"], validate=True)
        except (binascii.Error, ValueError):
            data = b""
        found = image_type(data)
        if found and self._sees_images and len(data) <= _MAX_IMAGE:
            return ImageBlock(found, item["blob"])
        return TextBlock(f"[{kind[:100]} content of {len(data):,} bytes was left out]")
