"""Chat Completions from a server of this machine, without an SDK."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from joey.chunks import Chunk, TextChunk
from joey.providers.base import Connection, ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.decoding.reader import ReplyReader
from joey.providers.encoding.body import to_json
from joey.providers.encoding.chat import ChatRequests, GrammarForm
from joey.providers.errors import ProviderError
from joey.providers.http import TIMEOUT, checked_key
from joey.providers.plain_http import PlainHttpError, PlainResponse
from joey.providers.plain_provider import PlainProvider

_MAX_COUNTED = 2**27
"""Bytes of an answer to a question of ours, such as the tokens of a long prompt."""


def connect(connection: Connection) -> PlainChatProvider:
    """A provider for `open_model`."""
    assert connection.base_url is not None
    return PlainChatProvider(
        connection.base_url,
        api_key=checked_key(connection.api_key or os.environ.get(connection.key_variable)),
        abilities=connection.abilities,
        grammar=None if connection.grammar == "off" else connection.grammar,
        fields=connection.fields,
    )


class PlainChatProvider(PlainProvider):
    """Replies from a server of this machine that speaks Chat Completions."""

    name: ClassVar[str] = "openai"

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        abilities: Abilities | None = None,
        grammar: str | GrammarForm | None = None,
        counts_tokens: bool = False,
        timeout: float = TIMEOUT,
        limits: ReplyLimits | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """`grammar`, `counts_tokens` and `fields` as for `ChatRequests`."""
        headers = {"Authorization": f"Bearer {api_key or 'none'}"}
        super().__init__(base_url, api_key, headers, abilities=abilities, timeout=timeout, limits=limits)
        self._requests = ChatRequests(grammar, counts_tokens=counts_tokens, fields=fields)

    @property
    def takes_grammar(self) -> bool:
        return self._requests.takes_grammar

    async def _post(self, request: ModelRequest, abilities: Abilities) -> PlainResponse:
        path = self._client.below("/chat/completions")
        return await self._client.post(path, self._requests.body(request, abilities).pieces, self._limits.error)

    def _reader(self) -> ReplyReader:
        return ChatReader()

    def _together(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Texts that came together are one: each chunk costs something in everything that follows."""
        texts: list[str] = []
        try:
            for chunk in chunks:
                if isinstance(chunk, TextChunk):
                    texts.append(chunk.text)
                    continue
                if texts:
                    yield TextChunk("".join(texts))
                    texts.clear()
                yield chunk
        except ProviderError:
            if texts:
                yield TextChunk("".join(texts))
            raise
        if texts:
            yield TextChunk("".join(texts))

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            return await self._requests.count_tokens(request, self.abilities(request.model), self._own)
        except PlainHttpError:
            return None

    async def _own(self, path: str, body: dict[str, Any]) -> Any:
        """What the server answers at a path of its own, beside the API."""
        response = await self._client.post(self._client.beside(path), [to_json(body)], self._limits.error)
        await response.read(_MAX_COUNTED)
        return json.loads(response.content)
