"""The JSON API, version 1: what the page uses, and what others can build on. docs/guides/web.md documents it.

Errors are `{"error": "what happened; what to do"}`. Nothing is changed by a GET.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from joey import __version__
from joey.app.checkpoints import How, Step
from joey.app.notes_for_later import NotePlan, note_in
from joey.app.services import Services
from joey.checkpoints.restore import plan_restore
from joey.commands import COMMANDS, Command, SetProfile
from joey.errors import JoeyError, UsageError, WireError
from joey.images.sizing import image_type
from joey.journal.live import send_command
from joey.messages import BLOCKS, ImageBlock
from joey.system.filenames import quoted
from joey.tools.builtin import builtin_display, builtin_tools
from joey.web.answers import ConflictError, Handler, answering, body_of, flag_in, place_in, text_in, whole_in
from joey.web.export import export_page
from joey.web.fleets import FleetApi, Fleets
from joey.web.history import piece_before, timeline, whole_result
from joey.web.hub import Hub
from joey.web.index import read_between
from joey.web.playground import play, protocol_names
from joey.web.runner import Runner, Wanted
from joey.web.table import Listed, TaskTable

VERSION = 1
STEPS: tuple[Step, ...] = ("undo", "redo")


class Api:
    """The routes below /api/v1, over the tasks of one user."""

    def __init__(self, folder: Path, services: Callable[[Path], Services], fleets: Fleets) -> None:
        self._folder, self._services, self.fleets = folder, services, fleets
        home = services(folder)
        self.table = TaskTable(home.store)
        self.hub = Hub(self.table, lambda: fleets.shown)
        self.runner = Runner(services)

    @property
    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/meta", self.meta),
            ("GET", "/options", self.options),
            ("GET", "/events", self.events),
            ("GET", "/tasks", self.tasks),
            ("POST", "/tasks", self.start),
            ("GET", "/tasks/{id}", self.task),
            ("DELETE", "/tasks/{id}", self.delete),
            ("GET", "/tasks/{id}/history", self.history),
            ("GET", "/tasks/{id}/results/{call}", self.result),
            ("GET", "/tasks/{id}/timeline", self.timeline),
            ("GET", "/tasks/{id}/export", self.export),
            ("GET", "/tasks/{id}/checkpoints", self.checkpoints),
            ("GET", "/tasks/{id}/checkpoints/{number:int}", self.checkpoint),
            *(
                (method, f"/tasks/{{id}}/{step}", partial(handler, step))
                for step in STEPS
                for method, handler in (("GET", self.look_at_step), ("POST", self.step))
            ),
            ("POST", "/tasks/{id}/commands", self.command),
            ("POST", "/tasks/{id}/resume", self.resume),
            ("POST", "/tasks/{id}/fork", self.fork),
            ("POST", "/notes", self.note),
            ("POST", "/parse", self.parse),
        ]
        table += FleetApi(self.fleets).table
        return [Route(f"/api/v1{path}", answering(handler), methods=[method]) for method, path, handler in table]

    # What there is

    async def meta(self, _request: Request) -> Response:
        tools = {tool.name: builtin_display(tool.name) for tool in builtin_tools()}
        shown = {name: {"subject": each.subject, "role": each.role, "kind": each.kind} for name, each in tools.items()}
        places = {"folder": str(self._folder), "home": str(Path.home())}
        about = {"version": VERSION, "joey": __version__, "tools": shown, "protocols": protocol_names()}
        return JSONResponse({**about, **places})

    async def options(self, request: Request) -> Response:
        """What can be chosen for a new task in a folder."""
        folder = self._place(request.query_params.get("folder") or str(self._folder))
        services = self._services(folder)
        first = services.first_choices()
        return JSONResponse(
            {
                "folder": str(folder),
                "mode": first.mode,
                "modes": [{"slug": slug, "name": name} for slug, name in services.modes()],
                "model": first.model,
                "models": [*dict.fromkeys([first.model, *services.models()])],
                "profile": services.profile(),
                "profiles": [*dict.fromkeys([services.profile(), *await services.profiles()])],
            }
        )

    def _place(self, name: str) -> Path:
        folder = Path(name).expanduser()
        if not folder.is_absolute() or not folder.is_dir():
            raise UsageError(f"{name} is not a folder; write its full path")
        return folder

    async def tasks(self, request: Request) -> Response:
        self.table.refresh()
        shown = self.table.shown
        if text := request.query_params.get("search"):
            found = await asyncio.to_thread(self._services(self._folder).search, text)
            shown = {task_id: shown[task_id] for task_id in found if task_id in shown}
        return JSONResponse({"tasks": [*shown.values()]})

    async def events(self, request: Request) -> Response:
        place = request.headers.get("last-event-id") or request.query_params.get("after", "")
        stream = self.hub.watch(request.query_params.get("task", ""), place)
        return StreamingResponse(stream, media_type="text/event-stream")

    # One task

    def _listed(self, request: Request) -> Listed:
        return self.table.get(request.path_params["id"])

    async def task(self, request: Request) -> Response:
        """The task with its last turns; `place` is where the stream of events continues."""
        listed = self._listed(request)
        follower, index = listed.follower, listed.index
        piece = piece_before(index, listed.task_id, follower.mark[1] if follower else index.size)
        live = [json.loads(line) for line in follower.since_mark()] if follower else []
        window = self._window(listed)
        task = {**listed.summary, "text": index.opened.text if index.opened else "", "window": window}
        task["parent"] = index.opened.parent_id if index.opened else None
        return JSONResponse(
            {"task": task, "events": [*piece.events, *live], "older": piece.older, "place": listed.place}
        )

    def _window(self, listed: Listed) -> int | None:
        opened = listed.index.opened
        if opened is None:
            return None
        folder = opened.folder if opened.folder.is_dir() else self._folder
        try:
            return self._services(folder).context_window(opened.model)
        except JoeyError:
            return None

    async def history(self, request: Request) -> Response:
        """Older events, before a place of the journal."""
        listed = self._listed(request)
        before = place_in(request.query_params.get("before"), listed.index.size)
        piece = piece_before(listed.index, listed.task_id, before)
        return JSONResponse({"events": piece.events, "older": piece.older})

    async def result(self, request: Request) -> Response:
        listed = self._listed(request)
        found = whole_result(listed.index.path, listed.index.size, request.path_params["call"])
        if found is None:
            raise UsageError("there is no result of this call")
        return JSONResponse(found)

    async def timeline(self, request: Request) -> Response:
        listed = self._listed(request)
        turns = timeline(read_between(listed.index.path, 0, listed.index.size))
        return JSONResponse({"turns": turns, "window": self._window(listed)})

    async def export(self, request: Request) -> Response:
        listed = self._listed(request)
        page = await asyncio.to_thread(export_page, self._services(self._folder).store, listed.task_id)
        name = f'attachment; filename="{listed.task_id}.html"'
        return Response(page, media_type="text/html", headers={"content-disposition": name})

    # Files

    async def checkpoints(self, request: Request) -> Response:
        found = self._services(self._folder).checkpoints(self._listed(request).task_id).checkpoints
        listed = [{"id": each.id, "at": each.at, "turn": each.turn, "label": each.label} for each in found]
        return JSONResponse({"checkpoints": listed})

    async def checkpoint(self, request: Request) -> Response:
        """What would change if the files went back to a checkpoint."""
        store = self._services(self._folder).checkpoints(self._listed(request).task_id)
        plan = await asyncio.to_thread(plan_restore, store, request.path_params["number"])
        return JSONResponse({"diff": plan.diff(), "left": plan.left})

    async def look_at_step(self, step: Step, request: Request) -> Response:
        plan = self._services(self._folder).look_at_step(self._listed(request).task_id, step)
        return JSONResponse({"diff": plan.diff, "changed": plan.changed, "left": dict(plan.left)})

    async def step(self, step: Step, request: Request) -> Response:
        body = await body_of(request)
        how: How = "anyway" if flag_in(body, "anyway") else "now"
        listed = self._listed(request)
        if listed.follower is not None:
            raise ConflictError("the task runs; stop it before files are restored")
        services = self._services(self._folder)
        words = services.step_files(listed.task_id, step, how)
        if words.startswith(f"{step.capitalize()} would "):
            names = ", ".join(map(quoted, services.look_at_step(listed.task_id, step).changed))
            raise ConflictError(f"nothing was done: somebody else changed {names} since; `anyway` overwrites that, too")
        return JSONResponse({"message": words.partition("; /")[0].splitlines()[0]})

    # What changes something

    async def start(self, request: Request) -> Response:
        body = await body_of(request)
        wanted = _wanted(body)
        if not wanted.text.strip():
            raise UsageError("write what to do")
        folder = self._place(text_in(body, "folder") or str(self._folder))
        return JSONResponse({"id": await self.runner.start(folder, wanted)}, 201)

    async def resume(self, request: Request) -> Response:
        wanted, listed = _wanted(await body_of(request)), self._listed(request)
        if listed.follower is not None:
            raise ConflictError("the task runs already; send it a message")
        return JSONResponse({"id": await self.runner.resume(listed.task_id, self._folder, wanted)}, 201)

    async def command(self, request: Request) -> Response:
        """A command for the run that the caller has seen: an answer to a request of another run is none."""
        body, listed = await body_of(request), self._listed(request)
        command = _command(body.get("command"))
        run = text_in(body, "run")
        if listed.follower is None:
            raise ConflictError("the task does not run any more; continue it with a message")
        if not run:
            raise UsageError("run is missing; it is a field of the task")
        if listed.follower.run != run:
            raise ConflictError("the task ended and runs again since; load it again")
        if isinstance(command, SetProfile):
            await self._check_profile(listed, command.profile)
        sent = self.runner.send(listed.task_id, listed.follower.run, command)
        if sent is False:
            raise ConflictError("somebody else was first, or nothing waits for this any more")
        if sent is None:
            send_command(listed.index.path.parent, listed.follower.run, command)
        return JSONResponse({"sent": True}, 202)

    async def _check_profile(self, listed: Listed, profile: str) -> None:
        folder = listed.index.opened.folder if listed.index.opened else self._folder
        allowed = await self._services(folder).profiles()
        if profile not in allowed:
            raise UsageError(f"the approval profile {profile!r} is not available here; use {', '.join(allowed)}")

    async def fork(self, request: Request) -> Response:
        body, listed = await body_of(request), self._listed(request)
        new = self._services(self._folder).fork(listed.task_id, whole_in(body, "turn", 0))
        return JSONResponse({"id": new}, 201)

    async def delete(self, request: Request) -> Response:
        listed = self._listed(request)
        if listed.follower is not None:
            raise ConflictError("the task runs; stop it first")
        self._services(self._folder).delete(listed.task_id)
        return JSONResponse({"deleted": listed.task_id})

    async def note(self, request: Request) -> Response:
        """A line for the AGENTS.md of a folder, or of a task's: what it would change; with that diff sent back, the
        change is made. Text that is no such line has no diff."""
        body = await body_of(request)
        words, approved = note_in(text_in(body, "text")), text_in(body, "diff")
        if words is None:
            return JSONResponse({"diff": None})
        shown: list[NotePlan] = []

        async def confirm(plan: NotePlan) -> bool:
            shown.append(plan)
            if approved and approved != plan.diff:
                raise ConflictError(f"{plan.path.name} was changed meanwhile; send the line again")
            return bool(approved)

        message = await self._services(self._folder_of(body)).add_note(words, confirm)
        (plan,) = shown
        return JSONResponse({"question": plan.question, "diff": plan.diff, "message": message if approved else None})

    def _folder_of(self, body: dict[str, Any]) -> Path:
        if not (task_id := text_in(body, "task")):
            return self._place(text_in(body, "folder") or str(self._folder))
        opened = self.table.get(task_id).index.opened
        return self._place(str(opened.folder) if opened else str(self._folder))

    async def parse(self, request: Request) -> Response:
        body = await body_of(request)
        protocol, size = text_in(body, "protocol") or "auto", whole_in(body, "size", 1)
        work = partial(play, text_in(body, "text"), protocol, body.get("tools"), size or 4)
        return JSONResponse(await asyncio.to_thread(work))


def _wanted(body: dict[str, Any]) -> Wanted:
    chosen = {name: text_in(body, name) or None for name in ("mode", "model", "profile")}
    return Wanted(text_in(body, "text"), _images(body.get("images", [])), **chosen)


def _images(data: Any) -> tuple[ImageBlock, ...]:
    try:
        found = tuple(BLOCKS.decode(each) for each in data)
    except (WireError, TypeError):
        found = ("wrong",)
    if not all(isinstance(each, ImageBlock) and _is_image(each) for each in found):
        raise UsageError("images are a JSON array of image blocks: png, jpeg, gif or webp, in base64")
    return found


def _is_image(block: ImageBlock) -> bool:
    try:
        return image_type(base64.b64decode(block.data[:64])) == block.media_type
    except (binascii.Error, ValueError):
        return False


def _command(data: Any) -> Command:
    try:
        command: Command = COMMANDS.decode(data)
    except WireError as error:
        raise UsageError(f"this is no command: {error}") from None
    return command
