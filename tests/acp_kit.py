"""An editor for tests: it starts `joey acp`, answers what it is asked, and checks every message against the schema."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import jsonschema

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


@dataclass
class Editor:
    """A client. `seen` is everything that Joey sent, in order."""

    process: asyncio.subprocess.Process
    answer: Answerer
    seen: list[dict[str, Any]] = field(default_factory=list)
    _ids: int = 0
    _methods: dict[Any, str] = field(default_factory=dict)
    _waiting: dict[Any, asyncio.Future[Any]] = field(default_factory=dict)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    def begin(self) -> Self:
        self._reading = asyncio.ensure_future(self._read())
        return self

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            check_message(message, self._methods)
            self.seen.append(message)
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
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin_request(self, method: str, **params: Any) -> asyncio.Future[Any]:
        self._ids += 1
        self._methods[self._ids] = method
        self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._waiting[self._ids]

    async def request(self, method: str, **params: Any) -> Any:
        """The result; an error as {"error": …}."""
        message = await asyncio.wait_for(self.begin_request(method, **params), 60)
        return message["result"] if "result" in message else {"error": message["error"]}

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

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), 30)
        assert self._reading is not None
        await self._reading
        return code


def choose(option: str) -> Answerer:
    """A user who answers every permission request alike."""

    def answer(method: str, _params: Mapping[str, Any]) -> Any:
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        return chosen if method == "session/request_permission" else None

    return answer


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
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), "ANTHROPIC_API_KEY": "k", "JOEY_MODEL": "anthropic/scripted"}

    async def open(self, answer: Answerer = lambda _method, _params: None, *args: str) -> Editor:
        options = ("--base-url", self.server.anthropic_url, *args)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "acp", *options,
            cwd=self.folder, env=self.environment, stdin=-1, stdout=-1, limit=64 * 1024 * 1024,
        )  # fmt: skip
        return Editor(process, answer).begin()
