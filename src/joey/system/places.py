"""The names of Joey's folders, by the XDG specification, as plain text: for whoever must not wait for `pathlib`."""

from __future__ import annotations

import os
from collections.abc import Mapping


def user_place(environment: Mapping[str, str] = os.environ) -> str:
    """The user's settings, modes and tools: $XDG_CONFIG_HOME/joey, or ~/.config/joey."""
    return _place(environment, "XDG_CONFIG_HOME", ".config")


def state_place(environment: Mapping[str, str] = os.environ) -> str:
    """What Joey remembers between runs: $XDG_STATE_HOME/joey, or ~/.local/state/joey."""
    return _place(environment, "XDG_STATE_HOME", ".local/state")


def data_place(environment: Mapping[str, str] = os.environ) -> str:
    """What the user works with: $XDG_DATA_HOME/joey, or ~/.local/share/joey."""
    return _place(environment, "XDG_DATA_HOME", ".local/share")


def cache_place(environment: Mapping[str, str] = os.environ) -> str:
    """What can be had again: $XDG_CACHE_HOME/joey, or ~/.cache/joey."""
    return _place(environment, "XDG_CACHE_HOME", ".cache")


def models_place(environment: Mapping[str, str] = os.environ) -> str:
    """The weights of models that run on this machine: $JOEY_MODELS, or `models` in the cache."""
    own = environment.get("JOEY_MODELS", "")
    return os.path.join(os.getcwd(), own) if own else f"{cache_place(environment)}/models"  # noqa: PTH109, PTH118


def _place(environment: Mapping[str, str], variable: str, usual: str) -> str:
    base = environment.get(variable, "")
    # The XDG specification says that a relative path there is to be ignored.
    if not base.startswith("/"):
        base = os.path.join(os.path.expanduser("~"), usual)  # noqa: PTH111, PTH118
    return f"{base.rstrip('/')}/joey"
