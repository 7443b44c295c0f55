"""Whether the user has a model without a key in the environment: named in the settings, or installed here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joey.system.folders import models_folder, user_folder


def has_own_model(environment: Mapping[str, str]) -> bool:
    return _names_model(user_folder(environment) / "config.toml") or _has_weights(models_folder(environment))


def _names_model(settings: Path) -> bool:
    try:
        lines = settings.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return any(line.split("=")[0].strip() == "model" for line in lines)


def _has_weights(folder: Path) -> bool:
    try:
        return any(each.suffix == ".gguf" for each in folder.iterdir())
    except OSError:
        return False
