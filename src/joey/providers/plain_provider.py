"""A provider for servers of this machine, without an SDK: cheaper to start and for each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.http import HttpErrors, HttpProvider
from joey.providers.plain_http import PlainClient, PlainHttpError, PlainStatusError

_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "joey",
}


class PlainProvider(HttpProvider):
    """Replies from a server of this machine."""

    http_errors: ClassVar[HttpErrors] = HttpErrors(PlainHttpError, PlainStatusError, PlainHttpError, PlainHttpError)

    def __init__(
        self,
        base_url: str,
        key: str | None,
        headers: Mapping[str, str],
        *,
        abilities: Abilities | None,
        timeout: float,
        limits: ReplyLimits | None,
    ) -> None:
        """`headers` sign the request with the key."""
        super().__init__(abilities, timeout=timeout, limits=limits)
        self._api_key = key
        self._client = PlainClient(base_url, {**headers, **_HEADERS}, timeout)

    @property
    def _address(self) -> str:
        return self._client.base_url

    @property
    def _key(self) -> str | None:
        return self._api_key

    async def close(self) -> None:
        self._client.close()
