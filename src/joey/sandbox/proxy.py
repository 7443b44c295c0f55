"""The way out for listed hosts: a proxy outside, on a unix socket that is bound into the sandbox.

Inside there is no network but the sandbox's own loopback, where a forwarder listens and passes everything on to the
socket. Programs find it by the usual variables. The proxy understands CONNECT and absolute requests of HTTP/1.1,
nothing else, and decides by the name that the client gives:

- only names on the list, exactly or below `*.`; never an address;
- the name is resolved here, once, and every address it has must be public: not this machine, not link-local, not a
  private network, so a listed name cannot be pointed at the inside of the user's network;
- the connection goes to that address, so a second answer of the resolver changes nothing.

Limits: TLS is not looked into, so another site behind the same front may answer; and whoever may upload to a listed
host has a way out.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from joey.system.hosts import matches_host, without_wrapping

REFUSED = "refused by Joey's sandbox"
_MAX_HEAD = 64 * 1024
_CHUNK = 64 * 1024
_TIMEOUT = 30.0
_NAME = re.compile(r"(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_PORTS = frozenset({80, 443})

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the internet's: not this machine, a private network, a link or the cloud's own."""
    try:
        found = without_wrapping(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return False
    return found.is_global and not found.is_multicast


class _RefusedError(Exception):
    """Why a request goes nowhere."""


@dataclass(eq=False)
class Proxy:
    """Listens on a socket of its own until it is closed."""

    hosts: tuple[str, ...]
    ports: frozenset[int] = _PORTS
    resolve: Resolve = resolve
    public: Callable[[str], bool] = is_public
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    async def listen(self, path: Path) -> None:
        self._server = await asyncio.start_unix_server(self._serve, path, limit=_MAX_HEAD)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for each in self._open:
            each.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._request(reader, writer)
        except _RefusedError as refusal:
            await _answer(writer, 403, f"{REFUSED}: {refusal}")
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            with contextlib.suppress(OSError):
                await _answer(writer, 502, f"the proxy of Joey's sandbox could not connect: {error}")
        except asyncio.CancelledError:
            pass  # the sandbox is closed
        finally:
            self._open.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_TIMEOUT):
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.partition(b"\r\n")
            method, target = _words(line)
            host, port, path = _target(method, target)
            address = await self.allowed(host, port)
            theirs, ours = await asyncio.open_connection(address, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                ours.write(f"{method} {path} HTTP/1.1\r\n".encode() + _one_request(rest, host, port))
            await asyncio.gather(_pass_on(reader, ours), _pass_on(theirs, writer))
        finally:
            ours.close()

    async def allowed(self, host: str, port: int) -> str:
        """The address to connect to. Raises _RefusedError."""
        name = host.lower().rstrip(".")
        if not _NAME.fullmatch(name) or _is_address(name):
            raise _RefusedError(f"{host!r} is not a name")
        if not any(matches_host(name, pattern) for pattern in self.hosts if pattern != "*"):
            raise _RefusedError(f"{name} is not on the list of hosts")
        if port not in self.ports:
            raise _RefusedError(f"port {port} is not allowed")
        addresses = await self.resolve(name, port)
        if not addresses or not all(map(self.public, addresses)):
            raise _RefusedError(f"{name} leads into a private network")
        return addresses[0]


def _is_address(name: str) -> bool:
    """Whether some resolver would take a name for an address: 127.1 and 0x7f000001 are this machine."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return all(re.fullmatch(r"0[xX][0-9a-fA-F]*|\d+", part) for part in name.split("."))


def _words(line: bytes) -> tuple[str, str]:
    words = line.decode("ascii", "strict").split(" ")
    if len(words) != 3 or not re.fullmatch(r"HTTP/1\.[01]", words[2]) or not re.fullmatch(r"[A-Z]{1,20}", words[0]):
        raise _RefusedError("this is not a request that a proxy understands")
    return words[0], words[1]


def _target(method: str, target: str) -> tuple[str, int, str]:
    """The host, the port and what to ask it for."""
    try:
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            return host, int(port), ""
        parts = urlsplit(target)
        if parts.scheme != "http" or parts.username or not parts.hostname or not target.isprintable():
            raise _RefusedError("only absolute http addresses are understood")
        return parts.hostname, parts.port or 80, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    except ValueError:
        raise _RefusedError("the address cannot be read") from None


def _one_request(headers: bytes, host: str, port: int) -> bytes:
    """The headers for the one request that was checked: its host, and no second request on the same connection."""
    kept = [
        line
        for line in headers.removesuffix(b"\r\n\r\n").split(b"\r\n")
        if line.partition(b":")[0].strip().lower() not in (b"host", b"connection", b"proxy-connection", b"keep-alive")
    ]
    name = host if port == 80 else f"{host}:{port}"
    return b"\r\n".join([b"Host: " + name.encode(), b"Connection: close", *filter(None, kept)]) + b"\r\n\r\n"


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()


async def _answer(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    body = f"{text}\n".encode("utf-8", "replace")
    reason = "Forbidden" if status == 403 else "Bad Gateway"
    head = f"HTTP/1.1 {status} {reason} ({text})"[:300].encode("ascii", "replace")
    writer.write(head + b"\r\nConnection: close\r\nContent-Type: text/plain\r\n")
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
