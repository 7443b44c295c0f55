"""A gateway for one client, which is started in front of it and waited for."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from joey.errors import UsageError
from joey.gateway.clients import DEFAULT_WINDOW, Served, launch_of
from joey.gateway.server import Gateway
from joey.gateway.serving import HttpServer, address_of
from joey.system.folders import make_private, state_folder

_ANY_KEY = "any"


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
        server = HttpServer(gateway)
        serving = asyncio.create_task(server.serve(listening))
        try:
            return await _run(program, launch.command[1:], {**os.environ, **launch.variables})
        finally:
            server.stop()
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
