"""An editor for tests: it starts `joey acp`, answers what it is asked, and checks every message against the schema."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, Self, cast

import jsonschema
import pytest

from joey.acp.agent import Agent
from joey.acp.client import Client
from joey.acp.connection import EditorConnection
from joey.testing.script import Scripted
from joey.testing.server import LocalServer

SCHEMA = Path(__file__).parent / "vectors" / "acp" / "schema-v1.json"
Answerer = Callable[[str, Mapping[str, Any]], Any]


@cache
def _types() -> dict[tuple[str, str, bool], Any]:
    """The types of the protocol by who serves the method, the method, and whether it is the answer."""
    schema = json.loads(SCHEMA.read_text())
    found = {}
    for name, each in schema["$defs"].items():
        if "x-method" in each:
            wanted = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
            found[each["x-side"], each["x-method"], name.endswith("Response")] = jsonschema.Draft202012Validator(wanted)
    return found


def check_message(message: Mapping[str, Any], answered: Mapping[Any, str]) -> None:
    """What Joey sent is valid: requests and notifications by the client's methods, answers by the agent's."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        _types()["client", message["method"], False].validate(message["params"])
    elif "result" in message:
        _types()["agent", answered[message["id"]], True].validate(message["result"])
    else:
        assert isinstance(message["error"]["code"], int)
        assert isinstance(message["error"]["message"], str)


def check_order(log: Iterable[tuple[str, Any]]) -> None:
    """A call is announced once, before its updates and its permission; a session is silent from the answer to a
    cancelled prompt to the next message of the client's; every request has one answer at most."""
    announced: set[tuple[str, str]] = set()
    open_requests: dict[Any, Any] = {}
    silent: set[str] = set()
    for side, message in log:
        params = (message.get("params") if isinstance(message, dict) else None) or {}
        session = str(params.get("sessionId") if isinstance(params, dict) else None)
        if side == "client":
            silent.discard(session)
            if isinstance(message, dict) and "method" in message and isinstance(message.get("id"), (int, str)):
                open_requests[message["id"]] = session
        elif "method" in message:
            assert session not in silent, message
            shown = params.get("update") or params.get("toolCall") or {}
            key = (session, shown.get("toolCallId", ""))
            if shown.get("sessionUpdate") == "tool_call":
                assert key not in announced, message
                announced.add(key)
            assert not key[1] or key in announced, message
        elif message.get("id") is not None:
            about = open_requests.pop(message["id"])
            if isinstance(message.get("result"), dict) and message["result"].get("stopReason") == "cancelled":
                silent.add(about)


class Agency(Protocol):
    """Joey, as a process or in this one."""

    def send_line(self, line: bytes) -> None: ...
    async def read_line(self) -> bytes: ...
    async def close(self) -> int: ...


@dataclass
class InProcess:
    """Lines go in by one queue and come out by another. It is also the output of the connection."""

    into: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    out: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    _serving: asyncio.Task[None] | None = None

    def begin(self, flags: Mapping[str, Any]) -> Self:
        self._serving = asyncio.ensure_future(self._serve(Agent(Client(), flags)))
        return self

    async def _serve(self, agent: Agent) -> None:
        agent.connection = EditorConnection(agent, cast("BinaryIO", self))
        await agent.connection.run(self)
        await agent.close()
        self.out.put_nowait(b"")

    async def next(self) -> bytes | None:
        return await self.into.get()

    def write(self, line: bytes) -> int:
        self.out.put_nowait(line)
        return len(line)

    def flush(self) -> None:
        pass

    def send_line(self, line: bytes) -> None:
        self.into.put_nowait(line)

    async def read_line(self) -> bytes:
        return await self.out.get()

    async def close(self) -> int:
        self.into.put_nowait(None)
        assert self._serving is not None
        await asyncio.wait_for(self._serving, 30)
        return 0


@dataclass
class AsProcess:
    process: asyncio.subprocess.Process

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    async def read_line(self) -> bytes:
        assert self.process.stdout is not None
        return await self.process.stdout.readline()

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), 30)


