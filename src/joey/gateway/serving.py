"""Serving over HTTP: where to listen, who may reach it, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

from joey.errors import UsageError
from joey.gateway.connections import GatewayConnection, OpenConnections
from joey.gateway.server import Gateway
from joey.messages import Message, TextBlock
from joey.providers import ModelRequest, ProviderError
from joey.system.hosts import is_this_machine

PORT = 8808
BACKLOG = 2048
_GRACE = 1.0


def bound(host: str, port: int | None) -> socket.socket:
    """A socket at the address. The usual port gives way to a free one if it is taken; a chosen one does not."""
    problem, numbers = "", (port,) if port is not None else (PORT, 0)
    for number in numbers:
        try:
            return _listening(host, number)
        except (OSError, OverflowError) as error:  # the latter for a number that is no port
            problem = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"cannot listen on {host}, port {numbers[0]}: {problem}; choose another --host or --port")


def _listening(host: str, port: int) -> socket.socket:
    """Listening before anybody is told the address: who connects at once waits, and is not refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small pieces at once (TCP_NODELAY) only if the protocol is named.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_host(host: str, key: str | None) -> bool:
    """Whether the host is this machine alone. Raises UsageError for any other without a key."""
    is_here = is_this_machine(host) and host not in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    if not is_here and not key:
        raise UsageError(f"{host} can be reached from other machines; set a key with --key or $JOEY_GATEWAY_KEY")
    return is_here


class HttpServer:
    """Serves a gateway on sockets until it is stopped."""

    def __init__(self, gateway: Gateway, connection: type[GatewayConnection] = GatewayConnection) -> None:
        self._gateway = gateway
        self._connection = connection
        self._opened = OpenConnections(gateway.application())
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: self._connection(self._opened), sock=listening, backlog=BACKLOG)
        try:
            await self._stopped.wait()
        finally:
            server.close()
            await self._end()
            await self._gateway.close()

    async def _end(self) -> None:
        """Answers that are under way have a moment to end; then the others end with an error, for whoever reads it."""
        for connection in tuple(self._opened.connections):
            connection.end()
        if tasks := tuple(self._opened.tasks):
            await asyncio.wait(tasks, timeout=_GRACE)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_GRACE)
        for connection in tuple(self._opened.connections):
            connection.transport.abort()
        if tasks:
            await asyncio.wait(tasks)


async def serve(gateway: Gateway, listening: socket.socket, report: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, or until the system ends this process."""
    server = HttpServer(gateway)
    with contextlib.suppress(NotImplementedError, RuntimeError):  # not everywhere, and in the main thread only
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    warming = asyncio.create_task(_warm(gateway, report))
    try:
        await server.serve(listening)
    finally:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)


async def _warm(gateway: Gateway, report: Callable[[str], None]) -> None:
    """Load models of this process while nobody waits for them."""
    for upstream in gateway.routing.upstreams:
        if upstream.provider.name == "local":
            try:
                request = ModelRequest(upstream.model, (Message("user", (TextBlock("."),)),))
                await upstream.provider.count_tokens(request)
            except ProviderError as error:
                report(str(error))
            else:
                report(f"{upstream.name} is loaded.")
