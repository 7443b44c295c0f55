"""What is checked of folders, settings and saved tasks, and what a project has of Roo Code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from joey.cli.doctor.finding import Finding
from joey.errors import JoeyError

if TYPE_CHECKING:
    from joey.config import Config


def project_findings(workspace: Path) -> Iterator[Finding]:
    yield from _folders(workspace)
    yield from _from_roo(workspace)


def _folders(workspace: Path) -> Iterator[Finding]:
    from joey.system.folders import state_folder, user_folder

    yield _writable("settings folder", user_folder())
    yield _writable("state folder", state_folder())
    yield _settings(workspace)
    yield _tasks(state_folder() / "tasks")
    yield _trust(workspace)


def _writable(subject: str, folder: Path) -> Finding:
    """Whether files can be made there. A folder that is not there yet is judged by the one it would be made in."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return Finding(subject, "ok", f"{folder}{'' if nearest == folder else ' (created when needed)'}")
    return Finding(subject, "missing", f"{folder} is not writable", f"make {nearest} writable for your user")


def _settings(workspace: Path) -> Finding:
    from joey.app.settings import approvals_in_force, notices
    from joey.app.sources import settings_in_force

    try:
        config = settings_in_force(workspace)
        profile = approvals_in_force(config).settings.profile
        _check_model(config)
    except JoeyError as error:
        return Finding("settings", "missing", str(error), "fix the file; docs/settings.md lists every setting")
    files = [str(path) for path in (config.user_file, config.project_file) if path.is_file()]
    found = f"{' and '.join(files) or 'no files, all defaults'}; {_model_in(config)}, profile {profile}"
    notes = notices(config)
    return Finding("settings", "note" if notes else "ok", found, " ".join(notes))


def _check_model(config: Config) -> None:
    from joey.app.settings import located_at
    from joey.providers import split_name

    setting = config.settings["model"]
    if setting.value:
        with located_at(setting):
            split_name(setting.value)


def _model_in(config: Config) -> str:
    from joey.app.settings import default_model

    try:
        return f"model {config.value('model') or f'{default_model()} (default)'}"
    except JoeyError:
        return "no model"


def _tasks(folder: Path) -> Finding:
    from joey.journal.store import TaskStore

    try:
        entries = TaskStore(folder).entries()
    except JoeyError as error:
        return Finding("tasks", "missing", str(error), "make it readable for your user")
    bad = [entry.task_id for entry in entries if entry.problem or entry.left_out]
    if bad:
        advice = f"`joey tasks show {bad[0]}` shows the problem, `joey tasks repair {bad[0]}` writes a clean copy"
        return Finding("tasks", "note", f"{len(entries)}; {len(bad)} damaged", advice)
    return Finding("tasks", "ok", f"{len(entries)} in {folder}")


_NEED_TRUST = (
    ".joey/tools", ".joey/modes", ".joey/config.toml", ".joey/mcp.json", ".roomodes", ".roo/mcp.json", ".mcp.json",
)  # fmt: skip


def _trust(workspace: Path) -> Finding:
    from joey.system.trust import TrustStore

    if TrustStore().trusts(workspace):
        return Finding("this folder", "ok", f"{workspace} is trusted")
    own = [name for name in _NEED_TRUST if (workspace / name).exists()]
    advice = "if you trust it, run `joey tools --trust`" if own else ""
    found = "not trusted; its tools do not run and its settings approve nothing"
    return Finding("this folder", "note" if own else "ok", found, advice)


def _from_roo(workspace: Path) -> Iterator[Finding]:
    yield from _roo_modes(workspace)
    yield from _roo_rules(workspace)
    for name, what in ((".rooignore", "applies to every tool"), ("AGENTS.md", "sent to the model")):
        if (workspace / name).is_file():
            yield Finding(name, "ok", f"read; {what}")
    yield from _mcp_and_commands(workspace)


def _roo_modes(workspace: Path) -> Iterator[Finding]:
    from joey.app.tools import discover

    path = workspace / ".roomodes"
    if path.is_file():
        loaded = discover(workspace).modes
        slugs = [mode.slug for mode in loaded.modes if mode.file == str(path)]
        problems = [each for each in (*loaded.problems, *loaded.held_back) if each.file == str(path)]
        found = f"read; modes: {', '.join(slugs) or 'none'}"
        advice = f"{problems[0]}" if problems else ""
        yield Finding(".roomodes", "note" if problems else "ok", found, advice)


def _roo_rules(workspace: Path) -> Iterator[Finding]:
    folders = sorted((workspace / ".roo").glob("rules*")) if (workspace / ".roo").is_dir() else []
    for folder in folders:
        name = f".roo/{folder.name}"
        if (workspace / ".joey" / folder.name).is_dir():
            yield Finding(name, "note", f"ignored because .joey/{folder.name} exists", "move its files there")
        else:
            yield Finding(name, "ok", "read; sent to the model")
    for path in sorted((*workspace.glob(".roorules*"), *workspace.glob(".clinerules*"))):
        yield Finding(path.name, "ok", "read if there is no rules folder for the same mode")


def _mcp_and_commands(workspace: Path) -> Iterator[Finding]:
    from joey.mcp.servers import not_installed, sdk_is_installed

    if (workspace / ".roo" / "mcp.json").is_file():
        found = "read; its servers start in a trusted folder (`joey mcp`)"
        ready = sdk_is_installed()
        yield Finding(".roo/mcp.json", "ok" if ready else "note", found, "" if ready else not_installed())
    commands = sorted((workspace / ".roo" / "commands").glob("*.md"))
    if commands:
        found = f"{len(commands)} read; type /{commands[0].stem} to use one (`joey commands` lists them)"
        yield Finding(".roo/commands", "ok", found)
    skills = sorted((workspace / ".roo").glob("skills*/*/SKILL.md"))
    if skills:
        yield Finding(".roo/skills", "ok", f"{len(skills)} read (`joey skills` lists them)")
