"""The fleet on the page and in the API: what its database has, looked at now and then while somebody watches.

Front ends do not know each other, so the page knows a fleet as a `FleetPort`; `joey.cli` connects one. Databases are
slow or away: everything here happens in threads, and what is wrong with a database is words on the page.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from joey.errors import JoeyError, UsageError
from joey.journal.store import TaskStore
from joey.web.answers import ConflictError, Handler, body_of, flag_in, place_in, text_in, whole_in
from joey.web.follow import frame
from joey.web.history import piece_before
from joey.web.hub import Hub
from joey.web.index import JournalIndex

LOOK_EVERY = 2.0
_LOG = logging.getLogger(__name__)
_NONE = "there is no fleet here; `joey fleet run` begins one"


class FleetPort(Protocol):
    """A fleet as the page uses it. All of these block, and raise JoeyError."""

    def overview(self) -> dict[str, Any]:
        """Batches, workers, and what runs or waits for a person, without the requests themselves."""

    def tasks(self, batch: str) -> list[dict[str, Any]]:
        """The tasks of a batch."""

    def task(self, task_id: str) -> dict[str, Any]:
        """One task: its `journal`, and what it asks."""

    def journals(self, task_id: str) -> TaskStore:
        """What is recorded of a task, on whatever machine it ran."""

    def answer(self, task_id: str, part: int, *, yes: bool, text: str) -> bool:
        """Answer what a part of a task asks. False: it does not wait for that (any more)."""

    def cancel(self, name: str) -> int:
        """Cancel a task or a batch; how many tasks that was."""

    def retry(self, name: str) -> int:
        """Continue what ended without being completed; how many tasks that was."""

    def close(self) -> None:
        """The database is not needed any more."""


class Fleets:
    """The fleet, connected when there is one. `shown` is how it looked last, as a message for pages."""

    def __init__(self, connect: Callable[[], FleetPort | None]) -> None:
        self._connect = connect
        self._port: FleetPort | None = None
        self.shown = b""

    async def run(self, hub: Hub) -> None:
        """Look, as long as somebody listens, and send what changed."""
        while True:
            await hub.is_watched()
            message = frame("fleet", json.dumps(await self.overview(), separators=(",", ":")).encode())
            if message != self.shown:
                self.shown = message
                hub.send(message)
            await asyncio.sleep(LOOK_EVERY)

    async def overview(self) -> dict[str, Any]:
        """`fleet` is null where there is none; `problem` says why it cannot be looked at."""
        try:
            port = await self._opened()
            return {"fleet": await asyncio.to_thread(port.overview) if port else None}
        except JoeyError as error:
            return {"fleet": None, "problem": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug of ours is reported, and the next look may go well
            _LOG.exception("the fleet cannot be looked at")
            return {"fleet": None, "problem": f"the fleet cannot be looked at: {error}"}

    async def _opened(self) -> FleetPort | None:
        if self._port is None:
            self._port = await asyncio.to_thread(self._connect)
        return self._port

    async def port(self) -> FleetPort:
        """UsageError if there is no fleet."""
        port = await self._opened()
        if port is None:
            raise UsageError(_NONE)
        return port

    async def tasks(self, batch: str) -> dict[str, Any]:
        port = await self.port()
        return {"tasks": await asyncio.to_thread(port.tasks, batch)}

    async def task(self, task_id: str) -> dict[str, Any]:
        """A task with what is recorded of its last turns."""
        port = await self.port()
        task = await asyncio.to_thread(port.task, task_id)
        return {"task": task, **await asyncio.to_thread(_recorded, port, task_id, task["journal"], None)}

    async def history(self, task_id: str, journal: str, before: int | None) -> dict[str, Any]:
        """Older events of a task, or those of a subtask."""
        port = await self.port()
        return await asyncio.to_thread(_recorded, port, task_id, journal, before)

    def close(self) -> None:
        if self._port is not None:
            self._port.close()


def _recorded(port: FleetPort, task_id: str, journal: str, before: int | None) -> dict[str, Any]:
    index = JournalIndex(port.journals(task_id).journal_path(journal))
    try:
        index.update()
    except FileNotFoundError:  # nothing is recorded yet
        return {"events": [], "older": None}
    piece = piece_before(index, journal, index.size if before is None else min(before, index.size))
    return {"events": piece.events, "older": piece.older}


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
