"""The models that can be used at once: those of providers whose key is set, of servers that answer on this machine, and
those installed here. What needs something first is not among them: `joey models` lists that."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from joey.app.models import catalogue, kept_answers, local_servers
from joey.config import Config
from joey.providers import ENDPOINTS, LOCAL, Catalogue
from joey.providers.catalogue import maker_of
from joey.providers.local.weights import installed_models
from joey.system.keyring import find_key

_MAX_OF_A_SERVER = 200


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that needs nothing more, and what there is to know about it."""

    name: str
    about: str


def model_choices(config: Config) -> list[ModelChoice]:
    """Every model that can be used at once, each once."""
    known = catalogue(config)
    found = {name: why for name, why in _usable(known) if not _has_ended(known, name)}
    return [ModelChoice(name, _about(known, name, why)) for name, why in found.items()]


def unlisted(config: Config, name: str) -> str:
    """That the catalogue does not know a model of a provider whose models it knows, with the nearest name; empty where
    nothing can be said: another server may have any model."""
    known = catalogue(config)
    provider = name.partition("/")[0]
    address = config.base_url_for(name) or os.environ.get(f"{provider.upper()}_BASE_URL")
    if provider not in {maker_of(bare) for bare in known.names} or address or known.lists(name):
        return ""
    near = known.near(name)
    return f"The catalogue does not know {name}{f'; did you mean {near}?' if near else '.'}"


def _usable(known: Catalogue) -> Iterator[tuple[str, str]]:
    for bare in known.names:
        provider = maker_of(bare)
        if provider is not None and _has_key(provider):
            yield f"{provider}/{bare}", f"{ENDPOINTS[provider].key_variable} is set"
    for provider, kept in kept_answers().items():
        if provider in ENDPOINTS and _has_key(provider):
            for name in list(kept.models)[:_MAX_OF_A_SERVER]:
                yield f"{provider}/{name}", f"{ENDPOINTS[provider].key_variable} is set"
    for provider, server in local_servers().items():
        for name in list(server.models)[:_MAX_OF_A_SERVER]:
            yield f"{provider}/{name}", f"{server.address} answers"
    if importlib.util.find_spec("xllamacpp") is not None:
        yield from ((f"{LOCAL}/{name}", "installed here") for name in installed_models())


def _has_key(provider: str) -> bool:
    return find_key(ENDPOINTS[provider].key_variable) is not None


def _has_ended(known: Catalogue, name: str) -> bool:
    ends = known.facts(name).ends
    return ends is not None and ends <= date.today()  # noqa: DTZ011 - the user's day


def _about(known: Catalogue, name: str, why: str) -> str:
    facts = known.facts(name)
    window = facts.abilities.context_window
    size = f"{window // 1000}k tokens" if window else ""
    price = f"${facts.price.input:g} / ${facts.price.output:g}" if facts.price else ""
    return " · ".join(filter(None, [size, price, why]))
