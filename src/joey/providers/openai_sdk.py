"""What OpenAI's two APIs share: the client of the official SDK, and a request that is bytes already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

import openai

from joey.providers import errors
from joey.providers.catalogue import Abilities
from joey.providers.decoding.decoder import ReplyLimits
from joey.providers.http import TIMEOUT, HttpErrors
from joey.providers.sdk import SdkProvider, errors_of

KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIOptions(TypedDict, total=False):
    """What either API is opened with. `fields` are a server's own, put into the body of every request."""

    api_key: str | None
    base_url: str | None
    abilities: Abilities | None
    headers: Mapping[str, str] | None
    key_variable: str
    timeout: float
    limits: ReplyLimits | None
    fields: Mapping[str, Any] | None


class OpenAISdkProvider(SdkProvider):
    """Replies through OpenAI's SDK, from any address."""

    name: ClassVar[str] = "openai"
    http_errors: ClassVar[HttpErrors] = errors_of(openai.OpenAIError, openai.APIStatusError, openai.APIConnectionError)
    _stream_class: ClassVar[Any] = openai.AsyncStream[Any]

    def __init__(self, **options: Unpack[OpenAIOptions]) -> None:
        super().__init__(
            options.get("abilities"), timeout=options.get("timeout", TIMEOUT), limits=options.get("limits")
        )
        self._fields = dict(options.get("fields") or {})
        key_variable, base_url = options.get("key_variable", KEY_VARIABLE), options.get("base_url")
        key = options.get("api_key") or os.environ.get(key_variable)
        if not key and base_url is None:
            raise errors.MissingKeyError(f"no API key for {self.name}; set {key_variable}")
        # Local servers want no key, but the SDK wants one.
        own = {"api_key": key or "none", "default_headers": options.get("headers")}
        self._connect(openai.AsyncOpenAI, openai.DefaultAsyncHttpxClient, base_url, **own)
