"""The upstreams of a gateway: from the command line, from the settings, or the model in the box.

A server that is named by its address is asked once what it is: llama.cpp says how large its window is, how many
requests it takes at a time and which chat template the model has, and takes grammars; vLLM takes grammars. Any other
server is taken for one whose models call tools natively, unless a protocol is chosen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from joey.app.models import catalogue
from joey.app.sources import key_for
from joey.config import Config
from joey.errors import UsageError
from joey.gateway.refusal import invalid
from joey.gateway.upstream import Upstream, choose_protocol
from joey.gateway.wires.fields import LOGIT_BIAS
from joey.providers import LOCAL, EngineOptions, NetworkError, Provider, open_model
from joey.providers.catalogue import Abilities, Api, abilities_of
from joey.providers.decoding.shapes import count, mapping, text
from joey.providers.discovery import ModelServer, find_models
from joey.providers.endpoints import is_plain
from joey.providers.plain_chat import PlainChatProvider
from joey.wire import JsonObject

KEY_VARIABLE = "JOEY_UPSTREAM_KEY"
AUTO = "auto"
LOCAL_WINDOW = 32768
"""Tokens of a conversation with a model in this process; fewer if the model takes fewer."""
_PROBE_TIMEOUT = 3.0


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


def open_upstreams(chosen: UpstreamChoice, config: Config) -> list[Upstream]:
    """Those to serve: the one of the command line, else those of the settings, else the model in the box."""
    if chosen.model is None and chosen.url is None and config.upstreams:
        return [_named(name, entry, config) for name, entry in config.upstreams.items()]
    if chosen.url is None and chosen.model is None:
        chosen = replace(chosen, model=in_the_box())
    return [open_upstream(chosen, config)]


def _named(name: str, entry: Mapping[str, Any], config: Config) -> Upstream:
    setting = config.settings[f"upstreams.{name}"]
    try:
        choice = UpstreamChoice.read(entry)
        return open_upstream(_without_key(choice) if setting.origin == "project" else choice, config, name)
    except UsageError as error:
        raise UsageError(f"{setting.where}: {error}") from None


def _without_key(choice: UpstreamChoice) -> UpstreamChoice:
    """An upstream of a project's file: a folder that is trusted may name a server, and gets no key of the user's."""
    if choice.key_variable != KEY_VARIABLE:
        raise UsageError(
            "key_variable is allowed only in your own settings; move this upstream there, or remove the line"
        )
    return replace(choice, key_variable="")


def in_the_box() -> str:
    """The best model that runs on this machine."""
    from joey.providers.local.weights import installed_models

    names = installed_models()
    if not names:
        raise UsageError(
            "no model is installed on this machine; run `joey local install`, or name one with --model or --upstream"
        )
    return f"{LOCAL}/{names[0]}"


def open_upstream(chosen: UpstreamChoice, config: Config, name: str = "") -> Upstream:
    if chosen.url is not None:
        return _at(chosen, chosen.url, name)
    if chosen.model is None:
        raise UsageError("an upstream needs a model or a url")
    is_local = chosen.model.startswith(f"{LOCAL}/")
    engine, grammar = _engine(chosen, config), None if chosen.grammar == AUTO else chosen.grammar
    provider, model = open_model(
        chosen.model,
        api_key=key_for(chosen.model),
        abilities=None if is_local else catalogue(config).facts(chosen.model).abilities,
        grammar=grammar,
        engine=engine,
        api=chosen.api,
    )
    if not is_local:
        return _made(chosen, provider, model, name, Probed())

    open_local: Callable[..., Provider] = type(provider)  # its module is loaded only with a model of this process

    def with_fields(fields: JsonObject) -> Provider:
        """The engine is one for all of them. It needs the weights of tokens for itself."""
        if LOGIT_BIAS in fields:
            raise invalid(f"{LOGIT_BIAS}: not supported by local models", LOGIT_BIAS)
        return open_local(model, options=engine, takes_grammar=grammar != "off", fields=fields)

    return replace(_made(chosen, provider, model, name, Probed(slots=1)), with_fields=with_fields)


def _engine(chosen: UpstreamChoice, config: Config) -> EngineOptions:
    """Agents send prompts of 12,000 tokens and more: the window that is enough for Joey's own tasks is not for them."""
    options = EngineOptions(**config.part("engine"))
    return replace(options, context=chosen.window or options.context or LOCAL_WINDOW)


def _at(chosen: UpstreamChoice, url: str, name: str) -> Upstream:
    """A server by its address."""
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

        return replace(_made(chosen, with_fields({}), model, name, probed), with_fields=with_fields)
    provider, _ = open_model(
        f"{'anthropic' if chosen.api == 'messages' else 'openai'}/{model}",
        base_url=address.removesuffix("/v1") if chosen.api == "messages" else address,
        api_key=key or "none",
        abilities=_abilities(model, chosen, probed),
        grammar=grammar,
        api=None if chosen.api == "messages" else chosen.api or "chat",
    )
    return _made(chosen, provider, model, name, probed)


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


def _made(chosen: UpstreamChoice, provider: Provider, model: str, name: str, probed: Probed) -> Upstream:
    protocol = choose_protocol(provider, model, chosen.protocol, probed.template)
    slots = chosen.slots or probed.slots or Upstream.slots
    shown = name or model.removesuffix(".gguf").rpartition("/")[2]
    return Upstream(provider, model, protocol, shown, slots, window=chosen.window, aliases=chosen.aliases)


def _first_model(address: str, key: str | None) -> str:
    found = find_models("openai", address, key, _PROBE_TIMEOUT)
    if found.problem:
        raise UsageError(f"{found.problem}; start the server, check --upstream, or name the model with --model")
    if not found.models:
        raise UsageError(f"{address} lists no models; name one with --model")
    return next(iter(found.models))


def probe(address: str, key: str | None) -> Probed:
    """What a server says about itself; nothing for one that says nothing."""
    server = ModelServer(address, {"Authorization": f"Bearer {key}"} if key else {}, _PROBE_TIMEOUT).above()
    try:
        properties = mapping(server.get("/props"))
        window = count(mapping(properties.get("default_generation_settings")).get("n_ctx"))
        if window:
            slots, template = count(properties.get("total_slots")), text(properties.get("chat_template"))
            return Probed("llama.cpp", window, slots, template)
    except NetworkError:
        pass
    try:
        if text(mapping(server.get("/version")).get("version")):
            return Probed("vllm")
    except NetworkError:
        pass
    return Probed()