@dataclass
class Editor:
    """A client. `seen` is everything that Joey sent, in order."""

    agent: Agency
    answer: Answerer
    seen: list[dict[str, Any]] = field(default_factory=list)
    log: list[tuple[Literal["client", "agent"], Any]] = field(default_factory=list)
    """What went both ways."""
    _ids: int = 0
    _methods: dict[Any, str] = field(default_factory=dict)
    _waiting: dict[Any, asyncio.Future[Any]] = field(default_factory=dict)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    def begin(self) -> Self:
        self._reading = asyncio.ensure_future(self._read())
        return self

    async def _read(self) -> None:
        while line := await self.agent.read_line():
            message = json.loads(line)
            check_message(message, self._methods)
            self.seen.append(message)
            self.log.append(("agent", message))
            self._came.set()
            if "method" in message and "id" in message:
                result = self.answer(message["method"], message["params"])
                if result is not None:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "id" in message and message["id"] in self._waiting:
                self._waiting[message["id"]].set_result(message)
        for each in self._waiting.values():
            if not each.done():
                each.set_result({"error": {"code": 0, "message": "the agent ended"}})

    def send(self, message: Any) -> None:
        self.log.append(("client", message))
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        self.agent.send_line(line)

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin_request(self, method: str, **params: Any) -> asyncio.Future[Any]:
        self._ids += 1
        return self.send_request({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})

    def send_request(self, message: Mapping[str, Any]) -> asyncio.Future[Any]:
        """A request with an id of its own."""
        self._methods[message["id"]] = message["method"]
        answer = self._waiting[message["id"]] = asyncio.get_running_loop().create_future()
        self.send(message)
        return answer

    async def request(self, method: str, **params: Any) -> Any:
        """The result; an error as {"error": …}."""
        message = await asyncio.wait_for(self.begin_request(method, **params), 60)
        return message["result"] if "result" in message else {"error": message["error"]}

    async def request_with(self, method: str, params: Any) -> Any:
        """The answer to a request whose parameters are no object."""
        self._ids += 1
        return await self.send_request({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})

    async def initialize(self, **capabilities: Any) -> Any:
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def prompt(self, session: str, text: str) -> Any:
        return await self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def updates(self, kind: str | None = None) -> list[dict[str, Any]]:
        found = [each["params"]["update"] for each in self.seen if each.get("method") == "session/update"]
        return [each for each in found if kind is None or each["sessionUpdate"] == kind]

    def text(self) -> str:
        return "".join(each["content"]["text"] for each in self.updates("agent_message_chunk"))

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for a message after which this is true."""
        while not true():
            self._came.clear()
            await asyncio.wait_for(self._came.wait(), 60)

    def requests(self, method: str = "session/request_permission") -> list[dict[str, Any]]:
        """What Joey asked."""
        return [each["params"] for each in self.seen if each.get("method") == method]

    async def close(self) -> int:
        code = await self.agent.close()
        assert self._reading is not None
        await asyncio.wait_for(self._reading, 30)
        check_order(self.log)
        return code


def choose(option: str) -> Answerer:
    """A user who answers every permission request alike."""

    def answer(method: str, _params: Mapping[str, Any]) -> Any:
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        return chosen if method == "session/request_permission" else None

    return answer


def shape(updates: Iterable[Mapping[str, Any]]) -> list[Any]:
    """What a user sees in the end: words, and each call with its last title, state and content, without ids."""
    found: list[Any] = []
    calls: dict[str, dict[str, Any]] = {}
    last: Any = None
    for update in updates:
        kind = update["sessionUpdate"]
        if kind == "tool_call":
            calls[update["toolCallId"]] = {}
            found.append(calls[update["toolCallId"]])
        if kind.startswith("tool_call"):
            shown = {key: update[key] for key in ("title", "kind", "status", "content", "locations") if key in update}
            calls[update["toolCallId"]].update(shown)
        elif kind in ("agent_message_chunk", "agent_thought_chunk"):
            if last != (kind, update["messageId"]):
                found.append([kind, ""])
            found[-1][1] += update["content"]["text"]
        elif kind == "plan":
            found.append(update["entries"])
        last = (kind, update.get("messageId"))
    return [each for each in found if each != ["agent_message_chunk", ""]]


@dataclass
class Desk:
    """A home, a workspace and a scripted model: where editors are opened."""

    folder: Path
    server: LocalServer

    def __post_init__(self) -> None:
        self.home, self.workspace = self.folder / "home", self.folder / "project"
        self.home.mkdir(exist_ok=True)
        self.workspace.mkdir(exist_ok=True)

    @property
    def variables(self) -> dict[str, str]:
        return {"HOME": str(self.home), "ANTHROPIC_API_KEY": "k", "JOEY_MODEL": "anthropic/scripted"}

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        return {**kept, **self.variables}

    def open(self, answer: Answerer = lambda _method, _params: None, **flags: Any) -> Editor:
        """An editor with Joey in this process."""
        agent = InProcess().begin({"base_url": self.server.anthropic_url, **flags})
        return Editor(agent, answer).begin()

    async def start(self, answer: Answerer = lambda _method, _params: None, *args: str) -> Editor:
        """An editor with Joey as it starts it."""
        options = ("--base-url", self.server.anthropic_url, *args)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "acp", *options,
            cwd=self.folder, env=self.environment, stdin=-1, stdout=-1, limit=64 * 1024 * 1024,
        )  # fmt: skip
        return Editor(AsProcess(process), answer).begin()

    async def session(self, editor: Editor, **capabilities: Any) -> str:
        """The id of a new session in the workspace."""
        await editor.initialize(**capabilities)
        result = await editor.request("session/new", cwd=str(self.workspace), mcpServers=[])
        return str(result["sessionId"])


class Desks:
    """Desks for a test: each with a model that has a script."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch = folder, monkeypatch
        self._open = AsyncExitStack()

    async def set_up(self, *script: Scripted) -> Desk:
        desk = Desk(self._folder, await self._open.enter_async_context(LocalServer(list(script))))
        for name, value in desk.variables.items():
            self._monkeypatch.setenv(name, value)
        return desk

    async def close(self) -> None:
        await self._open.aclose()
