"""The part of the API that is about a fleet."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from joey.errors import UsageError
from joey.web.answers import ConflictError, Handler, body_of, flag_in, place_in, text_in, whole_in
from joey.web.fleets import Fleets


class FleetApi:
    """The routes below /api/v1/fleet."""

    def __init__(self, fleets: Fleets) -> None:
        self.fleets = fleets

    @property
    def table(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/fleet", self.overview),
            ("GET", "/fleet/batches/{name}", self.batch),
            ("GET", "/fleet/tasks/{id}", self.task),
            ("GET", "/fleet/tasks/{id}/journals/{journal}", self.history),
            ("POST", "/fleet/tasks/{id}/answer", self.answer),
            ("POST", "/fleet/cancel", self.cancel),
            ("POST", "/fleet/retry", self.retry),
        ]

    async def overview(self, _request: Request) -> Response:
        return JSONResponse(await self.fleets.overview())

    async def batch(self, request: Request) -> Response:
        return JSONResponse(await self.fleets.tasks(request.path_params["name"]))

    async def task(self, request: Request) -> Response:
        return JSONResponse(await self.fleets.task(request.path_params["id"]))

    async def history(self, request: Request) -> Response:
        before = request.query_params.get("before")
        place = None if before is None else place_in(before, 0)
        return JSONResponse(await self.fleets.history(request.path_params["id"], request.path_params["journal"], place))

    async def answer(self, request: Request) -> Response:
        body = await body_of(request)
        part, yes, text = whole_in(body, "part", 1), flag_in(body, "yes"), text_in(body, "text")
        if part is None:
            raise UsageError("part is missing; it is a field of the task")
        port = await self.fleets.port()
        if not await asyncio.to_thread(port.answer, request.path_params["id"], part, yes=yes, text=text):
            raise ConflictError("somebody else was first, or nothing waits for this any more")
        return JSONResponse({"sent": True}, 202)

    async def cancel(self, request: Request) -> Response:
        name, port = await _name(request), await self.fleets.port()
        return JSONResponse({"tasks": await asyncio.to_thread(port.cancel, name)})

    async def retry(self, request: Request) -> Response:
        name, port = await _name(request), await self.fleets.port()
        return JSONResponse({"tasks": await asyncio.to_thread(port.retry, name)})


async def _name(request: Request) -> str:
    """The task or batch that is named. Nothing is no name for all of them."""
    name = text_in(await body_of(request), "name")
    if not name:
        raise UsageError("name is missing: a task, or a batch")
    return name
