"""Which models a server has, and what it says of them.

Every server has a list of models; what stands in it differs. Some have a better one of their own: Ollama says what
each model can do, LM Studio and llama.cpp how large the window is that was loaded, OpenRouter what a token costs. What
is found becomes entries of the catalogue's form (see models.toml); what a server does not say is left out.

Only JSON of a sensible size counts, no redirect is followed (it would take the key along), and servers of this machine
are asked without a proxy.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, TypeAlias

from joey.providers.decoding.shapes import count, items, mapping, text
from joey.providers.endpoints import ENDPOINTS
from joey.providers.errors import NetworkError
from joey.system.hosts import host_of, is_this_machine

Entry: TypeAlias = dict[str, Any]
LOCAL_TIMEOUT = 0.5
"""Seconds for a server of this machine: one that is there answers at once."""
_MAX_BYTES = 32 * 2**20
_MAX_DETAILS = 50
"""Of so many models the details are asked for, one by one."""
_WINDOWS = ("context_length", "max_model_len", "max_context_length", "context_window", "max_input_tokens")
_PRICES = {
    "input": "prompt", "output": "completion", "cache_read": "input_cache_read", "cache_write": "input_cache_write"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundModels:
    """What a server answered: its models with what is known of each, or why there are none."""

    address: str
    models: Mapping[str, Entry] = field(default_factory=dict)
    problem: str = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that can be asked for its models."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 10.0

    def get(self, path: str, body: Any = None) -> Any:
        """The JSON at a path below the address. Raises NetworkError."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": "application/json", **self.headers}
        proxies = [urllib.request.ProxyHandler({})] if is_this_machine(host_of(self.address)) else []
        opener = urllib.request.build_opener(_NoRedirect, *proxies)
        try:
            request = urllib.request.Request(self.address.rstrip("/") + path, data, headers)  # noqa: S310 - checked
            with opener.open(request, timeout=self.timeout) as answer:
                return json.loads(answer.read(_MAX_BYTES))
        except (OSError, ValueError, HTTPException, RecursionError) as error:
            raise NetworkError(f"{self.address} did not answer with a list of models ({_words(error)})") from None

    def above(self) -> ModelServer:
        """The same server, without the version at the end of its address."""
        return ModelServer(self.address.rstrip("/").removesuffix("/v1"), self.headers, self.timeout)


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code}"
    return str(getattr(error, "reason", "") or error) or type(error).__name__


