"""Anthropic's Messages, through the official SDK."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

import anthropic
import httpx2

from joey.providers import errors
from joey.providers.base import Connection, ModelRequest, refuse_grammar
from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.decoding.messages import MessagesReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.encoding.messages import PATH, MessagesRequests
from joey.providers.http import TIMEOUT, HttpErrors
from joey.providers.sdk import SdkProvider, errors_of

_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def connect(connection: Connection) -> AnthropicProvider:
    """A provider for `open_model`."""
    refuse_grammar(connection, "anthropic")
    api_key, base_url = connection.api_key, connection.base_url
    return AnthropicProvider(api_key=api_key, base_url=base_url, abilities=connection.abilities)


class AnthropicProvider(SdkProvider):
    """Replies from Anthropic, or from a server that speaks its Messages."""

    name: ClassVar[str] = "anthropic"
    http_errors: ClassVar[HttpErrors] = errors_of(
        anthropic.AnthropicError, anthropic.APIStatusError, anthropic.APIConnectionError
    )
    _stream_class: ClassVar[Any] = anthropic.AsyncStream[Any]

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        abilities: Abilities | None = None,
        betas: Sequence[str] = (),
        timeout: float = TIMEOUT,
        limits: ReplyLimits | None = None,
    ) -> None:
        super().__init__(abilities, timeout=timeout, limits=limits)
        self._requests = MessagesRequests(betas)
        if base_url is not None and not api_key and not any(map(os.environ.get, _KEY_VARIABLES)):
            api_key = "none"  # a local server wants no key, but the SDK wants one
        self._connect(anthropic.AsyncAnthropic, anthropic.DefaultAsyncHttpxClient, base_url, api_key=api_key)
        if not _has_credentials(self._client):
            raise errors.MissingKeyError("no API key for anthropic; set ANTHROPIC_API_KEY")

    async def _post(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        headers = self._requests.headers(request, abilities)
        return await self._send(PATH, self._requests.body(request, abilities), headers)

    def _reader(self) -> ReplyReader:
        return MessagesReader()


def _has_credentials(client: anthropic.AsyncAnthropic) -> bool:
    """Whether the SDK found a key, a token, a profile of the user's, or headers that hold one."""
    headers = {name.lower() for name in (*client.auth_headers, *client.default_headers)}
    return client.credentials is not None or not headers.isdisjoint(("x-api-key", "authorization"))
