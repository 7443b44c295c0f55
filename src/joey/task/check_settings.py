"""Which checks run after edits, and what is offered where none are set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from joey.sandbox import SandboxSettings
from joey.tools.languages.programs import NO_SERVERS, LanguageSettings


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The commands, in their order; `found` are those that the project's files suggest."""

    commands: tuple[str, ...] = ()
    rounds: int = 3
    timeout: float = 120.0
    found: tuple[str, ...] = ()
    remember: Callable[[tuple[str, ...]], None] = lambda _chosen: None
    """Keeps the user's answer to the offer: these commands, or none."""
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    languages: LanguageSettings = NO_SERVERS
    """The language servers that look at edited files as well."""


NO_CHECKS = CheckSettings()
