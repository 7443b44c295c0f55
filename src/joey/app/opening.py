"""The model of a task, opened as the settings say: its server, key and API, how it thinks, and who replaces it."""

from __future__ import annotations

from joey.app.dialects import GRAMMAR_SERVERS, choose_protocol
from joey.app.models import catalogue
from joey.app.settings import located_at
from joey.app.sources import key_for
from joey.config import Config
from joey.errors import UsageError
from joey.protocols import Protocol
from joey.providers import LOCAL, Abilities, EngineOptions, Provider, ReasoningOptions, check_address, open_model
from joey.providers.catalogue import ModelFacts
from joey.providers.fallback import FallbackProvider, OpenedModel
from joey.task.config import FastModel


def open_with_fallbacks(name: str, config: Config) -> tuple[Provider, str]:
    """The model of this name, with those behind it that the settings name."""
    opened = OpenedModel(*open_configured(name, config), name)
    if not (others := config.value("fallback_models")):
        return opened.provider, opened.model
    return FallbackProvider([opened, *(_fallback(other, config) for other in others)]), opened.model


def open_configured(name: str, config: Config) -> tuple[Provider, str]:
    """The model of this name, at the address and with the key that are configured for it."""
    with located_at(config.settings["base_url"]):
        check_address(config.base_url_for(name))
    with located_at(config.settings["model"]):
        return open_named(name, config)


def open_named(name: str, config: Config) -> tuple[Provider, str]:
    """The same for a model that something else than the setting `model` names."""
    is_local = name.startswith(f"{LOCAL}/")
    return open_model(
        name,
        base_url=config.base_url_for(name),
        api_key=key_for(name),
        abilities=None if is_local else catalogue(config).facts(name).abilities,
        grammar=config.value("grammar") or _grammar_for(name, config),
        engine=EngineOptions(**config.part("engine")),
        api=config.value("api") if not is_local or config.settings["api"].origin == "flag" else None,
        custom_tools=config.value("tools.custom_patch"),
    )


def _grammar_for(name: str, config: Config) -> str | None:
    """The form of grammar that goes with the protocol of this model, where its server takes one."""
    if name.partition("/")[0] not in GRAMMAR_SERVERS or config.value("api") not in (None, "chat"):
        return None
    return choose_protocol(config, name, catalogue(config).facts(name).abilities).grammar


def _fallback(name: str, config: Config) -> OpenedModel:
    with located_at(config.settings["fallback_models"]):
        return OpenedModel(*open_named(name, config), name, config.value("reasoning.fallback_effort"))


def open_fast(config: Config) -> FastModel | None:
    """The model for summaries, if the settings name one."""
    name = config.value("fast_model")
    if not name:
        return None
    with located_at(config.settings["fast_model"]):
        provider, model = open_named(name, config)
    effort = config.value("reasoning.fast_effort")
    reasoning = ReasoningOptions(provider.abilities(model).nearest_effort(effort)) if effort else None
    return FastModel(provider, model, name, reasoning)


def reasoning_of(config: Config, name: str, facts: ModelFacts, abilities: Abilities) -> ReasoningOptions | None:
    """How much the model may think: as the flag says, else as is set for this model, else for all."""
    setting = config.settings["reasoning.effort"]
    for_all = setting.origin in ("default", "user", "project")
    effort = facts.effort or setting.value if for_all else setting.value
    if effort and abilities.efforts == () and not for_all:
        raise UsageError(f"{setting.where}: {name} takes no reasoning effort; leave it out")
    budget = facts.budget or config.value("reasoning.budget")
    options = ReasoningOptions(
        abilities.nearest_effort(effort) if effort else None, None if abilities.thinking == "adaptive" else budget
    )
    return options if options != ReasoningOptions() else None


def refuse_fallbacks_without_tools(provider: Provider, protocol: Protocol) -> None:
    """A task keeps its protocol, so a model that takes no tools cannot continue one with native calls."""
    if isinstance(provider, FallbackProvider) and not protocol.in_text and provider.without_tools:
        names = ", ".join(provider.without_tools)
        raise UsageError(f"{names} cannot be a fallback, since it takes no native calls; use --protocol xml")
