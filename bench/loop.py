"""The task loop beside a bare loop over the same SDK and server, its growth over a thousand turns, and 500 at once."""

from __future__ import annotations

import asyncio
import functools
import resource
import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

from bench.table import Table
from joey import protocols
from joey.chunks import Chunk
from joey.events import Event, TurnStarted
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES
from joey.policy.settings import Settings
from joey.providers import open_model
from joey.providers.base import ModelRequest, Provider
from joey.providers.catalogue import abilities_of
from joey.providers.encoding import chat as openai_wire
from joey.providers.encoding import messages as messages_wire
from joey.task.config import Hooks, Model, TaskConfig, TaskWorkspace
from joey.task.history import HistoryEncoder
from joey.task.log import Watcher
from joey.task.opening import start_task
from joey.task.profiles import FULL
from joey.task.settings import TaskLimits
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer, ReceivedRequest
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

TURNS = 60
LONG = 1000
AT_ONCE = 500
MODEL = "claude-haiku-4-5"


def run() -> list[Table]:
    return [*overhead(), *growth(), *requests(), *many_at_once()]


def step(turn: int, last: int) -> Scripted:
    """What the model does in a turn: a small list of todos, and in the last turn the completion."""
    if turn >= last:
        return reply(ToolUseBlock(f"c{turn}", "attempt_completion", {"result": "done"}))
    return reply(f"Turn {turn}.", ToolUseBlock(f"c{turn}", "update_todo_list", {"todos": f"[ ] step {turn}"}))


def config(folder: Path, provider: Provider, model: str = MODEL, watch: Watcher = lambda *_: None) -> TaskConfig:
    tools = builtin_tools()
    return TaskConfig(
        Model(provider, model, protocols.get("native")),
        TaskWorkspace(folder, TaskStore(folder / "tasks")),
        tools=functools.cache(lambda mode: build_toolset(mode, tools)),
        modes={mode.slug: mode for mode in BUILTIN_MODES},
        profile=FULL,
        approvals=Settings.for_profile("all"),
        limits=TaskLimits(repetition_limit=0),
        hooks=Hooks(watch, headless=True),
    )


# Beside a bare loop


def overhead() -> list[Table]:
    ratios = sorted(asyncio.run(_compare()) for _ in range(3))
    table = Table(f"A task of {TURNS} turns beside a bare SDK loop making the same requests (CPU time)", ["", "ratio"])
    table.add("bare loop", "1.00")
    table.add("Joey: loop, tools, journal", f"{ratios[1]:.2f}")
    return [table]


async def _compare() -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with LocalServer(lambda request: step(_turn_of(request), TURNS)) as server:
            provider, model = open_model(f"anthropic/{MODEL}", base_url=server.anthropic_url, api_key="k")
            start = process_time()
            await start_task(config(Path(folder), provider, model), "Count.").run()
            ours = process_time() - start
            bodies = [request.body for request in server.requests]
            start = process_time()
            await _bare_loop(server.anthropic_url, bodies)
            bare = process_time() - start
            await provider.close()
    return ours / bare


def _turn_of(request: ReceivedRequest) -> int:
    roles = [message["role"] for message in request.body["messages"]]
    return roles.count("assistant") + 1


async def _bare_loop(url: str, bodies: list[Any]) -> None:
    import anthropic

    client = anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0)
    for body in bodies:
        # What the SDK has no parameter for any more goes as the provider sends it, too.
        extra = {key: value for key, value in body.items() if key == "temperature"}
        known = {key: value for key, value in body.items() if key not in extra}
        stream = await client.messages.create(**known, extra_body=extra)
        async for _event in stream:
            pass
    await client.close()


# Over a thousand turns


class CountingModel(Provider):
    """Answers without a network, so that only the loop and the journal are measured."""

    name: ClassVar[str] = "counting"

    def __init__(self, last: int) -> None:
        super().__init__()
        self._last = last
        self._turn = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        self._turn += 1
        answer = step(self._turn, self._last)
        for chunk in getattr(answer, "chunks", ()):
            yield chunk


def growth() -> list[Table]:
    with tempfile.TemporaryDirectory() as folder:
        times: list[float] = []

        def watch(_task: str, event: Event) -> None:
            if isinstance(event, TurnStarted):
                times.append(process_time())

        asyncio.run(start_task(config(Path(folder), CountingModel(LONG), watch=watch), "Count.").run())
    first, last = times[100] - times[0], times[-1] - times[-101]
    table = Table(f"{LONG:,} turns: what the loop and the journal cost", ["", "ratio"])
    table.add("first hundred", "1.00")
    table.add("last hundred", f"{last / first:.2f}")
    return [table]


# Requests of a conversation that grows


def requests() -> list[Table]:
    title = f"The body of a request after {LONG:,} turns (CPU time, microseconds)"
    table = Table(title, ["", "first hundred", "last hundred", "ratio"])
    encoders: dict[str, Callable[[], Any]] = {
        "Anthropic": lambda: messages_wire.MessagesEncoder(abilities_of(MODEL)),
        "OpenAI": lambda: openai_wire.ChatEncoder(abilities_of("gpt-4.1")),
    }
    for protocol in ("native", "xml"):
        for wire, encoder in encoders.items():
            first, last = _encode(protocol, encoder())
            table.add(f"{protocol}, {wire}", f"{first:.0f}", f"{last:.0f}", f"{last / first:.1f}")
    return [table]


def _encode(protocol: str, encoder: Any) -> tuple[float, float]:
    """What a request costs in the first and in the last hundred turns."""
    history, specs = HistoryEncoder(protocols.get(protocol)), tuple(tool.spec for tool in builtin_tools())
    messages, times = [Message("user", (TextBlock("Count."),))], list[float]()
    for turn in range(LONG):
        call = ToolUseBlock(f"c{turn}", "update_todo_list", {"todos": f"[ ] step {turn}"})
        messages.append(Message("assistant", (TextBlock(f"Turn {turn}."), call)))
        messages.append(Message("user", (ToolResultBlock(call.id, (TextBlock("Kept. " * 200),)),)))
        start = process_time()
        tools = specs if protocol == "native" else ()
        encoder.body(ModelRequest(MODEL, history.encode(messages, specs), tools=tools))
        times.append(process_time() - start)
    return sum(times[:100]) * 1e4, sum(times[-100:]) * 1e4


# Many at once


def many_at_once() -> list[Table]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finished = asyncio.run(_many())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = Table(f"{AT_ONCE} tasks of ten turns at once in one process", ["", ""])
    table.add("completed", str(finished))
    table.add("memory for each, KB", f"{(after - before) / AT_ONCE:.0f}")
    return [table]


async def _many() -> int:
    with tempfile.TemporaryDirectory() as folder:
        tasks = [start_task(config(Path(folder), CountingModel(10)), f"Count {n}.") for n in range(AT_ONCE)]
        finished = await asyncio.gather(*(task.run() for task in tasks))
    return sum(each.outcome == "completed" for each in finished)
