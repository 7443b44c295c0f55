"""Which MCP servers there are, read from the files that Joey and others use.

    {"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "alwaysAllow": ["git_status"]},
                    "docs": {"type": "streamable-http", "url": "https://…/mcp", "headers": {"X-Key": "${env:KEY}"}}}}

A project has `.joey/mcp.json`, `.roo/mcp.json` and `.mcp.json`, the user `mcp.json` in the folder of their settings. Of
two servers with one name the first in that order counts, whole: nothing of the other is mixed in, so that approval the
user gave to their own server does not pass to a project's. What a project names is a program to run or an address to
talk to, so it counts only where the user trusts the workspace; elsewhere it is listed and left alone.

An entry that is wrong is named with its file and line, and the others still count. Fields nobody here knows are left
alone: the files are shared with other agents.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError, Problem
from joey.bounded.formats.json import read_json
from joey.system.folders import project_folder, user_folder
from joey.system.trust import TrustStore

Transport: TypeAlias = Literal["stdio", "streamable-http", "sse"]
Scope: TypeAlias = Literal["project", "user"]

DEFAULT_TIMEOUT = 60.0
_MAX_TIMEOUT = 3600
_MAX_SERVERS = 200
_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "streamable-http": "streamable-http",
    "streamableHttp": "streamable-http",
    "http": "streamable-http",
    "sse": "sse",
}
_STDIO_FIELDS = ("command", "args", "env", "cwd")
_HTTP_FIELDS = ("url", "headers")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, its variables filled in."""

    name: str
    transport: Transport
    source: Path
    scope: Scope
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    """Seconds a call may take, and the start of the server."""
    always_allow: tuple[str, ...] = ()
    """Tools that may be called without asking; `*` is all of them."""
    disabled_tools: tuple[str, ...] = ()
    disabled: bool = False
    sandbox: str = ""
    """What a confined server may reach of the network: `none`, `hosts` or `on`; empty for one that nothing confines."""

    @property
    def target(self) -> str:
        """What is run, or where it is."""
        return " ".join((self.command, *self.args)) if self.transport == "stdio" else self.url


@dataclass(frozen=True, slots=True)
class LoadedServers:
    """What the files say."""

    servers: tuple[ServerConfig, ...] = ()
    """The servers that count, disabled ones too."""
    untrusted: tuple[ServerConfig, ...] = ()
    """A project's servers that are left alone, because the workspace is not trusted."""
    problems: tuple[Problem, ...] = ()

    def with_given(self, given: tuple[ServerConfig, ...]) -> LoadedServers:
        """With servers that a front end was handed. Of two with one name, the one that was handed counts."""
        names = {server.name for server in given}
        return replace(self, servers=(*given, *(each for each in self.servers if each.name not in names)))

    @property
    def enabled(self) -> tuple[ServerConfig, ...]:
        return tuple(server for server in self.servers if not server.disabled)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The tools that may be called without asking, as the policy's settings name them."""
        return tuple(f"{server.name}/{tool}" for server in self.enabled for tool in server.always_allow)

    @property
    def warnings(self) -> list[str]:
        """What the user should know before servers are missed."""
        warnings = [str(problem) for problem in self.problems]
        if self.untrusted:
            names = ", ".join(server.name for server in self.untrusted)
            warnings.append(
                f"this project's MCP servers are not started ({names}): the workspace is not trusted. "
                "`joey mcp` shows what they would run; `joey tools --trust` trusts this folder"
            )
        return warnings


def configured_servers(workspace: Path, user: Path | None = None) -> LoadedServers:
    """The servers that the user and, where it is trusted, the project have set up."""
    user = user or user_folder()
    return load_servers(workspace, user, trusted=TrustStore(user / "trusted.json").trusts(workspace))


def project_files(workspace: Path) -> tuple[Path, ...]:
    """A project's files, the one that counts most first."""
    return (project_folder(workspace) / "mcp.json", workspace / ".roo" / "mcp.json", workspace / ".mcp.json")


def user_file(user: Path) -> Path:
    return user / "mcp.json"


def load_servers(
    workspace: Path, user: Path, *, trusted: bool, environment: Mapping[str, str] = os.environ
) -> LoadedServers:
    """Every server the files name."""
    variables = _Variables(workspace, environment)
    problems: list[Problem] = []
    projects: dict[str, ServerConfig] = {}
    for path in project_files(workspace):
        for server in _read(path, "project", variables, problems):
            projects.setdefault(server.name, server)
    own = {server.name: server for server in _read(user_file(user), "user", variables, problems)}
    if not trusted:
        return LoadedServers(tuple(own.values()), tuple(projects.values()), tuple(problems))
    return LoadedServers(tuple({**own, **projects}.values()), (), tuple(problems))


def entry_problem(path: Path, name: str) -> str | None:
    """What is wrong with one server of a file, variables aside; None if nothing is."""
    problems: list[Problem] = []
    _read(path, "user", _Variables(Path.cwd(), None), problems)
    return next((each.message for each in problems if each.message.startswith(f"server {name!r}: ")), None)


class ConfigError(ValueError):
    """What is wrong with one entry."""


def _read(path: Path, scope: Scope, variables: _Variables, problems: list[Problem]) -> list[ServerConfig]:
    try:
        text = read_regular_text(path)
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(str(path), 1, f"cannot be read: {getattr(error, 'strerror', None) or error}"))
        return []
    try:
        entries = _entries(text)
    except FormatError as error:
        problems.append(Problem(str(path), error.line, f"is not JSON: {error}"))
        return []
    except ConfigError as error:
        problems.append(Problem(str(path), 1, str(error)))
        return []
    servers = []
    for name, entry in entries.items():
        try:
            servers.append(_server(name, entry, path, scope, variables))
        except ConfigError as error:
            problems.append(Problem(str(path), _line_of(name, text), f"server {name!r}: {error}"))
    return servers


