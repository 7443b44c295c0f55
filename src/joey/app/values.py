"""Values that only the rest of the program can judge: a model, a mode, a protocol. They are refused where they are
given, with what was probably wanted, and not later when a task uses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from joey import protocols
from joey.app.sources import key_for
from joey.app.tools import discover
from joey.config import Config
from joey.protocols.resolve import AUTO
from joey.providers import ENDPOINTS, LOCAL, MissingKeyError, split_name
from joey.providers.local.weights import model_file


def check_of(setting: str, workspace: Path) -> Callable[[str], object] | None:
    """What raises UsageError for a value of this setting that nothing could be done with; None: nothing to check."""
    checks: dict[str, Callable[[str], object]] = {
        "model": split_name,
        "mode": discover(workspace).mode,
        "protocol": lambda name: name == AUTO or protocols.get(name),
    }
    return checks.get(setting)


def check_model(name: str, config: Config) -> None:
    """Raises JoeyError if a task with this model could not begin: no such provider, no key, no file."""
    provider, model = split_name(name)
    if provider == LOCAL:
        model_file(model)
        return
    endpoint = ENDPOINTS[provider]
    needs_key = endpoint.needs_key or endpoint.base_url is None
    if needs_key and not config.base_url_for(name) and key_for(name) is None:
        raise MissingKeyError(f"no API key for {provider}; set {endpoint.key_variable}, then start Joey again")
