"""The language servers that may be started in a workspace: known or named by the user, installed, and not denied.

A language server loads what a project configures (plugins, build scripts, a compiler of its own), so by default none is
started in a folder that the user does not trust."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from joey.actions import RunCommand
from joey.app.settings import approvals_in_force, environment_rules, located_at, sandbox_settings
from joey.config import Config
from joey.policy import Workspace, judge
from joey.tools.languages.programs import KNOWN, NO_SERVERS, LanguageSettings, ServerProgram, installed


def language_settings(config: Config, workspace: Path) -> LanguageSettings:
    """The servers of this folder. UsageError for one in the settings that cannot be read."""
    use = config.value("language_servers.use")
    if use == "off" or (use == "trusted" and not config.trusted):
        return NO_SERVERS
    servers = tuple(_allowed(config, workspace))
    return LanguageSettings(
        servers, **config.part("languages"), sandbox=sandbox_settings(config), environment=environment_rules(config)
    )


def _allowed(config: Config, workspace: Path) -> Iterator[ServerProgram]:
    with located_at(config.settings["language_servers.commands"]):
        named = tuple(map(ServerProgram.parse, config.value("language_servers.commands")))
    approvals, paths = approvals_in_force(config).settings, Workspace.of(workspace)
    for program in installed((*named, *KNOWN), workspace if config.trusted else None):
        line = shlex.join((program.name, *program.argv[1:]))
        if judge((RunCommand(line),), approvals, paths).decision != "deny":
            yield program