def _entries(text: str) -> Mapping[str, Any]:
    data = read_json(text) if text.strip() else {}
    if not isinstance(data, dict):
        raise ConfigError('must hold an object: {"mcpServers": {"name": {…}}}')
    entries = data.get("mcpServers", {})
    if not isinstance(entries, dict):
        raise ConfigError('"mcpServers" must be an object with one entry for each server')
    if len(entries) > _MAX_SERVERS:
        raise ConfigError(f"names {len(entries):,} servers; at most {_MAX_SERVERS} can be used")
    return entries


def _line_of(name: str, text: str) -> int:
    found = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _server(name: str, entry: Any, path: Path, scope: Scope, variables: _Variables) -> ServerConfig:
    if not isinstance(entry, dict):
        raise ConfigError("must be an object with a command or a url")
    if not name.strip() or "/" in name:
        raise ConfigError("a name must not be empty nor hold a slash: rules are written server/tool")
    transport = _transport(entry)
    fields = {
        "timeout": _timeout(entry.get("timeout", DEFAULT_TIMEOUT)),
        "always_allow": _strings(entry, "alwaysAllow"),
        "disabled_tools": _strings(entry, "disabledTools"),
        "disabled": _flag(entry, "disabled"),
        "sandbox": _sandbox(entry, transport),
    }
    # A disabled server needs nothing, so a variable that is not set is no error there.
    fill = _as_it_is if fields["disabled"] else variables.filled
    made = _stdio(entry, fill, variables) if transport == "stdio" else _http(entry, fill)
    return ServerConfig(name, transport, path, scope, **made, **fields)  # type: ignore[arg-type]


def _transport(entry: Mapping[str, Any]) -> Transport:
    kind = entry.get("type")
    if kind is not None and kind not in _TRANSPORTS:
        raise ConfigError(f'"type" must be stdio, streamable-http or sse, got {kind!r}')
    stdio, http = [name for name in _STDIO_FIELDS if name in entry], [name for name in _HTTP_FIELDS if name in entry]
    if stdio and http:
        raise ConfigError(f"has fields of two kinds of server: {stdio[0]!r} is for stdio, {http[0]!r} for HTTP")
    if not stdio and not http:
        raise ConfigError('needs a "command" to run (stdio), or a "type" and a "url" (streamable-http, sse)')
    if http and kind is None:
        raise ConfigError('has a "url", so it needs a "type": streamable-http or sse')
    transport = _TRANSPORTS[kind or "stdio"]
    if (transport == "stdio") != bool(stdio):
        raise ConfigError(f"is of type {kind}, but {(stdio or http)[0]!r} is not a field of that type")
    return transport


_Fill: TypeAlias = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


def _stdio(entry: Mapping[str, Any], fill: _Fill, variables: _Variables) -> dict[str, Any]:
    command, cwd = entry.get("command"), entry.get("cwd", "")
    if not isinstance(command, str) or not command.strip():
        raise ConfigError('"command" must be a string that is not empty')
    if not isinstance(cwd, str):
        raise ConfigError('"cwd" must be a string')
    return {
        "command": fill(command),
        "args": tuple(fill(each) for each in _strings(entry, "args")),
        "env": _pairs(entry, "env", fill),
        "cwd": str(variables.workspace / fill(cwd)),
    }


def _http(entry: Mapping[str, Any], fill: _Fill) -> dict[str, Any]:
    url = entry.get("url")
    if not isinstance(url, str):
        raise ConfigError('"url" must be a string')
    filled = fill(url)
    try:
        parts = urlsplit(filled)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable and fill is not _as_it_is:
        raise ConfigError(f'"url" must be an address beginning with http:// or https://, got {url!r}')
    return {"url": filled, "headers": _pairs(entry, "headers", fill)}


def _timeout(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= _MAX_TIMEOUT:
        raise ConfigError(f'"timeout" must be a number of seconds from 1 to {_MAX_TIMEOUT}, got {value!r}')
    return float(value)


def _sandbox(entry: Mapping[str, Any], transport: Transport) -> str:
    value = entry.get("sandbox", False)
    if value not in (True, False, "none", "hosts", "on"):
        raise ConfigError(f'"sandbox" must be true, false, "none", "hosts" or "on", got {value!r}')
    if value and transport != "stdio":
        raise ConfigError('"sandbox" is for servers that are run here (stdio)')
    return "on" if value is True else str(value or "")


def _flag(entry: Mapping[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f'"{key}" must be true or false, got {value!r}')
    return value


def _strings(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f'"{key}" must be a list of strings')
    return tuple(value)


def _pairs(entry: Mapping[str, Any], key: str, fill: _Fill) -> tuple[tuple[str, str], ...]:
    value = entry.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ConfigError(f'"{key}" must be an object whose values are strings')
    return tuple((name, fill(each)) for name, each in value.items())


class _Variables:
    """`${env:NAME}`, `${NAME}`, `${NAME:-default}` and `${workspaceFolder}`. What is filled in is not read again."""

    def __init__(self, workspace: Path, environment: Mapping[str, str] | None) -> None:
        """Without an environment, every variable counts as set to what a variable is written as."""
        self.workspace = workspace.absolute()
        self._environment = environment

    def filled(self, text: str) -> str:
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if found[0] == "${workspaceFolder}":
            return str(self.workspace)
        value = found[0] if self._environment is None else self._environment.get(name)
        if value is None and default is None:
            raise ConfigError(f"{found[0]}: the environment variable {name} is not set")
        return (value or default or "") if default is not None else value or ""
