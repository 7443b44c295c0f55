"""Joey as people run it, for tests: processes of their own, in a scratch folder with a scratch home."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.messages import ToolUseBlock
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


def done(result: str = "All done.") -> Scripted:
    return reply(call("done", "attempt_completion", result=result))


def turns(calls: Iterable[ToolUseBlock]) -> list[Scripted]:
    """Each call in a turn of its own, after one that goes well: nobody gives up on a model that tries."""
    good = ((call(f"todo-{each.id}", "update_todo_list", todos=f"[ ] {each.id}"), each) for each in calls)
    return [*(reply(fine, each) for fine, each in good), done()]


@dataclass(frozen=True)
class Ran:
    """How it ended, what it printed, and what the model was sent."""

    code: int
    out: str
    err: str
    requests: tuple[Any, ...] = ()

    def sent(self, number: int) -> str:
        """One request, as the text it is made of."""
        return json.dumps(self.requests[number], ensure_ascii=False)

    def result(self, call_id: str) -> str:
        """What the model was sent as the result of this call, in words."""
        blocks = (block for message in self.requests[-1]["messages"] for block in message["content"])
        found = next(block["content"] for block in blocks if block.get("tool_use_id") == call_id)
        return found if isinstance(found, str) else "\n".join(part.get("text", "") for part in found)


class JoeyProcess:
    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", folder / "project"
        self.home.mkdir()
        self.workspace.mkdir()
        self.path = os.environ["PATH"]
        self.variables = {"ANTHROPIC_API_KEY": "k"}

    def write(self, name: str, text: str) -> Path:
        """A file in the workspace, or with `~/` in the home folder."""
        path = self.home / name[2:] if name.startswith("~/") else self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        # PYTHONPATH leads to the Joey that is tested, wherever the interpreter's own is.
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
        environment = {**kept, "PATH": self.path, "HOME": str(self.home), **self.variables}
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", *args,
            cwd=self.workspace, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1,
        )  # fmt: skip

    async def __call__(self, *args: str) -> Ran:
        process = await self.start(*args)
        out, err = await process.communicate()
        assert process.returncode is not None
        return Ran(process.returncode, out.decode(), err.decode())

    async def run(self, script: Iterable[Scripted], prompt: str, *args: str) -> Ran:
        """`joey run` with a model that says what the script says."""
        async with LocalServer(list(script)) as model:
            options = ("--model", "anthropic/scripted", "--base-url", model.anthropic_url)
            ran = await self("run", prompt, *options, *args)
            return Ran(ran.code, ran.out, ran.err, tuple(request.body for request in model.requests))
