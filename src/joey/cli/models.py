"""List providers, or look up a model.

Without a name: every provider, its address, whether it is ready or what is missing, and the default model in this
folder. With provider/model: the price, context window and abilities of the model. Nothing is sent over the network;
`joey doctor` checks which local servers answer.

examples:
  joey models
  joey models anthropic/claude-sonnet-4-5
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path

from joey.cli.local import has_runtime
from joey.providers import (
    ENDPOINTS,
    LOCAL,
    Abilities,
    Endpoint,
    EngineOptions,
    MissingKeyError,
    Price,
    Prices,
    abilities_of,
    split_name,
)
from joey.providers.local.engine import plan
from joey.providers.local.weights import CATALOGUE, installed_models, model_file
from joey.system.keyring import find_key


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", help="model to look up, as provider/model")


def run(args: argparse.Namespace) -> int:
    lines = _model(args.model) if args.model else [*_providers(), "", _chosen()]
    print("\n".join(lines))
    return 0


def _providers() -> list[str]:
    width = max(map(len, ENDPOINTS))
    lines = [f"{name:<{width}}  {_state(endpoint):<40}  {_address(endpoint)}" for name, endpoint in ENDPOINTS.items()]
    return lines + [f"{LOCAL:<{width}}  {_local_state(name):<40}  {LOCAL}/{name}" for name in CATALOGUE]


def _local_state(name: str) -> str:
    if name not in installed_models():
        return f"not ready: joey local install {name}"
    return _runtime_state()


def _runtime_state() -> str:
    return "ready: runs in this process" if has_runtime() else "not ready: pip install 'joey[local]'"


def _state(endpoint: Endpoint) -> str:
    found = find_key(endpoint.key_variable)
    if found is not None:
        return f"ready: {endpoint.key_variable} is {'set' if found.where == 'the environment' else f'in {found.where}'}"
    if endpoint.base_url is None or endpoint.needs_key:
        return f"not ready: set {endpoint.key_variable}"
    return "needs no key"


def _chosen() -> str:
    """The model of a task that names none, and who says so."""
    from joey.app.settings import default_model, settings_in_force

    setting = settings_in_force(Path.cwd()).settings["model"]
    if setting.value:
        return f"tasks here use {setting.value} ({setting.where})"
    try:
        return f"tasks here use {default_model()} (nobody named another)"
    except MissingKeyError:
        return "tasks here have no model yet: set a key, name a local one with --model, or see `joey demo`"


def _address(endpoint: Endpoint) -> str:
    own = os.environ.get(endpoint.base_url_variable) if endpoint.base_url_variable else None
    return own or endpoint.base_url or "the provider's own address"


def _model(name: str) -> list[str]:
    provider, model = split_name(name)
    if provider == LOCAL:
        return _local_model(name, model)
    from joey.app.settings import settings_in_force

    prices = Prices().extended(settings_in_force(Path.cwd()).prices)
    return [f"{name}: {_state(ENDPOINTS[provider])}", *_described(abilities_of(model), prices.of(model))]


def _local_model(name: str, model: str) -> list[str]:
    """A model of the catalogue, or any GGUF file; the window is what it would get on this machine now."""
    weights = CATALOGUE.get(model)
    lines = [f"{name}: {_local_state(model) if weights else _runtime_state()}"]
    lines += [f"  {weights.title}; licence {weights.licence}"] if weights else []
    if weights and not weights.is_installed():
        return lines
    return lines + _described(plan(model_file(model), EngineOptions()).abilities, Price(0, 0))


def _described(abilities: Abilities, price: Price | None) -> list[str]:
    window = f"{abilities.context_window:,} tokens" if abilities.context_window else "not known"
    return [
        f"  price    {_price(price) if price else 'not known'}",
        f"  window   {window}",
        *(f"  {line}" for line in _differences(abilities)),
    ]


def _price(price: Price) -> str:
    parts = [f"${price.input:g} in", f"${price.output:g} out"]
    parts += [f"${price.cache_write:g} cache write"] if price.cache_write is not None else []
    parts += [f"${price.cache_read:g} cache read"] if price.cache_read is not None else []
    return ", ".join(parts) + " per million tokens"


def _differences(abilities: Abilities) -> list[str]:
    """What sets the model apart from a usual one."""
    usual = Abilities(context_window=abilities.context_window)
    names = [field.name for field in dataclasses.fields(Abilities)]
    return [
        f"{name:<22} {getattr(abilities, name)} (usually {getattr(usual, name)})"
        for name in names
        if name != "image_limits" and getattr(abilities, name) != getattr(usual, name)
    ]
