"""Chat Completions from a server of this machine, without an SDK: cheaper to start and for each request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from joey.chunks import Chunk, TextChunk
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.decoding.reader import ReplyReader
from joey.providers.encoding.body import to_json
from joey.providers.encoding.chat import ChatRequests, GrammarForm
from joey.providers.errors import ProviderError
from joey.providers.http import TIMEOUT, HttpErrors, HttpProvider
from joey.providers.plain_http import PlainClient, PlainHttpError, PlainResponse, PlainStatusError
from joey.system.hosts import host_of, is_this_machine

_MAX_COUNTED = 2**27
"""Bytes of an answer to a question of ours, such as the tokens of a long prompt."""


def is_plain(base_url: str) -> bool:
    """Whether an address needs nothing that an SDK is for: it is this machine's, and not encrypted."""
    return base_url.lower().startswith("http:") and is_this_machine(host_of(base_url))


class PlainChatProvider(HttpProvider):
    """Replies from a server of this machine that speaks Chat Completions."""

    name: ClassVar[str] = "openai"
    http_errors: ClassVar[HttpErrors] = HttpErrors(PlainHttpError, PlainStatusError, PlainHttpError, PlainHttpError)

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
        super().__init__(abilities, timeout=timeout, limits=limits)
        self._requests = ChatRequests(grammar, counts_tokens=counts_tokens, fields=fields)
        self._api_key = api_key
        headers = {
            "Authorization": f"Bearer {api_key or 'none'}",
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "joey",
        }
        self._client = PlainClient(base_url, headers, timeout)

    @property
    def _address(self) -> str:
        return self._client.base_url

    @property
    def _key(self) -> str | None:
        return self._api_key

    @property
    def takes_grammar(self) -> bool:
        return self._requests.takes_grammar

    async def close(self) -> None:
        self._client.close()

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
