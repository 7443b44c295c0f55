"""List providers and models, or look up a model.

Without a name: every provider, its address, whether it is ready or what is missing; the models of the catalogue and
those that servers reported; and the default model in this folder. With provider/model: everything that is known of the
model, and where that was read. What is not known is shown as unknown. Only servers on this machine are contacted.

  joey models refresh             asks the servers that are ready for their models, and keeps the answers
  joey models refresh PROVIDER    asks one

examples:
  joey models
  joey models anthropic/claude-sonnet-4-5
  joey models refresh openrouter
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from joey.cli.local import has_runtime
from joey.errors import UsageError
from joey.providers import (
    ENDPOINTS,
    LOCAL,
    Abilities,
    Catalogue,
    Endpoint,
    EngineOptions,
    MissingKeyError,
    Price,
    split_name,
)
from joey.providers.catalogue import FactSource, ModelFacts
from joey.providers.discovery import FoundModels, find_models, usual_addresses
from joey.providers.local.engine import plan
from joey.providers.local.weights import CATALOGUE, installed_models, model_file
from joey.system.hosts import host_of, is_this_machine
from joey.system.installation import add_extra
from joey.system.keyring import find_key

if TYPE_CHECKING:
    from joey.config import Config

_REFRESH = "refresh"
_MAX_LISTED = 40
"""Models of one server that are listed; `joey models PROVIDER/MODEL` knows all of them."""
_SHOWN_APART = ("image_limits", "responses_tools", "context_window", "max_output", "api", "efforts", "thinking")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", help=f"model to look up, as provider/model; or `{_REFRESH}`")
    parser.add_argument("provider", nargs="?", help="with `refresh`: the provider to ask")


def run(args: argparse.Namespace) -> int:
    if args.model == _REFRESH:
        return _refresh(args.provider)
    if args.provider:
        raise UsageError(f"one model can be looked up at a time; {args.provider!r} is one too many")
    print("\n".join(_model(args.model) if args.model else _everything()))
    return 0


def _everything() -> list[str]:
    from joey.app.models import catalogue, local_servers

    config = _settings()
    servers = local_servers()
    lines = [*_providers(servers), "", *_table(catalogue(config)), *_reported(config, servers)]
    return [*lines, "", _chosen()]


def _settings() -> Config:
    from joey.app.sources import settings_in_force

    return settings_in_force(Path.cwd())


# Providers


def _providers(servers: Mapping[str, FoundModels]) -> Iterator[str]:
    width = max(map(len, ENDPOINTS))
    for name, endpoint in ENDPOINTS.items():
        found = servers.get(name)
        state = f"answers: {_count(found)}" if found else _state(endpoint)
        yield f"{name:<{width}}  {state:<40}  {_address(endpoint)}"
    for name in CATALOGUE:
        yield f"{LOCAL:<{width}}  {_local_state(name):<40}  {LOCAL}/{name}"


def _count(found: FoundModels) -> str:
    return f"{len(found.models)} model{'' if len(found.models) == 1 else 's'}"


def _local_state(name: str) -> str:
    if name not in installed_models():
        return f"not ready: joey local install {name}"
    return _runtime_state()


def _runtime_state() -> str:
    return "ready: runs in this process" if has_runtime() else f"not ready: {add_extra('local')}"


def _state(endpoint: Endpoint) -> str:
    found = find_key(endpoint.key_variable)
    if found is not None:
        return f"ready: {endpoint.key_variable} is {'set' if found.where == 'the environment' else f'in {found.where}'}"
    if endpoint.base_url is None or endpoint.needs_key:
        return f"not ready: set {endpoint.key_variable}"
    return "needs no key"


def _chosen() -> str:
    """The model of a task that names none, and who says so."""
    from joey.app.settings import default_model

    setting = _settings().settings["model"]
    if setting.value:
        return f"tasks here use {setting.value} ({setting.where})"
    try:
        return f"tasks here use {default_model()} (nobody named another)"
    except MissingKeyError:
        return "tasks here have no model yet: set a key, name a local one with --model, or see `joey demo`"


def _address(endpoint: Endpoint) -> str:
    own = os.environ.get(endpoint.base_url_variable) if endpoint.base_url_variable else None
    return own or endpoint.base_url or "the provider's own address"


# Models


def _table(catalogue: Catalogue) -> Iterator[str]:
    yield f"{'model':<20} {'window':>10}  {'$ in / out':<13}  {'API':<10}  reasoning efforts"
    for name in catalogue.names:
        yield _line(name, catalogue.facts(name), 20)


def _line(name: str, facts: ModelFacts, width: int) -> str:
    abilities, price = facts.abilities, facts.price
    window = f"{abilities.context_window:,}" if abilities.context_window else "unknown"
    cost = f"{price.input:g} / {price.output:g}" if price else "unknown"
    line = f"{name:<{width}} {window:>10}  {cost:<13}  {abilities.api or 'any':<10}  {_efforts(abilities)}"
    return f"{line}{_ends(facts)}"


def _efforts(abilities: Abilities) -> str:
    return "unknown" if abilities.efforts is None else " ".join(abilities.efforts) or "-"


def _ends(facts: ModelFacts) -> str:
    if facts.ends is None:
        return ""
    return f"  ({'ended' if facts.ends <= date.today() else 'ends'} {facts.ends})"  # noqa: DTZ011 - the user's day


def _reported(config: Config, servers: Mapping[str, FoundModels]) -> Iterator[str]:
    """The models that servers have: those that answer now, and what `joey models refresh` kept of others."""
    from joey.app.models import catalogue, kept_answers

    known = catalogue(config)
    now = {name: (found.address, "now", found.models) for name, found in servers.items()}
    kept = {name: (each.address, each.read, each.models) for name, each in kept_answers().items() if name not in now}
    for provider, (address, read, models) in {**kept, **now}.items():
        yield ""
        yield f"{provider} at {address} ({read})"
        for name, entry in list(models.items())[:_MAX_LISTED]:
            full = f"{provider}/{name}"
            yield "  " + _line(full, known.extended({full: entry}).facts(full), 48)
        if len(models) > _MAX_LISTED:
            yield f"  and {len(models) - _MAX_LISTED} more"


def _model(name: str) -> list[str]:
    provider, model = split_name(name)
    if provider == LOCAL:
        return _local_model(name, model)
    from joey.app.model_choices import unlisted
    from joey.app.models import catalogue

    facts = catalogue(_settings()).facts(name)
    unknown = unlisted(_settings(), name)
    state = f"unknown. {unknown}" if unknown else _state(ENDPOINTS[provider])
    return [f"{name}: {state}", *_described(facts), _calls(name)]


def _calls(name: str) -> str:
    """How a task here would have it call tools, and why."""
    from joey.app.dialects import protocol_of

    return f"  calls    {protocol_of(name, _settings())}"


def _local_model(name: str, model: str) -> list[str]:
    """A model of the catalogue, or any GGUF file; the window is what it would get on this machine now."""
    weights = CATALOGUE.get(model)
    lines = [f"{name}: {_local_state(model) if weights else _runtime_state()}"]
    lines += [f"  {weights.title}; licence {weights.licence}"] if weights else []
    if weights and not weights.is_installed():
        return lines
    facts = ModelFacts(plan(model_file(model), EngineOptions()).abilities, Price(0, 0))
    return [*lines, *_described(facts), _calls(name)]


def _described(facts: ModelFacts) -> list[str]:
    abilities = facts.abilities
    window = f"{abilities.context_window:,} tokens" if abilities.context_window else "not known"
    output = f"{abilities.max_output:,} tokens" if abilities.max_output else "not known"
    return [
        f"  price    {_price(facts.price) if facts.price else 'not known'}",
        f"  window   {window}",
        f"  reply    {output}",
        f"  API      {abilities.api or 'any'}",
        f"  effort   {'not known' if abilities.efforts is None else ', '.join(abilities.efforts) or 'takes none'}",
        *([f"  thinking {abilities.thinking}"] if abilities.thinking else []),
        *([f"  {_ends(facts).strip(' ()')}"] if facts.ends else []),
        *(f"  {line}" for line in _differences(abilities)),
        *(f"  read     {_place(each)}" for each in facts.sources),
    ]


def _place(source: FactSource) -> str:
    return f"{source.read} {source.url}{f' ({source.note})' if source.note else ''}".strip()


def _price(price: Price) -> str:
    parts = [f"${price.input:g} in", f"${price.output:g} out"]
    parts += [f"${price.cache_write:g} cache write"] if price.cache_write is not None else []
    parts += [f"${price.cache_read:g} cache read"] if price.cache_read is not None else []
    return ", ".join(parts) + " per million tokens"


def _differences(abilities: Abilities) -> list[str]:
    """What sets the model apart from a usual one."""
    usual = Abilities()
    names = [field.name for field in dataclasses.fields(Abilities)]
    others = [name for name in names if name not in _SHOWN_APART and getattr(abilities, name) != getattr(usual, name)]
    return [
        *(f"{name:<22} {getattr(abilities, name)} (usually {getattr(usual, name)})" for name in others),
        *(f"{name:<22} True (usually False)" for name in sorted(abilities.responses_tools)),
    ]


# Asking servers


def _refresh(only: str | None) -> int:
    from joey.app.models import keep_answers

    if only is not None and only not in ENDPOINTS:
        raise UsageError(f"there is no provider {only!r}; providers: {', '.join(ENDPOINTS)}")
    found = {name: found for name in ([only] if only else ENDPOINTS) if (found := _answer_of(name)) is not None}
    for name, answer in found.items():
        print(f"{name}: {answer.problem or f'{_count(answer)} at {answer.address}'}")
    good = {name: answer for name, answer in found.items() if not answer.problem}
    if good:
        print(f"kept in {keep_answers(good)}")
    else:
        print("no server answered; set a key, or start a local server (`joey models` shows what is ready)")
    return 0 if good else 1


def _answer_of(name: str) -> FoundModels | None:
    """What a provider's server answers; None for one that is not ready: without a key, or not running here."""
    from joey.app.sources import key_for

    own = _settings().base_url_for(f"{name}/")
    address, key = own or usual_addresses(os.environ)[name], key_for(f"{name}/")
    here = is_this_machine(host_of(address))
    if not (key or here or own or name == "openrouter"):  # whose list is open to all
        return None
    answer = find_models(name, address, key, timeout=2.0 if here else 20.0)
    return None if answer.problem and here and not own else answer
