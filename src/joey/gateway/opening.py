"""The upstreams of a gateway: from the command line, from the settings, or the model in the box. One that is named by
its address, in `addressed`, needs none of this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from joey.app.models import catalogue
from joey.app.sources import key_for
from joey.config import Config
from joey.errors import UsageError
from joey.gateway.addressed import AUTO, KEY_VARIABLE, Probed, UpstreamChoice, made, upstream_at
from joey.gateway.refusal import invalid
from joey.gateway.upstream import Upstream
from joey.gateway.wires.fields import LOGIT_BIAS
from joey.providers import LOCAL, EngineOptions, Provider, open_model
from joey.wire import JsonObject

LOCAL_WINDOW = 32768
"""Tokens of a conversation with a model in this process; fewer if the model takes fewer."""


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
        return upstream_at(chosen.url, chosen, name)
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
        return made(chosen, provider, model, name, Probed())

    open_local: Callable[..., Provider] = type(provider)  # its module is loaded only with a model of this process

    def with_fields(fields: JsonObject) -> Provider:
        """The engine is one for all of them. It needs the weights of tokens for itself."""
        if LOGIT_BIAS in fields:
            raise invalid(f"{LOGIT_BIAS}: not supported by local models", LOGIT_BIAS)
        return open_local(model, options=engine, takes_grammar=grammar != "off", fields=fields)

    return replace(made(chosen, provider, model, name, Probed(slots=1)), with_fields=with_fields)


def _engine(chosen: UpstreamChoice, config: Config) -> EngineOptions:
    """Agents send prompts of 12,000 tokens and more: the window that is enough for Joey's own tasks is not for them."""
    options = EngineOptions(**config.part("engine"))
    return replace(options, context=chosen.window or options.context or LOCAL_WINDOW)
