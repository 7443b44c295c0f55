"""The catalogue in force: what is shipped, what servers reported, and what the user knows better.

`joey models refresh` asks the servers and keeps the answers in the state folder; nothing else asks those of other
machines. A file that cannot be read counts as none: it can be had again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.config import Config
from joey.providers import Catalogue
from joey.providers.discovery import FoundModels, find_local_servers, usual_addresses
from joey.providers.prices import read_price
from joey.system.folders import make_private, private_file, state_folder

_FILE = "models.json"
_MAX_BYTES = 32 * 2**20
_OWN = {"source": ["your settings"]}
_ENTRY = {"window": int, "max_output": int, "price": dict, "images": bool, "tools": bool}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a server answered, and when."""

    address: str
    read: str
    models: Mapping[str, Mapping[str, Any]]


def catalogue(config: Config) -> Catalogue:
    """What is known of models, for tasks under these settings."""
    own: dict[str, dict[str, Any]] = {name: {**each, **_OWN} for name, each in config.models.items()}
    for name, price in config.prices.items():
        own.setdefault(name, {**_OWN})["price"] = read_price(name, price)
    return Catalogue().extended(_reported(config)).extended(own)


def _reported(config: Config) -> dict[str, dict[str, Any]]:
    """Entries for the models of servers, as long as each is still the server that is asked."""
    addresses = usual_addresses(os.environ)
    return {
        f"{provider}/{name}": {**entry, "source": [f"{kept.address} on {kept.read}"]}
        for provider, kept in kept_answers().items()
        if (config.base_url_for(f"{provider}/") or addresses.get(provider)) == kept.address
        for name, entry in kept.models.items()
    }


def kept_answers(folder: Path | None = None) -> dict[str, KeptAnswer]:
    """What `joey models refresh` kept, by provider."""
    try:
        data = json.loads(read_regular_text((folder or state_folder()) / _FILE, _MAX_BYTES))
        return {
            provider: KeptAnswer(str(each["address"]), str(each["read"]), _checked(each["models"]))
            for provider, each in data["servers"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _checked(models: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: entry[key] for key, kind in _ENTRY.items() if isinstance(entry.get(key), kind)}
        for name, entry in models.items()
    }


def keep_answers(found: Mapping[str, FoundModels], folder: Path | None = None) -> Path:
    """Keep what these servers answered, over what they answered before."""
    place, now = folder or state_folder(), datetime.now(UTC)
    kept = {
        provider: {"address": each.address, "read": each.read, "models": each.models}
        for provider, each in kept_answers(place).items()
    }
    for provider, answer in found.items():
        kept[provider] = {"address": answer.address, "read": f"{now:%Y-%m-%d}", "models": dict(answer.models)}
    make_private(place)
    new = place / f"{_FILE}.new"
    with open(new, "w", encoding="utf-8", opener=private_file) as file:
        json.dump({"servers": kept}, file, ensure_ascii=False)
    new.replace(place / _FILE)
    return place / _FILE


def local_servers(environment: Mapping[str, str] = os.environ) -> dict[str, FoundModels]:
    """The model servers of this machine that answer at their usual ports. Each process looks once."""
    return _look(tuple(usual_addresses(environment).items()))


@cache
def _look(addresses: tuple[tuple[str, str], ...]) -> dict[str, FoundModels]:
    return find_local_servers(dict(addresses))
