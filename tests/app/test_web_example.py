"""The example of a task in a web application, with a real server and a real client on loopback."""

from __future__ import annotations

import asyncio
import json
import runpy
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import joey
from joey.messages import ToolUseBlock
from joey.testing import Scripted, ScriptedProvider, reply
from process_kit import all_ended_in, running_in

uvicorn = pytest.importorskip("uvicorn", reason="the example needs uvicorn, which joey[mcp] installs")
EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "05_task_in_a_web_app.py"))

WRITE = reply(ToolUseBlock("1", "write_to_file", {"path": "a.txt", "file_text": "hello\n"}))
SLEEP = reply(ToolUseBlock("2", "execute_command", {"command": "echo started; sleep 1000"}))
DONE = reply(ToolUseBlock("3", "attempt_completion", {"result": "All done."}))


@asynccontextmanager
async def browser(new_task: Callable[[str], joey.Task]) -> AsyncIterator[httpx2.AsyncClient]:
    server = uvicorn.Server(uvicorn.Config(EXAMPLE["TaskServer"](new_task).app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
            yield client
        server.should_exit = True
        await serving


@asynccontextmanager
async def events(client: httpx2.AsyncClient) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    async with client.stream("POST", "/tasks", json={"prompt": "Do it."}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield (json.loads(line.removeprefix("data: ")) async for line in response.aiter_lines() if line)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Callable[[str], joey.Task]]:
    (tmp_path / "project").mkdir()

    def of(*script: Scripted, **options: Any) -> Callable[[str], joey.Task]:
        return lambda prompt: joey.Task(
            prompt, model=ScriptedProvider(script), workspace=tmp_path / "project", store=tmp_path / "tasks",
            config=False, unanswered="wait", **options,
        )  # fmt: skip

    return of


@pytest.mark.parametrize("yes", [True, False])
async def test_the_browser_answers_while_events_are_streamed(made: Any, tmp_path: Path, *, yes: bool) -> None:
    async with browser(made(WRITE, DONE)) as client, events(client) as seen:
        async for event in seen:
            if "answer" in event:
                accepted = event["type"] == "completion_requested"
                sent = await client.post("/answers", json={"answer": event["answer"], "yes": yes or accepted})
                assert sent.status_code == 200
                again = await client.post("/answers", json={"answer": event["answer"], "yes": True})
                assert again.status_code == 404
        assert (event["type"], event["outcome"]) == ("task_finished", "completed")
    assert (tmp_path / "project/a.txt").exists() is yes


async def test_a_browser_that_goes_away_closes_its_task(made: Any, tmp_path: Path) -> None:
    before = children()
    async with browser(made(SLEEP, approve="all")) as client:
        async with events(client) as seen:
            async for event in seen:
                if event["type"] == "tool_run_progressed":
                    break
            assert running_in(tmp_path / "project")
        assert await asyncio.to_thread(all_ended_in, tmp_path / "project")
    assert children() <= before, "its sandbox has ended, too"


def children() -> set[str]:
    """The processes of this one."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}
