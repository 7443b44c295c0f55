"""`/mcp`: the servers, what each offers and wrote last, signing in, and switching one off or on.

What a server says of itself is shown in single lines, cut, and never as words of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import shorten

from joey.errors import JoeyError
from joey.mcp.config import ServerConfig
from joey.mcp.servers import McpServers, Server
from joey.system.open_address import open_address
from joey.system.visible import one_line
from joey.terminal.session import Session

_NONE = "No MCP servers are configured; `joey mcp add` adds one."
_USAGE = "Type /mcp, /mcp NAME, or /mcp on, off, login or logout and a NAME."
_ADDRESS = (
    "The browser opens. If it does not, open this address, or run `joey mcp login {name}` in another terminal:\n{url}"
)
_MAX_LISTED = 40
_WIDTH = 60


def mcp_command(session: Session, rest: str, show: Callable[[str], None]) -> str:
    """Carry out what was typed behind `/mcp`; what comes back is shown, and `show` shows what comes later."""
    servers = {each.name: each for each in session.services.servers()}
    if not servers:
        return _NONE
    verb, _, name = rest.partition(" ")
    if not rest:
        return _overview(session, servers.values())
    if rest in servers:
        return "\n".join(_details(session, servers[rest]))
    config = servers.get(name.strip())
    if verb not in _VERBS:
        return f"There is no MCP server {one_line(rest)!r}; there are: {', '.join(map(one_line, servers))}. {_USAGE}"
    if config is None:
        return f"/mcp {verb} needs the name of a server: {', '.join(map(one_line, servers))}."
    return _VERBS[verb](session, config, show)


def _running(session: Session) -> McpServers | None:
    return session.task.config.servers if session.task is not None else None


def _server(session: Session, config: ServerConfig) -> Server | None:
    running = _running(session)
    return running.find(config.name) if running is not None else None


def _overview(session: Session, servers: Iterable[ServerConfig]) -> str:
    lines = [
        f"  {one_line(each.name):<18} {_state(session, each):<28} {shorten(one_line(each.target), _WIDTH)}"
        for each in servers
    ]
    asleep = [] if session.task is not None else ["They start with a task."]
    return "\n".join(["MCP servers (/mcp NAME: its tools and log; on, off, login, logout NAME):", *lines, *asleep])


def _state(session: Session, config: ServerConfig) -> str:
    if config.disabled:
        return "disabled in its file"
    if config.name in session.services.servers_off:
        return "off"
    server = _server(session, config)
    signed_in = ", signed in" if config.url and session.services.signed_in(config) else ""
    if server is None:
        return f"not started{signed_in}"
    tools = f", {len(server.listing.tools)} tools" if server.state == "ready" else ""
    return f"{server.state}{tools}{signed_in}"


def _details(session: Session, config: ServerConfig) -> Iterator[str]:
    yield f"{one_line(config.name)}: {_state(session, config)}"
    yield f"  runs  {one_line(config.target)}"
    yield f"  from  {one_line(str(config.source))}"
    server = _server(session, config)
    if server is None:
        return
    if server.problem:
        yield f"  why   {shorten(one_line(server.problem), 300)}"
    yield from _listed("Tools", [(each.name, each.description) for each in server.listing.tools])
    mentions = [(f"@{config.name}:{each.uri}", each.description) for each in server.listing.resources]
    yield from _listed("Resources", mentions)
    yield from _listed("Prompts", [(each.name, each.description) for each in server.listing.prompts])
    yield from _listed("Problems", [(each, "") for each in server.listing.problems])
    if server.words.tail:
        yield "  What it wrote last:"
        yield from (f"    {one_line(line)}" for line in server.words.tail.splitlines())


def _listed(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if entries:
        yield f"  {title}:"
    for name, about in entries[:_MAX_LISTED]:
        yield f"    {shorten(one_line(name), _WIDTH):<24} {shorten(one_line(about), _WIDTH, placeholder='…')}".rstrip()
    if len(entries) > _MAX_LISTED:
        yield f"    … {len(entries) - _MAX_LISTED} more"


# What can be done


def _on(session: Session, config: ServerConfig, _show: Callable[[str], None]) -> str:
    if config.disabled:
        return f"{config.name} is disabled in {config.source}; take `disabled` out there."
    session.services.switch_server(config.name, _running(session), on=True)
    return f"{config.name} is on."


def _off(session: Session, config: ServerConfig, _show: Callable[[str], None]) -> str:
    session.services.switch_server(config.name, _running(session), on=False)
    return f"{config.name} is off until you quit or type /mcp on {config.name}."


def _login(session: Session, config: ServerConfig, show: Callable[[str], None]) -> str:
    if not config.url:
        return f"{config.name} is a program on this machine; only servers at an address have a sign-in."
    for before in _pending:
        if before.get_name() == config.url:
            before.cancel()
    signing_in = asyncio.get_running_loop().create_task(_signed_in(session, config, show), name=config.url)
    _pending.add(signing_in)
    signing_in.add_done_callback(_pending.discard)
    return f"Signing in to {config.name} …"


_pending: set[asyncio.Task[None]] = set()
"""Sign-ins that are under way: nobody else holds them."""


async def _signed_in(session: Session, config: ServerConfig, show: Callable[[str], None]) -> None:
    def sign_in_at(url: str) -> None:
        open_address(url)
        show(_ADDRESS.format(name=config.name, url=url))

    try:
        tools = await session.services.sign_in(config, sign_in_at)
    except JoeyError as error:
        show(f"{config.name}: {error}")
        return
    if (running := _running(session)) is not None:
        running.restart(config.name)
    show(f"Signed in to {config.name}; it has {tools} tools.")


def _logout(session: Session, config: ServerConfig, _show: Callable[[str], None]) -> str:
    gone = bool(config.url) and session.services.sign_out(config)
    if gone and (running := _running(session)) is not None:
        running.restart(config.name)
    return f"Signed out of {config.name}." if gone else f"There is no sign-in for {config.name}."


_VERBS: dict[str, Callable[[Session, ServerConfig, Callable[[str], None]], str]] = {
    "on": _on,
    "off": _off,
    "login": _login,
    "logout": _logout,
}
