"""Where replies come from: one conversation, many wire formats.

    provider, model = joey.providers.open_model("anthropic/claude-sonnet-4-5")
    async for chunk in provider.stream(Request(model, messages)): ...

A model is named `provider/model`. The SDKs load when a provider of theirs is opened, not before.
"""

from __future__ import annotations

import difflib
import importlib
import os
from dataclasses import replace

from joey.errors import UsageError
from joey.providers.base import Connection, EngineOptions, ModelRequest, Provider, ReasoningOptions
from joey.providers.catalogue import Abilities, Api, Catalogue, Prices, abilities_of
from joey.providers.endpoints import ENDPOINTS, LOCAL, Endpoint, module_for
from joey.providers.errors import (
    AuthError,
    BadRequestError,
    ContextTooLongError,
    CutStreamError,
    MissingKeyError,
    NetworkError,
    NoServerError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    ReplyTooLargeError,
)
from joey.providers.prices import Price
from joey.providers.retry import Retry, RetryPolicy, with_retries
from joey.system.hosts import is_address

__all__ = [
    "ENDPOINTS",
    "LOCAL",
    "Abilities",
    "AuthError",
    "BadRequestError",
    "Catalogue",
    "Connection",
    "ContextTooLongError",
    "CutStreamError",
    "Endpoint",
    "EngineOptions",
    "MissingKeyError",
    "ModelRequest",
    "NetworkError",
    "NoServerError",
    "OverloadedError",
    "Price",
    "Prices",
    "Provider",
    "ProviderError",
    "RateLimitError",
    "ReasoningOptions",
    "ReplyTooLargeError",
    "Retry",
    "RetryPolicy",
    "abilities_of",
    "open_model",
    "split_name",
    "with_retries",
]


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    abilities: Abilities | None = None,
    grammar: str | None = None,
    engine: EngineOptions | None = None,
    api: Api | None = None,
    custom_tools: bool = False,
) -> tuple[Provider, str]:
    """The provider that serves this model, and the model's name there. `base_url` puts another server in its place.

    `grammar` names the form in which an OpenAI-compatible server takes a grammar of the reply, such as `llama.cpp`, or
    is `off`; None lets the provider decide: a model in this process gets one, others do not. `engine` says how such a
    model (`local/…`) is run. `api` is one that the server speaks; None takes the one that the model needs.
    `custom_tools` offers tools that are one text as such, to models that were trained on it (Responses only).
    """
    provider, model = split_name(name)
    endpoint = ENDPOINTS.get(provider, _LOCAL)
    address = base_url or os.environ.get(endpoint.base_url_variable or "") or endpoint.base_url
    check_address(address)
    if address == endpoint.base_url and endpoint.needs_key and not (api_key or os.environ.get(endpoint.key_variable)):
        raise MissingKeyError(f"no API key for {provider}; set {endpoint.key_variable}")
    if api is not None:
        address, abilities = _for_api(api, endpoint, address), _through(api, abilities or abilities_of(model))
    connection = Connection(
        model, address, api_key, endpoint.key_variable, abilities, grammar, engine, custom_tools, endpoint.fields
    )
    opened: Provider = importlib.import_module(module_for(api or endpoint.wire, address)).connect(connection)
    return opened, model


def check_address(address: str | None) -> None:
    """Raises UsageError for what is no address of a server."""
    if address and not is_address(address):
        raise UsageError(f"{address!r} is no address of a server; write it whole, such as http://localhost:8080/v1")


def _for_api(api: Api, endpoint: Endpoint, address: str | None) -> str | None:
    """The address at which a server speaks an API that is not the provider's usual one."""
    usual = "messages" if endpoint.wire == "anthropic" else "chat"
    if endpoint.wire == LOCAL:
        raise UsageError("a local/ model has no API to choose; leave --api out")
    if address is None and (api == "messages") != (usual == "messages"):
        raise UsageError(f"the provider's own server does not speak the {api} API; name another one with --base-url")
    if api == "messages" and usual == "chat" and address:
        return address.rstrip("/").removesuffix("/v1")  # Anthropic's SDK adds it
    return address


def _through(api: Api, abilities: Abilities) -> Abilities:
    """What a model takes through an API that was chosen for it: without tools, where only another takes them."""
    return replace(abilities, tools=False) if api == "chat" and abilities.api == "responses" else abilities


_LOCAL = Endpoint(LOCAL, key_variable="")


def split_name(name: str) -> tuple[str, str]:
    """The provider and the model of `provider/model`. Raises UsageError for what no provider serves."""
    provider, _, model = name.partition("/")
    if not model or provider not in (*ENDPOINTS, LOCAL):
        raise UsageError(_unknown(name, provider))
    return provider, model


def _unknown(name: str, provider: str) -> str:
    providers = (*ENDPOINTS, LOCAL)
    if provider in providers or "/" not in name:
        full = Catalogue().near(name) if "/" not in name else None
        hint = f" Did you mean {full}?" if full else ""
        return f"{name!r} is not of the form provider/model; providers: {', '.join(providers)}.{hint}"
    near = difflib.get_close_matches(provider, providers, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no provider {provider!r}{hint} Providers: {', '.join(providers)}"
