"""List, test, add or remove MCP servers.

  joey mcp                                        list servers, where each is configured, and why one is not used
  joey mcp test [NAME]                            start servers, list their tools, stop them
  joey mcp add git -- uvx mcp-server-git          add a program; --env NAME=VALUE sets its environment
  joey mcp add docs --url https://…/mcp           add a remote server; --type sse, --header NAME=VALUE
  joey mcp remove git
  joey mcp login docs                             sign in to a remote server in the browser; `logout` forgets it

`add` and `remove` edit your own file (~/.config/joey/mcp.json), or with --project the project's (.joey/mcp.json). A
project's .roo/mcp.json and .mcp.json are read too. Servers of a project start only after `joey tools --trust` in its
folder. `test` exits with 1 if a server does not work.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats.json import read_json
from joey.errors import UsageError
from joey.mcp.config import LoadedServers, ServerConfig, configured_servers, entry_problem, project_files, user_file
from joey.mcp.names import offered_name
from joey.system.folders import user_folder

if TYPE_CHECKING:
    from joey.mcp.catalogue import ServerCatalogue
    from joey.mcp.servers import Server

_CHARACTERS_PER_TOKEN = 4


class _Parser(argparse.ArgumentParser):
    """Takes what comes after -- as the command, whatever it looks like; argparse alone loses it behind options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = list(args or ())
        at = words.index("--") if "--" in words else len(words)
        parsed, rest = super().parse_known_args(words[:at], namespace)
        parsed.command = words[at + 1 :]
        return parsed, rest


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)
    listing = commands.add_parser("list", help="list servers (default)")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    test = commands.add_parser("test", help="start servers and list their tools")
    test.add_argument("name", nargs="?", help="one server (default: all)")
    add = commands.add_parser(
        "add", help="add a server", usage="joey mcp add NAME [options] (-- COMMAND … | --url URL)"
    )
    add.add_argument("name", help="name of the server")
    add.add_argument("--url", help="address of a remote server")
    add.add_argument(
        "--type",
        choices=["streamable-http", "sse"],
        default="streamable-http",
        help="transport (default: streamable-http)",
    )
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="variable for the program")
    add.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="header for each request")
    add.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum duration of a call (default: 60)")
    add.add_argument(
        "--allow", action="append", default=[], metavar="TOOL", help="tool that needs no approval; * is all"
    )
    add.add_argument("--project", action="store_true", help="add it to this project instead of your own file")
    login = commands.add_parser("login", help="sign in to a remote server in the browser")
    login.add_argument("name", help="name of the server")
    login.add_argument("--no-browser", action="store_true", help="only print the address to open")
    logout = commands.add_parser("logout", help="forget a sign-in")
    logout.add_argument("name", help="name of the server")
    remove = commands.add_parser("remove", help="remove a server")
    remove.add_argument("name", help="name of the server")
    remove.add_argument("--project", action="store_true", help="remove it from this project instead of your own file")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "add":
            return _add(args)
        case "remove":
            return _remove(args)
        case "login":
            return _login(args.name, browser=not args.no_browser)
        case "logout":
            return _logout(args.name)
        case "test":
            return _test(args.name)
        case _:
            return _list(as_json=getattr(args, "json", False))


# Signing in


def _remote(name: str) -> ServerConfig:
    enabled = {server.name: server for server in configured_servers(Path.cwd()).enabled}
    if name not in enabled:
        raise UsageError(
            f"there is no MCP server {name!r} that may be used here; there are: {', '.join(enabled) or 'none'}"
        )
    if enabled[name].transport == "stdio":
        raise UsageError(f"{name} is a program on this machine; only servers at an address have a sign-in")
    return enabled[name]


def _login(name: str, *, browser: bool) -> int:
    import asyncio
    import webbrowser

    from joey.mcp.login import log_in

    def show(url: str) -> None:
        opened = browser and webbrowser.open(url)
        print(
            "The browser opens. If it does not, open this address:" if opened else "Open this address:", url, sep="\n"
        )

    tools = asyncio.run(log_in(_remote(name), show))
    print(f"signed in to {name}; it has {tools} tools")
    return 0


def _logout(name: str) -> int:
    from joey.mcp.oauth import sign_out

    gone = sign_out(_remote(name).url)
    print(f"signed out of {name}" if gone else f"there is no sign-in for {name}")
    return 0 if gone else 1


# Listing


def _list(*, as_json: bool) -> int:
    loaded = configured_servers(Path.cwd())
    if as_json:
        print(json.dumps(_as_json(loaded), ensure_ascii=False, indent=2))
        return 0
    everyone = (*loaded.servers, *loaded.untrusted)
    if not everyone and not loaded.problems:
        print("No MCP servers are configured. Add one with `joey mcp add NAME -- COMMAND`.")
        return 0
    width = max((len(server.name) for server in everyone), default=0)
    for server in everyone:
        print(f"{server.name:<{width}}  {_state(server, loaded):<12}  {server.transport:<15}  {server.target}")
        print(f"{'':<{width}}  from {server.source}{_allowed(server)}")
    _warn(loaded)
    return 0


def _state(server: ServerConfig, loaded: LoadedServers) -> str:
    if server in loaded.untrusted:
        return "not trusted"
    return "disabled" if server.disabled else "enabled"


def _allowed(server: ServerConfig) -> str:
    return f"; without asking: {', '.join(server.always_allow)}" if server.always_allow else ""


