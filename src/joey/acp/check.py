"""`joey acp --check`: Joey started as an editor starts it, talked to as an editor talks to it, and what came of it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from joey.errors import JoeyError

_TIMEOUT = 20.0
"""Seconds in which a process has to end when its editor leaves."""


class _Agent:
    """The other side of the conversation: a process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - Joey itself
            [sys.executable, "-m", "joey", "acp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.updates: list[dict[str, Any]] = []
        self._ids = 0

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The result. An error of the protocol's is one of ours."""
        assert self._process.stdin is not None
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        with contextlib.suppress(OSError):  # it has ended, and there is no answer either
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        for answer in self._messages():
            if answer.get("id") == self._ids:
                if "error" in answer:
                    raise JoeyError(f"{method} was refused: {answer['error']['message']}")
                return dict(answer["result"])
            if answer.get("method") == "session/update":
                self.updates.append(answer["params"]["update"])
        raise JoeyError(f"the agent ended without an answer to {method}")

    def _messages(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                yield json.loads(line)
            except ValueError:
                raise JoeyError(f"something else than a message is on standard output: {line[:80]!r}") from None

    def close(self) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            return self._process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise JoeyError(f"the agent still ran {_TIMEOUT:.0f} s after its input had ended") from None


def check(folder: Path, arguments: Sequence[str]) -> Iterator[str]:
    """What an editor would see in this folder, line by line. JoeyError for what would not work there."""
    agent = _Agent(arguments)
    try:
        yield from _conversation(agent, folder)
    finally:
        code = agent.close()
    yield f"end         {'clean' if code == 0 else f'exit code {code}'}, when the editor leaves"


def _conversation(agent: _Agent, folder: Path) -> Iterator[str]:
    began = time.monotonic()
    hello = agent.request("initialize", protocolVersion=1, clientCapabilities={"auth": {"terminal": True}})
    about = hello["agentInfo"]
    yield f"agent       {about['title']} {about['version']}, protocol version {hello['protocolVersion']}"
    yield f"start       answered after {time.monotonic() - began:.2f} s"
    methods = [f"{each['name']} (joey acp {' '.join(each.get('args', []))})" for each in hello["authMethods"]]
    yield f"sign in     {', '.join(methods) or 'not needed: there is a key or a model'}"
    session = agent.request("session/new", cwd=str(folder), mcpServers=[])
    for option in session["configOptions"]:
        names = [each["name"] for each in option["options"]]
        yield f"{option['name'].lower():<11} {option['currentValue']} (of {len(names)}: {', '.join(names)})"
    tasks = agent.request("session/list", cwd=str(folder))["sessions"]
    commands = [each for update in agent.updates for each in update.get("availableCommands", [])]
    yield f"commands    {', '.join('/' + each['name'] for each in commands)}"
    yield f"history     {len(tasks)}{' or more' if len(tasks) == 50 else ''} tasks of this folder can be opened"
    agent.request("session/delete", sessionId=session["sessionId"])
