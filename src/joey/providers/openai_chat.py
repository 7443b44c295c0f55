"""OpenAI's Chat Completions, through the official SDK, from any endpoint that speaks them."""

from __future__ import annotations

from typing import Any, Unpack

import httpx2
import openai

from joey.providers.base import Connection, ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.encoding.chat import ChatRequests, GrammarForm
from joey.providers.openai_sdk import OpenAIOptions, OpenAISdkProvider


def connect(connection: Connection) -> OpenAIProvider:
    """A provider for `open_model`."""
    return OpenAIProvider(
        api_key=connection.api_key,
        base_url=connection.base_url,
        abilities=connection.abilities,
        key_variable=connection.key_variable,
        grammar=None if connection.grammar == "off" else connection.grammar,
        fields=connection.fields,
    )


class OpenAIProvider(OpenAISdkProvider):
    """Replies from OpenAI, or from any server that speaks its Chat Completions."""

    def __init__(
        self,
        *,
        grammar: str | GrammarForm | None = None,
        counts_tokens: bool = False,
        **connection: Unpack[OpenAIOptions],
    ) -> None:
        """`grammar` and `counts_tokens` as for `ChatRequests`."""
        super().__init__(**connection)
        self._requests = ChatRequests(grammar, counts_tokens=counts_tokens, fields=self._fields)

    @property
    def takes_grammar(self) -> bool:
        return self._requests.takes_grammar

    async def _post(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        return await self._send("/chat/completions", self._requests.body(request, abilities))

    def _reader(self) -> ReplyReader:
        return ChatReader()

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            return await self._requests.count_tokens(request, self.abilities(request.model), self._own)
        except openai.OpenAIError:
            return None

    async def _own(self, path: str, body: dict[str, Any]) -> Any:
        """What the server answers at a path of its own, beside the API."""
        address = str(self._client.base_url).rstrip("/").removesuffix("/v1") + path
        response = await self._client.post(address, cast_to=httpx2.Response, body=body)
        return response.json()
