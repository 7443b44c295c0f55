"""The prompts of MCP servers as slash commands: `/mcp--server--prompt words`.

A prompt has named arguments; a person types words. The words are the arguments in the server's order, quotes hold words
together, and the last argument takes what is left. The text that the server makes of them is attached to the request
like that of any other slash command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from joey.mcp.errors import CallError
from joey.mcp.listing import ListedPrompt
from joey.mcp.names import McpNames, is_mcp_name
from joey.mcp.servers import McpServers, Server
from joey.prompts.library import split_words
from joey.wire import JsonObject


class ServerPrompts:
    """What the servers of a task offer, as it is now."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def offered(self) -> Mapping[str, ListedPrompt]:
        """The prompts by the names under which they are typed."""
        return {name: prompt for name, (_, prompt) in self._found().items()}

    async def known(self, typed: Sequence[str]) -> frozenset[str]:
        """Which of the names that were typed are prompts. Only where one may be is a server waited for."""
        if any(map(is_mcp_name, typed)):
            await self._servers.settled()
        return frozenset(self._found()) & frozenset(typed)

    async def text(self, name: str, words: str) -> str:
        """What a server makes of a prompt and the words behind it; why it does not, if it does not."""
        server, prompt = self._found()[name]
        try:
            answer = await server.prompt(prompt.name, arguments(prompt, words))
        except CallError as error:
            return f"The prompt {prompt.name!r} of the MCP server {server.name!r} could not be read. {error}"
        return "\n\n".join(filter(None, map(_message, answer.get("messages", ()))))

    def _found(self) -> dict[str, tuple[Server, ListedPrompt]]:
        pairs = {(each.name, prompt.name): (each, prompt) for each, prompt in self._listed()}
        names = McpNames(pairs)
        return {names.name(*pair): found for pair, found in pairs.items()}

    def _listed(self) -> Iterator[tuple[Server, ListedPrompt]]:
        for server in self._servers.servers:
            if server.state == "ready":
                yield from ((server, each) for each in server.listing.prompts)


def arguments(prompt: ListedPrompt, words: str) -> dict[str, str]:
    """The words behind a prompt's name as its arguments."""
    *first, last = prompt.arguments or ("",)
    if not last or not words.strip():
        return {}
    if not first:
        return {last: words.strip()}
    split = split_words(words)
    given = dict(zip(first, split, strict=False))
    rest = " ".join(split[len(first) :])
    return {**given, **({last: rest} if rest else {})}


def _message(message: JsonObject) -> str:
    """One message of a prompt as text. What the model would have said in it is marked."""
    text = _content(message.get("content"))
    return f"(You answered:) {text}" if message.get("role") == "assistant" and text else text


def _content(content: object) -> str:
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
            return f"{uri}:\n{text}"
        case {"type": "resource_link", "uri": uri}:
            return str(uri)
        case {"type": str(kind)}:
            return f"[{kind} content was left out]"
        case _:
            return ""
