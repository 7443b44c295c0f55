"""What the gateway adds to a request, as a ratio to the same request without it, and 200 streams at once.

The scripted model and the gateway run in processes of their own; the official SDKs are the clients. Direct and through
the gateway take turns, and the best of many counts: others use the machine, too. For the same reason there is the
processor time of all processes together, the least of many rounds. Direct is a server that speaks the same API and
makes a native call; behind the gateway the model writes the call as text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import anthropic
import openai

from bench.startup import JOEY, cpu_seconds
from bench.table import Table
from joey.gateway import Gateway, Upstream
from joey.gateway.serving import address_of, bound, serve
from joey.messages import ToolUseBlock
from joey.protocols import get
from joey.providers import Abilities
from joey.providers.plain_chat import PlainChatProvider
from joey.testing import LocalServer, ReceivedRequest, Scripted, reply

ROUNDS = 40
BATCH = 5
"""Requests of a round, direct and then through the gateway."""
STREAMS = 200
STARTS = 8
FLOOR = "an asyncio server with a fixed answer"
BARE_SERVER = """import asyncio
async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print("http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
MESSAGES: list[Any] = [{"role": "user", "content": "Weather in Paris?"}]
CHAT: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
FLAT: list[Any] = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}]
ANTHROPIC: list[Any] = [{"name": "get_weather", "input_schema": SCHEMA}]


class Clients:
    """The SDKs for one address, made once."""

    def __init__(self, url: str) -> None:
        self.openai = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1")
        self.anthropic = anthropic.AsyncAnthropic(api_key="k", base_url=url)

    async def close(self) -> None:
        await self.openai.close()
        await self.anthropic.close()


async def _chat(clients: Clients, *, stream: bool) -> None:
    client = clients.openai
    body: Any = {"model": "m", "messages": MESSAGES, "tools": CHAT}
    if not stream:
        await client.chat.completions.create(**body)
        return
    async for _ in await client.chat.completions.create(**body, stream=True):
        pass


async def _responses(clients: Clients) -> None:
    body: Any = {"model": "m", "input": "Weather in Paris?", "tools": FLAT, "stream": True}
    async for _ in await clients.openai.responses.create(**body):
        pass


async def _messages(clients: Clients) -> None:
    body: Any = {"model": "m", "messages": MESSAGES, "tools": ANTHROPIC, "max_tokens": 99, "stream": True}
    async for _ in await clients.anthropic.messages.create(**body):
        pass


REQUESTS: dict[str, Callable[[Clients], Awaitable[None]]] = {
    "chat": lambda clients: _chat(clients, stream=False),
    "chat, streamed": lambda clients: _chat(clients, stream=True),
    "responses, streamed": _responses,
    "messages, streamed": _messages,
}


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers: where, and which."""

    url: str
    process: int

    def cpu(self) -> float:
        """Seconds of a processor that it has used; 0 where the system does not say."""
        with contextlib.suppress(OSError):
            tasks = Path(f"/proc/{self.process}/task").glob("*/schedstat")
            return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
        return 0.0


@dataclass(slots=True)
class Taken:
    """What requests of one kind took: each in seconds, and rounds in seconds of all processors."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def run() -> list[Table]:
    table = Table(
        "a request through the gateway (ratio to a direct one)",
        ["", "best", "median", "processor time", "direct, ms", f"{STREAMS} at once"],
    )
    with _process("model") as model, _process("gateway", model.url) as gateway:
        for name, ask in REQUESTS.items():
            direct, through, together = asyncio.run(_measure(ask, model, gateway))
            best, usual = min(through.seconds) / min(direct.seconds), median(through.seconds) / median(direct.seconds)
            cpu = f"{min(through.cpu) / min(direct.cpu):.2f}"
            table.add(name, f"{best:.2f}", f"{usual:.2f}", cpu, f"{min(direct.seconds) * 1000:.1f}", f"{together:.2f}")
        started = _starts(model)
    return [table, started]


def _starts(model: Server) -> Table:
    """Start-up, in turns. What asyncio costs alone, no server that is made of it can go below."""
    ours = [JOEY, "gateway", "--upstream", model.url, "--model", "m", "--port", "0"]
    ways: dict[str, Callable[[], float]] = {
        "python -c pass": lambda: cpu_seconds([sys.executable, "-c", "pass"]),
        FLOOR: lambda: _seconds_to_answer([sys.executable, "-c", BARE_SERVER]),
        "joey gateway --upstream, to its first answer": lambda: _seconds_to_answer(ours),
    }
    taken = [{name: way() for name, way in ways.items()} for _ in range(STARTS)]
    best = {name: min(times[name] for times in taken) for name in ways}
    table = Table("Start-up (CPU time, best of several)", ["", "times `python -c pass`", f"times {FLOOR}"])
    for name, seconds in best.items():
        table.add(name, f"{seconds / best['python -c pass']:.1f}", f"{seconds / best[FLOOR]:.1f}")
    return table


def _seconds_to_answer(command: Sequence[str]) -> float:
    """The CPU time until a server that is just started has answered. Python keeps what it compiled, as it usually does:
    the first start is slower."""
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=home, env={**environment, "HOME": home}
        ) as process:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
            urllib.request.urlopen(urllib.request.Request(f"{address}/v1/chat/completions", body)).read()
            used = Server(address, process.pid).cpu()
            process.terminate()
    return used


async def _measure(
    ask: Callable[[Clients], Awaitable[None]], model: Server, gateway: Server
) -> tuple[Taken, Taken, float]:
    both = [Clients(model.url), Clients(gateway.url)]
    taken = [Taken(), Taken()]
    for _ in range(ROUNDS):
        for clients, found in zip(both, taken, strict=True):
            await _round(ask, clients, found, [model, gateway])
    at_once = []
    for clients in both:
        start = perf_counter()
        await asyncio.gather(*(ask(clients) for _ in range(STREAMS)))
        at_once.append(perf_counter() - start)
        await clients.close()
    return taken[0], taken[1], at_once[1] / at_once[0]


async def _round(
    ask: Callable[[Clients], Awaitable[None]], clients: Clients, taken: Taken, servers: Sequence[Server]
) -> None:
    def used() -> float:
        return process_time() + sum(server.cpu() for server in servers)

    before = used()
    for _ in range(BATCH):
        start = perf_counter()
        await ask(clients)
        taken.seconds.append(perf_counter() - start)
    taken.cpu.append(used() - before)


@contextlib.contextmanager
def _process(*args: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "bench.gateway", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()


def _answer(request: ReceivedRequest) -> Scripted:
    """Text where no tools are offered: that is the gateway, which teaches them in the prompt."""
    return reply(ToolUseBlock("call_1", "get_weather", {"city": "Paris"}) if "tools" in request.body else TEXT)


async def _serve_model() -> None:
    async with LocalServer(_answer) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


async def _serve_gateway(model: str) -> None:
    provider = PlainChatProvider(f"{model}/v1", abilities=Abilities(tools=False))
    with bound("127.0.0.1", 0) as listening:
        print(address_of(listening), flush=True)
        await serve(Gateway([Upstream(provider, "m", get("json_mix"), "m", slots=STREAMS)]), listening, print)


if __name__ == "__main__":
    asyncio.run(_serve_model() if sys.argv[1] == "model" else _serve_gateway(sys.argv[2]))
