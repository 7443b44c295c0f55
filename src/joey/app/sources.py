"""Where settings and keys come from, for commands that run no task, without what a task needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.config import Config, read_config
from joey.providers import ENDPOINTS
from joey.system.folders import user_folder
from joey.system.keyring import find_key
from joey.system.trust import TrustStore


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the user's and the project's own files are read: settings, modes, rules, commands, tools, servers."""

    project: Path
    user: Path
    home: Path
    environment: Mapping[str, str]

    @classmethod
    def of(cls, workspace: Path, environment: Mapping[str, str] = os.environ) -> Sources:
        return cls(workspace, user_folder(environment), Path.home(), environment)

    def config(self, flags: Mapping[str, Any] | None = None) -> Config:
        """The settings in force: the user's, the project's, the environment's and those of the command line."""
        trusted = TrustStore(self.user / "trusted.json").trusts(self.project)
        return read_config(self.project, self.user, trusted=trusted, flags=flags, environment=self.environment)


_NOWHERE = Path(os.devnull) / "joey"
NO_SOURCES = Sources(_NOWHERE, _NOWHERE, _NOWHERE, {})
"""For a task that is the same for every user: a place below a file, where nothing can be."""


def settings_in_force(
    workspace: Path, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] = os.environ
) -> Config:
    """What the user, the project, the environment and the command line set, in this workspace."""
    return Sources.of(workspace, environment).config(flags)


def key_for(model: str) -> str | None:
    """The key of a model's provider, from the environment or the keyring; None for servers of the user's own."""
    endpoint = ENDPOINTS.get(model.partition("/")[0])
    if endpoint is None or not (endpoint.needs_key or endpoint.base_url is None):
        return None
    found = find_key(endpoint.key_variable)
    return found.value if found else None
