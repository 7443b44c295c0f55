"""An upstream that is named by its address. It needs no settings: a gateway in front of one starts without them.

The server is asked once what it is: llama.cpp says how large its window is, how many requests it takes at a time and
which chat template the model has, and takes grammars; vLLM takes grammars and lists its window. Any other server is
taken for one whose models call tools natively, unless a protocol is chosen.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from joey.errors import UsageError
from joey.gateway.upstream import Upstream, choose_protocol
from joey.providers import NetworkError, Provider, open_model
from joey.providers.catalogue import Abilities, Api, abilities_of
from joey.providers.decoding.shapes import count, items, mapping, text
from joey.providers.endpoints import is_plain
from joey.providers.plain_chat import PlainChatProvider
from joey.providers.plain_http import PlainClient, PlainHttpError
from joey.wire import JsonObject

KEY_VARIABLE = "JOEY_UPSTREAM_KEY"
AUTO = "auto"
_PROBE_TIMEOUT = 3.0
_MAX_PROBED = 4 * 2**20

Get: TypeAlias = Callable[[str], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class UpstreamChoice:
    """What somebody says about an upstream: each part as a flag or a line of the settings has it."""

    model: str | None = None
    url: str | None = None
    api: Api | None = None
    protocol: str | None = None
    grammar: str | None = None
    key_variable: str = KEY_VARIABLE
    aliases: tuple[str, ...] = ()
    slots: int | None = None
    window: int | None = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> UpstreamChoice:
        given: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in entry.items()}
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Probed:
    """What a server says about itself."""

    grammar: str | None = None
    window: int | None = None
    slots: int | None = None
    template: str = ""


def upstream_at(url: str, chosen: UpstreamChoice, name: str = "") -> Upstream:
    """The server at an address."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not a server address; it must begin with http:// or https://")
    address = url.rstrip("/") if url.rstrip("/").endswith("/v1") else f"{url.rstrip('/')}/v1"
    key = os.environ.get(chosen.key_variable) if chosen.key_variable else None
    model = chosen.model or _first_model(address, key)
    probed = probe(address, key) if chosen.api in (None, "chat") else Probed()
    grammar = probed.grammar or "off" if chosen.grammar in (None, AUTO) else chosen.grammar
    if chosen.api in (None, "chat") and is_plain(address):

        def with_fields(fields: JsonObject) -> Provider:
            return _plain(chosen, address, key, model, grammar, probed, fields)

        return replace(made(chosen, with_fields({}), model, name, probed), with_fields=with_fields)
    provider, _ = open_model(
        f"{'anthropic' if chosen.api == 'messages' else 'openai'}/{model}",
        base_url=address.removesuffix("/v1") if chosen.api == "messages" else address,
        api_key=key or "none",
        abilities=_abilities(model, chosen, probed),
        grammar=grammar,
        api=None if chosen.api == "messages" else chosen.api or "chat",
    )
    return made(chosen, provider, model, name, probed)


def made(chosen: UpstreamChoice, provider: Provider, model: str, name: str, probed: Probed) -> Upstream:
    """A provider as the upstream that was chosen."""
    protocol = choose_protocol(provider, model, chosen.protocol, probed.template)
    slots = chosen.slots or probed.slots or Upstream.slots
    shown = name or model.removesuffix(".gguf").rpartition("/")[2]
    return Upstream(provider, model, protocol, shown, slots, window=chosen.window, aliases=chosen.aliases)


def _plain(
    chosen: UpstreamChoice,
    address: str,
    key: str | None,
    model: str,
    grammar: str | None,
    probed: Probed,
    fields: JsonObject,
) -> Provider:
    """A server of this machine: cheaper without an SDK. llama.cpp reports how far it is with a prompt, so that it sees
    at once when nobody waits for the reply any more."""
    return PlainChatProvider(
        address,
        api_key=key,
        abilities=_abilities(model, chosen, probed),
        grammar=None if grammar == "off" else grammar,
        fields={**fields, **({"return_progress": True} if probed.grammar == "llama.cpp" else {})},
    )


def _abilities(model: str, chosen: UpstreamChoice, probed: Probed) -> Abilities:
    known = abilities_of(model)
    return replace(known, context_window=chosen.window or probed.window or known.context_window)


def _first_model(address: str, key: str | None) -> str:
    from joey.providers.discovery import find_models

    found = find_models("openai", address, key, _PROBE_TIMEOUT)
    if found.problem:
        raise UsageError(f"{found.problem}; start the server, check --upstream, or name the model with --model")
    if not found.models:
        raise UsageError(f"{address} lists no models; name one with --model")
    return next(iter(found.models))


def probe(address: str, key: str | None, *, timeout: float = _PROBE_TIMEOUT) -> Probed:
    """What a server says about itself; nothing for one that says nothing."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    get = (_plain_get if is_plain(address) else _get)(address, headers, timeout)
    return asyncio.run(_probed(get))


async def _probed(get: Get) -> Probed:
    try:
        properties = mapping(await get("/props"))
        window = count(mapping(properties.get("default_generation_settings")).get("n_ctx"))
        if window:
            slots, template = count(properties.get("total_slots")), text(properties.get("chat_template"))
            return Probed("llama.cpp", window, slots, template)
    except NetworkError:
        pass
    try:
        if text(mapping(await get("/version")).get("version")):
            return Probed("vllm", await _vllm_window(get))
    except NetworkError:
        pass
    return Probed()


async def _vllm_window(get: Get) -> int | None:
    """It is the same for all that one server lists: adapters of one model."""
    try:
        listed = items(mapping(await get("/v1/models")).get("data"))
    except NetworkError:
        return None
    return next((found for each in listed if (found := count(mapping(each).get("max_model_len")))), None)


def _plain_get(address: str, headers: Mapping[str, str], timeout: float) -> Get:
    """Reads from a server of this machine, over the client that its requests will use."""
    client = PlainClient(address, {"Accept": "application/json", **headers}, timeout)

    async def get(path: str) -> Any:
        try:
            async with asyncio.timeout(timeout):
                response = await client.get(client.beside(path), _MAX_PROBED)
            return json.loads(response.content)
        except (PlainHttpError, TimeoutError, ValueError, RecursionError):
            raise NetworkError(f"{address} did not answer") from None
        finally:
            client.close()

    return get


def _get(address: str, headers: Mapping[str, str], timeout: float) -> Get:
    """Reads from any other server: its certificate is checked, and a proxy is used where there is one."""
    from joey.providers.discovery import ModelServer

    server = ModelServer(address, headers, timeout).above()

    async def get(path: str) -> Any:
        return await asyncio.to_thread(server.get, path)

    return get
