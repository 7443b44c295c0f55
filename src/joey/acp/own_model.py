"""Whether the user has a model without a key in the environment: named in the settings, or installed here.

An editor waits for this, so it costs no more than looking: no module is loaded for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from joey.system.places import models_place, user_place


def has_own_model(environment: Mapping[str, str]) -> bool:
    return _names_model(f"{user_place(environment)}/config.toml") or _has_weights(models_place(environment))


def _names_model(settings: str) -> bool:
    try:
        with open(settings, encoding="utf-8") as file:  # noqa: PTH123 - without pathlib
            return any(line.split("=")[0].strip() == "model" for line in file)
    except (OSError, ValueError):
        return False


def _has_weights(folder: str) -> bool:
    try:
        return any(name.endswith(".gguf") for name in os.listdir(folder))  # noqa: PTH208 - without pathlib
    except OSError:
        return False