def _as_json(loaded: LoadedServers) -> dict[str, Any]:
    servers = [
        {
            "name": server.name,
            "state": _state(server, loaded),
            "transport": server.transport,
            "target": server.target,
            "scope": server.scope,
            "file": str(server.source),
            "always_allow": list(server.always_allow),
            "disabled_tools": list(server.disabled_tools),
        }
        for server in (*loaded.servers, *loaded.untrusted)
    ]
    problems = [{"file": each.file, "line": each.line, "message": each.message} for each in loaded.problems]
    return {"servers": servers, "problems": problems}


def _warn(loaded: LoadedServers) -> None:
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)


# Testing


def _test(name: str | None) -> int:
    import asyncio

    loaded = configured_servers(Path.cwd())
    _warn(loaded)
    wanted = [server for server in loaded.servers if server.name == name] if name else list(loaded.enabled)
    if name and not wanted:
        raise UsageError(_no_such(name, loaded))
    if not wanted:
        print("There are no servers to test.")
        return 1 if loaded.problems else 0
    return asyncio.run(_try(wanted))


def _no_such(name: str, loaded: LoadedServers) -> str:
    if any(server.name == name for server in loaded.untrusted):
        return f"{name!r} belongs to this project, which is not trusted; run `joey tools --trust` to trust it"
    known = ", ".join(server.name for server in loaded.servers) or "none"
    return f"unknown MCP server {name!r}; available servers: {known}"


async def _try(configs: list[ServerConfig]) -> int:
    from joey.mcp.catalogue import ServerCatalogue
    from joey.mcp.servers import McpServers

    servers = McpServers(configs)
    servers.start()
    try:
        await servers.settled()
        catalogue = ServerCatalogue(servers)
        for server in servers.servers:
            print("\n".join(_report(server, catalogue)))
        return 0 if all(server.state == "ready" for server in servers.servers) else 1
    finally:
        await servers.close()


def _report(server: Server, catalogue: ServerCatalogue) -> list[str]:
    if server.state != "ready":
        return [f"{server.name}: does not work. {server.why_not}"]
    tools = [tool for tool in catalogue.tools if tool.server is server]
    size = sum(len(tool.description) + len(json.dumps(tool.schema)) for tool in tools) // _CHARACTERS_PER_TOKEN
    resources = server.listing.resources
    count = f"{len(tools)} tools (about {size} tokens in every request), {len(resources)} resources"
    lines = [f"{server.name}: works. {count}"]
    lines += [f"  {tool.name}: {tool.description.partition(chr(10))[0][:100]}" for tool in tools]
    lines += [f"  {each.uri}" for each in resources[:20]]
    lines += [f"  /{offered_name(server.name, each.name)}: {each.description}" for each in server.listing.prompts[:20]]
    lines += [f"  not offered: {name} (disabledTools)" for name in server.config.disabled_tools]
    lines += [f"  problem: {problem}" for name, problem in catalogue.problems if name == server.name]
    return lines + [f"  note: {tool.name}: {note}" for tool in tools for note in tool.notes]


# Changing


def _add(args: argparse.Namespace) -> int:
    if bool(args.url) == bool(args.command):
        raise UsageError("give either a program (joey mcp add NAME -- COMMAND …) or an address (--url URL)")
    entry: dict[str, Any]
    if args.url:
        entry = {"type": args.type, "url": args.url}
        entry |= {"headers": _pairs(args.header, "--header")} if args.header else {}
    else:
        entry = {"command": args.command[0], "args": args.command[1:]}
        entry |= {"env": _pairs(args.env, "--env")} if args.env else {}
    entry |= {"timeout": args.timeout} if args.timeout is not None else {}
    entry |= {"alwaysAllow": args.allow} if args.allow else {}
    path = _file(project=args.project)
    data = _data(path)
    known = args.name in data["mcpServers"]
    data["mcpServers"][args.name] = entry
    _write(path, data, args.name)
    print(f"{args.name} {'replaced' if known else 'added'} in {path}. `joey mcp test {args.name}` tests it.")
    return 0


def _remove(args: argparse.Namespace) -> int:
    path = _file(project=args.project)
    data = _data(path)
    if args.name not in data["mcpServers"]:
        other = "" if args.project else "; use --project for this project's file"
        raise UsageError(f"{path} has no server {args.name!r}{other}")
    del data["mcpServers"][args.name]
    _write(path, data, None)
    print(f"{args.name} removed from {path}.")
    return 0


def _pairs(given: list[str], option: str) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise UsageError(f"{option} takes NAME=VALUE, got {each!r}")
    return dict(each.split("=", 1) for each in given)


def _file(*, project: bool) -> Path:
    return project_files(Path.cwd())[0] if project else user_file(user_folder())


def _data(path: Path) -> dict[str, Any]:
    try:
        text = read_regular_text(path)
        data = read_json(text) if text.strip() else {}
    except FileNotFoundError:
        data = {}
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.setdefault("mcpServers", {}), dict):
        raise UsageError(f'cannot change {path}; it must contain {{"mcpServers": {{…}}}}')
    return data


def _write(path: Path, data: dict[str, Any], added: str | None) -> None:
    """Write the file, whole or not at all; an entry that would be refused when read is refused now."""
    temporary = path.with_suffix(".json.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Values may be keys: for the owner's eyes only.
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        if added is not None:
            _refuse_bad(temporary, added)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_bad(path: Path, name: str) -> None:
    problem = entry_problem(path, name)
    if problem is not None:
        raise UsageError(problem)
