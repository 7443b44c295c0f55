"""Where replies come from: one conversation, many wire formats.

    provider, model = joey.providers.open_model("anthropic/claude-sonnet-4-5")
    async for chunk in provider.stream(Request(model, messages)): ...

A model is named `provider/model`. The SDKs load when a provider of theirs is opened, not before.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joey.errors import UsageError
from joey.providers.abilities import Abilities, abilities_of
from joey.providers.base import Provider, Reasoning, Request
from joey.providers.errors import (
    AuthError,
    BadRequestError,
    ContextTooLongError,
    CutStreamError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from joey.providers.local.engine import EngineOptions
from joey.providers.prices import Price, Prices
from joey.providers.retry import Retry, RetryPolicy, with_retries

__all__ = [
    "ENDPOINTS",
    "LOCAL",
    "Abilities",
    "AuthError",
    "BadRequestError",
    "ContextTooLongError",
    "CutStreamError",
    "Endpoint",
    "EngineOptions",
    "NetworkError",
    "OverloadedError",
    "Price",
    "Prices",
    "Provider",
    "ProviderError",
    "RateLimitError",
    "Reasoning",
    "Request",
    "Retry",
    "RetryPolicy",
    "abilities_of",
    "open_model",
    "with_retries",
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place that serves models: its wire format, its address, and the variable that holds its key."""

    wire: str
    key_variable: str
    base_url: str | None = None
    base_url_variable: str | None = None

    @property
    def needs_key(self) -> bool:
        """Whether it is out there, and not a server of the user's own."""
        return self.base_url is not None and self.base_url.startswith("https:")


ENDPOINTS: Mapping[str, Endpoint] = {
    "anthropic": Endpoint("anthropic", "ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL"),
    "openai": Endpoint("openai", "OPENAI_API_KEY", None, "OPENAI_BASE_URL"),
    "openrouter": Endpoint("openai", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "deepseek": Endpoint("openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    "mistral": Endpoint("openai", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    "ollama": Endpoint("openai", "OLLAMA_API_KEY", "http://localhost:11434/v1", "OLLAMA_BASE_URL"),
    "llamacpp": Endpoint("openai", "LLAMACPP_API_KEY", "http://localhost:8080/v1", "LLAMACPP_BASE_URL"),
    "lmstudio": Endpoint("openai", "LMSTUDIO_API_KEY", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL"),
    "vllm": Endpoint("openai", "VLLM_API_KEY", "http://localhost:8000/v1", "VLLM_BASE_URL"),
}
"""The providers that can be named in front of a model."""
LOCAL = "local"
"""And the one that is no place: a model in this process."""


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    abilities: Abilities | None = None,
    grammar: str | None = None,
    engine: EngineOptions | None = None,
) -> tuple[Provider, str]:
    """The provider that serves this model, and the model's name there. `base_url` puts another server in its place.

    `grammar` names the way in which an OpenAI-compatible server is told what a legal reply is, such as `llama.cpp`,
    or turns it off; None leaves it to the provider: a model in this process is told, others are not. `engine` says how
    such a model (`local/…`) is run.
    """
    provider, slash, model = name.partition("/")
    if provider == LOCAL and model:
        return _open_local(model, base_url, abilities, grammar, engine), model
    if not slash or not model or provider not in ENDPOINTS:
        raise UsageError(_unknown(name, provider))
    endpoint = ENDPOINTS[provider]
    grammar = None if grammar == "off" else grammar
    address = base_url or _from_environment(endpoint) or endpoint.base_url
    if address == endpoint.base_url and endpoint.needs_key and not (api_key or os.environ.get(endpoint.key_variable)):
        raise AuthError(f"there is no key for {provider}: set {endpoint.key_variable}.")
    options: dict[str, Any] = {"base_url": address, "api_key": api_key, "abilities": abilities}
    if endpoint.wire == "openai":
        options |= {"key_variable": endpoint.key_variable, "grammar": grammar}
        return importlib.import_module("joey.providers.openai_chat").OpenAIProvider(**options), model
    if grammar is not None:
        raise UsageError(f"{provider} takes no grammar; servers that speak OpenAI's format may, such as llamacpp/…")
    return importlib.import_module("joey.providers.anthropic").AnthropicProvider(**options), model


def _open_local(
    model: str,
    base_url: str | None,
    abilities: Abilities | None,
    grammar: str | None,
    engine: EngineOptions | None,
) -> Provider:
    if base_url is not None:
        raise UsageError(f"local/{model} runs in this process, without a base_url; a server is llamacpp/… or openai/…")
    made: Provider = importlib.import_module("joey.providers.local.provider").LocalProvider(
        model, abilities=abilities, options=engine, takes_grammar=grammar != "off"
    )
    return made


def _from_environment(endpoint: Endpoint) -> str | None:
    return os.environ.get(endpoint.base_url_variable) if endpoint.base_url_variable else None


def _unknown(name: str, provider: str) -> str:
    near = difflib.get_close_matches(provider, (*ENDPOINTS, LOCAL), n=1)
    hint = f" Did you mean {near[0]!r}?" if near and near[0] != provider else ""
    return f"the model {name!r} is not named provider/model.{hint} Providers: {', '.join((*ENDPOINTS, LOCAL))}"
