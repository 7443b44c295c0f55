"""The web server in this process, with a scripted model behind it, a home of its own, and a client with its token."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest

from joey.journal.records import MessageAdded, RunBegan, RunEnded, TaskEnded, TaskOpened, TurnEnded
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.testing.script import Scripted
from joey.testing.server import LocalServer
from joey.usage import Usage
from joey.web.api import Api
from joey.web.guard import Access
from joey.web.server import FleetConnector, no_fleet, serving

TOKEN = "a-token-for-tests-0123456789"


async def until(is_so: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until something is so; what it is then."""
    for _ in range(int(seconds / 0.02)):
        if found := is_so():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to be so")


@dataclass
class WebKit:
    """A server with one folder to work in."""

    folder: Path
    model: LocalServer
    api: Api
    port: int
    client: httpx2.AsyncClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.url}/?token={TOKEN}"

    @property
    def workspace(self) -> Path:
        return self.folder / "project"

    async def get(self, path: str) -> Any:
        answer = await self.client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, status: int = 201, **body: Any) -> Any:
        answer = await self.client.post(f"/api/v1{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def start(self, text: str = "Do it.", **more: Any) -> str:
        return str((await self.post("/tasks", text=text, **more))["id"])

    async def status(self, task_id: str, *wanted: str) -> dict[str, Any]:
        """The task, once it has one of these statuses."""
        for _ in range(1000):
            task: dict[str, Any] = (await self.get(f"/tasks/{task_id}"))["task"]
            if task["status"] in wanted:
                return task
            await asyncio.sleep(0.02)
        raise AssertionError(f"the task was never {' or '.join(wanted)}")

    async def request(self, task_id: str) -> tuple[str, dict[str, Any]]:
        """The run, and the request that waits in it."""
        task = await self.status(task_id, "waiting")
        listed = self.api.table.get(task_id)
        assert listed.follower is not None
        return str(task["run"]), next(iter(listed.follower.pending.values()))

    async def answer(self, task_id: str, status: int = 202, **fields: Any) -> Any:
        run, request = await self.request(task_id)
        command = {"type": "answer", "request_id": request["request_id"], **fields}
        return await self.post(f"/tasks/{task_id}/commands", status, run=run, command=command)


@dataclass
class Stream:
    """A watcher without a browser: what it was sent."""

    frames: list[tuple[str, str, Any]] = field(default_factory=list)
    place: str = ""

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for kind, _, data in self.frames if kind == "events" for event in data]

    @property
    def text(self) -> str:
        return "".join(event["text"] for event in self.events if event["type"] == "text_delta")

    def take(self, message: str) -> None:
        fields = dict(line.split(": ", 1) for line in message.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in fields:
            self.place = fields.get("id", self.place)
            self.frames.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))


@asynccontextmanager
async def listening(kit: WebKit, task_id: str, place: str = "", stream: Stream | None = None) -> AsyncIterator[Stream]:
    """Listen to a task from a place on, like a browser."""
    stream = stream or Stream(place=place)

    async def read() -> None:
        headers = {"last-event-id": stream.place} if stream.place else {}
        async with kit.client.stream("GET", "/api/v1/events", params={"task": task_id}, headers=headers) as answer:
            rest = ""
            async for piece in answer.aiter_text():
                *whole, rest = (rest + piece).split("\n\n")
                for message in whole:
                    stream.take(message)

    reading = asyncio.ensure_future(read())
    try:
        yield stream
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


class WebKits:
    """Makes kits for a test, and ends them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch = folder, monkeypatch
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def start(
        self,
        script: Iterable[Scripted] | Callable[[Any], Scripted],
        connect: FleetConnector = no_fleet,
        /,
        **flags: Any,
    ) -> WebKit:
        home, workspace = self._folder / "home", self._folder / "project"
        home.mkdir(exist_ok=True)
        workspace.mkdir(exist_ok=True)
        for name, value in {"HOME": str(home), "ANTHROPIC_API_KEY": "k"}.items():
            self._monkeypatch.setenv(name, value)
        model = await self._open.enter_async_context(LocalServer(script))
        used = {"model": "anthropic/claude-sonnet-5-5", "base_url": model.anthropic_url, **flags}
        bound = socket.create_server(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        client = httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"authorization": f"Bearer {TOKEN}"}, timeout=30
        )
        # In this order, so that the server is there until the client has gone.
        api = await self._open.enter_async_context(serving(workspace, Access(TOKEN), bound, used, connect))
        await self._open.enter_async_context(client)
        return WebKit(self._folder, model, api, port, client)


def long_task(folder: Path, turns: int, size: int = 200) -> Path:
    """A task of so many turns, each with a call and its result."""
    store = TaskStore(folder)
    with store.open("long") as written:
        written.append(TaskOpened("long", "A long task", str(folder), "code", "anthropic/claude-sonnet-5-5", "native"))
        written.append(MessageAdded(Message("user", (TextBlock("A long task"),))))
        for n in range(turns):
            use = ToolUseBlock(f"c{n}", "read_file", {"path": f"f{n}.py"})
            written.append(MessageAdded(Message("assistant", (TextBlock(f"Step {n}."), use))))
            written.append(TurnEnded(Usage(100 + n, 10), 0.001))
            written.append(RunBegan(f"c{n}", "read_file"))
            result = ToolResult((TextBlock("x" * size),))
            written.append(RunEnded(f"c{n}", "read_file", result))
            written.append(MessageAdded(Message("user", (ToolResultBlock(f"c{n}", result.content),))))
        written.append(TaskEnded("completed", "Done."))
    return store.journal_path("long")
