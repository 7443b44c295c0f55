"""Serving over HTTP, alone or for one client that is started and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn

from joey.errors import UsageError
from joey.gateway.clients import DEFAULT_WINDOW, Served, launch_of
from joey.gateway.connections import GatewayConnection
from joey.gateway.server import Gateway
from joey.messages import Message, TextBlock
from joey.providers import ModelRequest, ProviderError
from joey.system.folders import make_private, state_folder
from joey.system.hosts import is_this_machine

PORT = 8808
_ANY_KEY = "any"


def bound(host: str, port: int | None) -> socket.socket:
    """A socket at the address. The usual port gives way to a free one if it is taken; a chosen one does not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem = ""
    for number in (port,) if port is not None else (PORT, 0):
        # asyncio sends small pieces at once (TCP_NODELAY) only if the protocol is named.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, number))
        except OSError as error:
            made.close()
            problem = error.strerror or str(error)
            continue
        made.set_inheritable(False)
        return made
    raise UsageError(f"cannot listen at {host} port {port}: {problem}; choose another --port")


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_host(host: str, key: str | None) -> bool:
    """Whether the host is this machine alone. Raises UsageError for any other without a key."""
    is_here = is_this_machine(host) and host not in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    if not is_here and not key:
        raise UsageError(f"{host} can be reached from other machines; set a key with --key or $JOEY_GATEWAY_KEY")
    return is_here


class _Server(uvicorn.Server):
    """A server that ends with what it serves, and leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server_of(
    gateway: Gateway, *, quiet: bool, connection: type[GatewayConnection] = GatewayConnection
) -> uvicorn.Server:
    """A server of the gateway. `quiet` is for one that shares a terminal with a client."""
    config = uvicorn.Config(
        gateway.application(),
        access_log=False,
        log_level="critical" if quiet else "error",  # what clients send wrongly is answered, and no news here
        http=connection,
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    return _Server(config) if quiet else uvicorn.Server(config)


async def serve(gateway: Gateway, listening: socket.socket, report: Callable[[str], None]) -> None:
    """Serve until Ctrl-C."""
    warming = asyncio.create_task(_warm(gateway, report))
    try:
        await server_of(gateway, quiet=False).serve([listening])
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


async def serve_client(
    gateway: Gateway, listening: socket.socket, client: str, args: Sequence[str], key: str | None
) -> int:
    """Start the client in front of the gateway, and wait for it; returns its exit code."""
    make_private(state_folder())  # Codex starts no sandbox from a folder for temporary files
    with tempfile.TemporaryDirectory(prefix="gateway-", dir=state_folder(), ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        launch = launch_of(client, served_by(gateway, listening, key), folder, args)
        program = shutil.which(launch.command[0])
        if program is None:
            raise UsageError(f"{launch.command[0]} is not installed; {launch.install}")
        launch.write_files(folder)
        server = server_of(gateway, quiet=True)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            return await _run(program, launch.command[1:], {**os.environ, **launch.variables})
        finally:
            server.should_exit = True
            await serving


async def _run(program: str, args: Sequence[str], variables: dict[str, str]) -> int:
    """The client has the terminal, and Ctrl-C is for it alone."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = await asyncio.create_subprocess_exec(
            program, *args, env=variables, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
        code = await process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def served_by(gateway: Gateway, listening: socket.socket, key: str | None) -> Served:
    first = gateway.routing.upstreams[0]
    return Served(address_of(listening), key or _ANY_KEY, first.name, first.context_window or DEFAULT_WINDOW)