def find_models(provider: str, address: str, key: str | None = None, timeout: float = 10.0) -> FoundModels:
    """The models of a provider's server at an address."""
    headers: dict[str, str] = {"Authorization": f"Bearer {key}"} if key else {}
    if provider == "anthropic":
        headers = {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    try:
        return FoundModels(address, _READERS.get(provider, _listed)(ModelServer(address, headers, timeout)))
    except NetworkError as error:
        return FoundModels(address, problem=error.reason)


def find_local_servers(addresses: Mapping[str, str], timeout: float = LOCAL_TIMEOUT) -> dict[str, FoundModels]:
    """The servers of this machine that answer, by provider; all are asked at once. Others are not asked at all."""
    here = {name: address for name, address in addresses.items() if is_this_machine(host_of(address))}
    with ThreadPoolExecutor(max(1, len(here))) as pool:
        answers = pool.map(lambda name: find_models(name, here[name], timeout=timeout), here)
        return {name: found for name, found in zip(here, answers, strict=True) if not found.problem}


def usual_addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Where each provider is: where the environment says, else at its own address or usual port."""
    own = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
    return {
        name: environment.get(endpoint.base_url_variable or "") or endpoint.base_url or own[name]
        for name, endpoint in ENDPOINTS.items()
    }


# What each server says


def _listed(server: ModelServer) -> dict[str, Entry]:
    """OpenAI's list, and what others add to it."""
    answer = server.get("/models")
    entries = items(mapping(answer).get("data")) if isinstance(answer, dict) else items(answer)
    if not entries and not isinstance(mapping(answer).get("data"), list):
        raise NetworkError(f"{server.address} did not answer with a list of models (another kind of answer)")
    return {text(each["id"]): _entry(each) for each in map(mapping, entries) if text(each.get("id"))}


def _entry(listed: Mapping[str, Any]) -> Entry:
    window = next((found for name in _WINDOWS if (found := count(listed.get(name)))), None)
    meta, top = mapping(listed.get("meta")), mapping(listed.get("top_provider"))
    capabilities = mapping(listed.get("capabilities"))
    entry: Entry = {
        "window": window or count(meta.get("n_ctx")) or count(meta.get("n_ctx_train")),
        "max_output": count(top.get("max_completion_tokens")) or count(listed.get("max_tokens")),
        "price": _price(mapping(listed.get("pricing"))),
        "images": _has(
            "image", mapping(listed.get("architecture")).get("input_modalities"), capabilities.get("vision")
        ),
        "tools": _has("tools", listed.get("supported_parameters"), capabilities.get("function_calling")),
    }
    return {name: value for name, value in entry.items() if value is not None}


def _has(word: str, words: Any, flag: Any) -> bool | None:
    """Whether a list has a word, or a flag says so; None if neither is there."""
    if isinstance(words, list):
        return word in words
    return flag if isinstance(flag, bool) else None


def _price(pricing: Mapping[str, Any]) -> Entry | None:
    """OpenRouter's prices: dollars for one token, as texts. A router's own models cost -1, which says nothing."""
    found: Entry = {}
    for name, theirs in _PRICES.items():
        try:
            dollars = float(pricing[theirs]) * 1e6
        except (KeyError, TypeError, ValueError):
            continue
        if 0 <= dollars < float("inf"):
            found[name] = round(dollars, 6)
    return found if {"input", "output"} <= set(found) else None


def _anthropic(server: ModelServer) -> dict[str, Entry]:
    return _listed(ModelServer(f"{server.address.rstrip('/')}/v1", server.headers, server.timeout))


def _ollama(server: ModelServer) -> dict[str, Entry]:
    """Ollama's own list; the OpenAI one says nothing of a model but its name."""
    above = server.above()
    names = [text(mapping(each).get("name")) for each in items(mapping(above.get("/api/tags")).get("models"))]
    if not names:
        return _listed(server)
    return {
        name: _details(above, name) if place < _MAX_DETAILS else {} for place, name in enumerate(filter(None, names))
    }


def _details(server: ModelServer, name: str) -> Entry:
    try:
        shown = mapping(server.get("/api/show", {"model": name}))
    except NetworkError:
        return {}
    window = next((count(value) for key, value in mapping(shown.get("model_info")).items() if _is_window(key)), None)
    can = shown.get("capabilities")
    entry: Entry = {"window": window, "tools": _has("tools", can, None), "images": _has("vision", can, None)}
    return {key: value for key, value in entry.items() if value is not None}


def _is_window(key: str) -> bool:
    return key.endswith(".context_length")


def _llamacpp(server: ModelServer) -> dict[str, Entry]:
    """The window that was loaded is in the server's properties; the list has only what the model was trained for."""
    models = _listed(server)
    try:
        properties = mapping(server.above().get("/props"))
    except NetworkError:
        return models
    loaded = count(mapping(properties.get("default_generation_settings")).get("n_ctx"))
    sees = _has("", None, mapping(properties.get("modalities")).get("vision"))
    more = {key: value for key, value in (("window", loaded), ("images", sees)) if value is not None}
    return {name: {**entry, **more} for name, entry in models.items()}


def _lmstudio(server: ModelServer) -> dict[str, Entry]:
    try:
        listed = [mapping(each) for each in items(mapping(server.above().get("/api/v0/models")).get("data"))]
    except NetworkError:
        return _listed(server)
    models = {}
    for each in listed:
        if text(each.get("type")) in ("llm", "vlm", ""):
            window = count(each.get("loaded_context_length")) or count(each.get("max_context_length"))
            sees = each.get("type") == "vlm" if each.get("type") else None
            entry: Entry = {"window": window, "images": sees, "tools": _has("tool_use", each.get("capabilities"), None)}
            models[text(each.get("id"))] = {key: value for key, value in entry.items() if value is not None}
    return {name: entry for name, entry in models.items() if name} or _listed(server)


_READERS: Mapping[str, Callable[[ModelServer], dict[str, Entry]]] = {
    "anthropic": _anthropic,
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "lmstudio": _lmstudio,
}
