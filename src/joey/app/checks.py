"""The checks of a project: set by the user, accepted by them once, or found in its files to be offered; and its
language servers: known or named by the user, installed, and not denied.

A language server loads what a project configures (plugins, build scripts, a compiler of its own), so by default none is
started in a folder that the user does not trust.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from joey.actions import RunCommand
from joey.app.settings import approvals_in_force, environment_rules, located_at, sandbox_settings
from joey.app.sources import Sources
from joey.bounded.files import read_regular_text
from joey.bounded.formats.toml import read_toml
from joey.config import Config
from joey.errors import JoeyError
from joey.policy import Workspace, judge
from joey.system.user_files import read_object, replace_object
from joey.task.settings import CheckSettings
from joey.tools.languages.programs import KNOWN, NO_SERVERS, LanguageSettings, ServerProgram, installed


def check_settings(config: Config, sources: Sources) -> CheckSettings:
    """What runs after edits in this folder."""
    languages = language_settings(config, sources.project)
    settings = CheckSettings(**config.part("checks"), sandbox=sandbox_settings(config), languages=languages)
    if settings.commands or not config.value("checks.offer"):
        return settings
    kept = CheckAnswers(sources.user / "checks.json", sources.project)
    if (answer := kept.answer) is not None:
        return replace(settings, commands=answer)
    return replace(settings, found=tuple(find_checks(sources.project)), remember=kept.keep)


def find_checks(project: Path) -> Iterator[str]:
    """The commands that the project's own files name, of programs that are installed. Tests are left to the user: how
    long they take is in no file."""
    return (command for command in _named(project) if shutil.which(command.split()[0]))


def _named(project: Path) -> Iterator[str]:
    python = _tools(project / "pyproject.toml")
    if "ruff" in python or _has(project, "ruff.toml", ".ruff.toml"):
        yield "ruff check {*.py}"
    elif _has(project, ".flake8"):
        yield "flake8 {*.py}"
    if "mypy" in python or _has(project, "mypy.ini"):
        yield "mypy {*.py}"
    elif "pyright" in python or _has(project, "pyrightconfig.json"):
        yield "pyright {*.py}"
    scripts = read_object(project / "package.json").get("scripts")
    for name in ("lint", "typecheck"):
        if isinstance(scripts, Mapping) and isinstance(scripts.get(name), str):
            yield f"npm run -s {name}"
    if _has(project, "Cargo.toml"):
        yield "cargo check -q"
    if _has(project, "go.mod"):
        yield "go vet ./..."


def _has(project: Path, *names: str) -> bool:
    return any((project / name).is_file() for name in names)


def _tools(path: Path) -> Mapping[str, Any]:
    try:
        tools = read_toml(read_regular_text(path)).get("tool")
    except (OSError, ValueError):
        return {}
    return tools if isinstance(tools, Mapping) else {}


class CheckAnswers:
    """The user's answers to offers, by folder, kept outside of the projects."""

    def __init__(self, file: Path, project: Path) -> None:
        self._file = file
        self._project = str(project.resolve())

    @property
    def answer(self) -> tuple[str, ...] | None:
        """The commands that the user accepted, which may be none; None where nobody was asked."""
        found = read_object(self._file).get(self._project)
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            return None
        return tuple(found)

    def keep(self, chosen: tuple[str, ...]) -> None:
        """Raises JoeyError if the answer cannot be kept."""
        try:
            replace_object(self._file, {**read_object(self._file), self._project: list(chosen)})
        except OSError as error:
            raise JoeyError(f"cannot remember the checks of this folder in {self._file}: {error.strerror}") from None


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
