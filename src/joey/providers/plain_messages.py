"""Anthropic's Messages from a server of this machine, without an SDK."""

from __future__ import annotations

import os
from typing import ClassVar

from joey.providers.base import Connection, ModelRequest, refuse_grammar
from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.decoding.messages import MessagesReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.encoding.messages import PATH, MessagesRequests
from joey.providers.http import TIMEOUT, checked_key
from joey.providers.plain_http import PlainResponse
from joey.providers.plain_provider import PlainProvider

_VERSION = "2023-06-01"


def connect(connection: Connection) -> PlainMessagesProvider:
    """A provider for `open_model`."""
    assert connection.base_url is not None
    refuse_grammar(connection, "anthropic")
    key = checked_key(connection.api_key or os.environ.get(connection.key_variable))
    token = None if connection.api_key else checked_key(os.environ.get("ANTHROPIC_AUTH_TOKEN"))
    return PlainMessagesProvider(connection.base_url, api_key=key, token=token, abilities=connection.abilities)


class PlainMessagesProvider(PlainProvider):
    """Replies from a server of this machine that speaks Anthropic's Messages."""

    name: ClassVar[str] = "anthropic"

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        token: str | None = None,
        abilities: Abilities | None = None,
        timeout: float = TIMEOUT,
        limits: ReplyLimits | None = None,
    ) -> None:
        signed = {"Authorization": f"Bearer {token}"} if token else {}
        if api_key or not token:
            signed["X-Api-Key"] = api_key or "none"
        headers = {**signed, "Anthropic-Version": _VERSION}
        super().__init__(base_url, api_key or token, headers, abilities=abilities, timeout=timeout, limits=limits)
        self._requests = MessagesRequests()

    async def _post(self, request: ModelRequest, abilities: Abilities) -> PlainResponse:
        body, headers = self._requests.body(request, abilities), self._requests.headers(request, abilities)
        return await self._client.post(self._client.below(PATH), body.pieces, self._limits.error, headers)

    def _reader(self) -> ReplyReader:
        return MessagesReader()
