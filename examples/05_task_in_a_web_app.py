"""Put a task into a web application: events are streamed to the browser, approvals come back as requests.

POST /tasks with a prompt answers with the events of a new task, as server-sent events; POST /answers answers one of its
requests. A browser that goes away closes its task. This file serves both on 127.0.0.1, and then plays the browser.

There is no login here: whoever can reach the port can run what is approved. Needs starlette, uvicorn and httpx2.
"""

import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Callable

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import joey
from joey import events, wire
from joey.messages import ToolUseBlock
from joey.testing import ScriptedProvider, reply

SCRIPT = [
    reply("I'll write it.", ToolUseBlock("c1", "write_to_file", {"path": "hello.txt", "file_text": "hello\n"})),
    reply(ToolUseBlock("c2", "attempt_completion", {"result": "hello.txt says hello."})),
]


class TaskServer:
    """Runs tasks, and keeps the requests that wait for an answer."""

    def __init__(self, new_task: Callable[[str], joey.Task]) -> None:
        self.new_task = new_task
        self.waiting: dict[str, tuple[joey.Task, events.Request]] = {}
        self.app = Starlette(
            routes=[Route("/tasks", self.start, methods=["POST"]), Route("/answers", self.answer, methods=["POST"])]
        )

    async def start(self, request: Request) -> Response:
        prompt = (await request.json())["prompt"]
        return StreamingResponse(self.stream(prompt), media_type="text/event-stream")

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        async with self.new_task(prompt) as task:
            async for task_id, event in task.events():
                data = {"task": task_id, **wire.encode(event)}
                if isinstance(event, events.Request):
                    key = data["answer"] = f"{task_id}/{event.request_id}"
                    self.waiting[key] = (task, event)
                yield f"data: {json.dumps(data)}\n\n"

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        if body["answer"] not in self.waiting:
            return JSONResponse({"error": "there is no such request"}, status_code=404)
        task, waiting = self.waiting.pop(body["answer"])
        try:
            await task.answer(waiting, yes=body.get("yes") is True, text=body.get("text", ""))
        except joey.UsageError as error:  # its task has ended, or a text is missing
            return JSONResponse({"error": str(error)}, status_code=409)
        return JSONResponse({})


async def browse(url: str) -> None:
    """What a page would do, in a few lines."""
    async with (
        httpx2.AsyncClient(base_url=url, trust_env=False) as client,
        client.stream("POST", "/tasks", json={"prompt": "Write a file that says hello."}) as response,
    ):
        async for line in response.aiter_lines():
            event = json.loads(line.removeprefix("data: ")) if line else {}
            if "answer" in event:
                print(f"{event['type']}: {event.get('reason') or event.get('result')}")
                await client.post("/answers", json={"answer": event["answer"], "yes": True})
            elif event.get("type") == "task_finished":
                print(f"{event['outcome']}: {event['message']}")


async def main(folder: str, tasks: str) -> None:
    def new_task(prompt: str) -> joey.Task:
        return joey.Task(prompt, model=ScriptedProvider(SCRIPT), workspace=folder, store=tasks, unanswered="wait")

    server = uvicorn.Server(uvicorn.Config(TaskServer(new_task).app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await browse(f"http://127.0.0.1:{listening.getsockname()[1]}")
        server.should_exit = True
        await serving


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tasks:
        asyncio.run(main(folder, tasks))
