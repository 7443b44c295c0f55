"""The only way out of the browser: a SOCKS5 server on loopback that connects to permitted hosts and to no others.

Every connection of the browser comes here, whatever made it: a page, a redirect, a frame, a popup, a script, a worker,
a WebSocket. So a rule that holds here holds for all of them, and what is refused has sent not a byte. Names are looked
up here as well, and where they lead is judged with them:

- a host is let through if `may_visit` permits it (the policy does, or the user approved it in this task);
- while a page from elsewhere is open, nothing that leads to this machine is, by whatever name: a page on the internet
  has no business with the servers here (`open_for`).

What it does not handle: UDP (the browser is told to do without), proxies between here and the internet.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import NamedTuple

from joey.system.hosts import host_of, is_loopback, is_this_machine

_VERSION, _NO_PASSWORD, _CONNECT = 5, 0, 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_DONE, _REFUSED, _UNREACHABLE, _NOT_SUPPORTED = 0, 2, 4, 7
_TIMEOUT = 10.0
_PIECE = 64 * 1024


class Trouble(NamedTuple):
    """A connection that did not come about."""

    host: str
    port: int
    refused: bool
    """By the gate; otherwise the other side is at fault."""
    reason: str


class Gate:
    """Serves on a free port of 127.0.0.1 from `start` to `close`."""

    def __init__(self, may_visit: Callable[[str], bool]) -> None:
        self._may_visit = may_visit
        self._local = False
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.troubles: list[Trouble] = []
        """What did not come about since this was last emptied."""

    async def start(self) -> str:
        """Begin to serve; returns the address for the browser."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"socks5://127.0.0.1:{port}"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()

    async def open_for(self, url: str) -> bool:
        """A page of this address is about to be opened. Returns whether it is on this machine."""
        host = host_of(url)
        self._local = is_this_machine(host) or any(map(is_loopback, await _addresses(host)))
        return self._local

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        # What the other side does, and the end of the browser, are no errors of the gate.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
            await self._serve(reader, writer)
        self._connections.discard(task)
        writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_TIMEOUT):
            request = await _read_request(reader, writer)
        if request is None:
            return
        opened = await self._connect(*request)
        if isinstance(opened, int):
            await _answer(writer, opened)
            return
        upstream, out = opened
        try:
            await _answer(writer, _DONE)
            await asyncio.gather(_pump(reader, out), _pump(upstream, writer))
        finally:
            out.transport.abort()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | int:
        """A connection to the other side, or the code of what kept it from coming about."""
        if reason := self._refusal(host, port):
            return self._trouble(host, port, reason, refused=True)
        addresses = await _addresses(host)
        if not self._local and any(map(is_loopback, addresses)):
            reason = "a page from elsewhere may not reach this machine"
            return self._trouble(host, port, reason, refused=True)
        problem = "the name is not known"
        for address in addresses:
            try:
                async with asyncio.timeout(_TIMEOUT):
                    return await asyncio.open_connection(address, port)
            except OSError as error:  # a timeout is one, too
                problem = error.strerror or "nothing answers"
        return self._trouble(host, port, problem, refused=False)

    def _refusal(self, host: str, port: int) -> str | None:
        written = f"[{host}]" if ":" in host else host
        address = f"https://{written}" if port == 443 else f"http://{written}:{port}"
        return None if self._may_visit(address) else "nobody approved this host"

    def _trouble(self, host: str, port: int, reason: str, *, refused: bool) -> int:
        self.troubles.append(Trouble(host, port, refused, reason))
        return _REFUSED if refused else _UNREACHABLE


async def _addresses(host: str) -> list[str]:
    """Where a host is: looked up once, so that what is judged is what is connected to."""
    if host.endswith(".localhost"):
        return ["127.0.0.1", "::1"]
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    try:
        async with asyncio.timeout(_TIMEOUT):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
    """The host and port of the request; None if the client speaks something else."""
    version, count = await reader.readexactly(2)
    methods = await reader.readexactly(count)
    if version != _VERSION or _NO_PASSWORD not in methods:
        return None
    writer.write(bytes((_VERSION, _NO_PASSWORD)))
    _, command, _, kind = await reader.readexactly(4)
    if kind == _NAME:
        (length,) = await reader.readexactly(1)
        host = (await reader.readexactly(length)).decode("ascii", "replace").lower()
    elif kind in (_IPV4, _IPV6):
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))
    else:
        return None
    port = int.from_bytes(await reader.readexactly(2), "big")
    if command != _CONNECT:
        await _answer(writer, _NOT_SUPPORTED)
        return None
    return host.rstrip("."), port


async def _answer(writer: asyncio.StreamWriter, code: int) -> None:
    writer.write(bytes((_VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0)))
    await writer.drain()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_PIECE):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
