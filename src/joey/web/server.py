"""The server: the page, the API behind its guard, and the tasks that run in it, from the first request to the last."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.errors import UsageError
from joey.system.signals import handled_signals
from joey.web.api import Api
from joey.web.export import INDEX, assets
from joey.web.fleets import FleetPort, Fleets
from joey.web.guard import Access, PageGuard, error_answer

_GRACE = 2


FleetConnector: TypeAlias = Callable[[Path], FleetPort | None]


def no_fleet(_folder: Path) -> None:
    """Nothing is known of fleets."""


def make_app(folder: Path, access: Access, flags: Mapping[str, Any], connect: FleetConnector) -> tuple[PageGuard, Api]:
    """The application, and the API that it serves. `flags` are settings that count for every task."""
    fleets = Fleets(lambda: connect(folder))
    api = Api(folder, lambda place: Services(TaskOptions(place, flags)), fleets)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        looking = [asyncio.ensure_future(each) for each in (api.hub.run(), fleets.run(api.hub))]
        try:
            yield
        finally:
            for each in looking:
                each.cancel()
            await asyncio.gather(*looking, return_exceptions=True)
            fleets.close()
            await api.runner.close()
            api.table.close()

    routes = [*api.routes, Route("/{name:path}", _page)]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _no_answer})
    return PageGuard(app, access), api


async def _page(request: Request) -> Response:
    asset = assets().get(request.path_params["name"] or INDEX)
    if asset is None:
        raise HTTPException(404)
    return Response(asset.content, media_type=asset.media_type)


async def _no_answer(request: Request, error: Exception) -> Response:
    """Nothing is there, or not for this method."""
    assert isinstance(error, HTTPException)
    words = f"there is nothing for {request.method} {request.url.path} here; docs/guides/web.md lists what there is"
    return error_answer(request.url.path, error.status_code, words)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: ours end the tasks first. `ready` is set when it listens, or cannot."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serving(
    folder: Path,
    access: Access,
    listening: socket.socket,
    flags: Mapping[str, Any],
    connect: FleetConnector = no_fleet,
) -> AsyncIterator[Api]:
    """Serve until the end of the block; then everybody is sent away, and the tasks that run here are ended."""
    app, api = make_app(folder, access, flags, connect)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=_GRACE, ws="none")
    server = _Server(config)
    running = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        await server.ready.wait()
        yield api
    finally:
        api.hub.close()
        server.should_exit = True
        await running


async def serve(
    folder: Path,
    access: Access,
    listening: socket.socket,
    flags: Mapping[str, Any],
    connect: FleetConnector,
    ready: Callable[[], None],
) -> None:
    """Serve until a signal."""
    ended = asyncio.Event()

    def end(_number: signal.Signals) -> None:
        ended.set()

    async with serving(folder, access, listening, flags, connect):
        ready()
        with handled_signals(end):
            await ended.wait()


def listen(host: str, port: int | None, usual: int) -> socket.socket:
    """A socket at this address. Without a port the usual one, or any if that is taken."""
    if port is None:
        with contextlib.suppress(UsageError):
            return _bound(host, usual)
    return _bound(host, port or 0)


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        where = f"{host} port {port}" if port else host
        raise UsageError(f"cannot listen on {where}: {error}; name another with --host or --port") from None
