"""What a turn costs at turn 10, 300 and 1,000, over all three APIs: the loop, the journal, the request and the reply.

The server runs in a process of its own, so that only Joey's side counts. The ratio to turn 10 is the result: 1 is a
cost that does not grow with the conversation.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from bench.loop import LONG, config, step
from bench.table import Table
from joey.events import Event, TurnStarted
from joey.providers import open_model
from joey.task.task import TaskHandle
from joey.testing.server import LocalServer

AT = (10, 300, LONG)
AROUND = 25
"""Turns before and after each that are measured with it. The cheapest counts: others use the machine, too."""
APIS = {"Messages": "anthropic/m", "Chat Completions": "openai/gpt-4.1", "Responses": "openai/gpt-6.1-sol"}


def run() -> list[Table]:
    table = Table(
        "CPU of a turn as the conversation grows (ratio to turn 10)",
        ["", *(f"turn {turn:,}" for turn in AT), "ms at 10"],
    )
    for name, model in APIS.items():
        costs = _costs(model)
        table.add(name, *(f"{cost / costs[0]:.2f}" for cost in costs), f"{costs[0] * 1000:.1f}")
    return [table]


def _costs(model: str) -> list[float]:
    with subprocess.Popen([sys.executable, "-m", "bench.turns"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            times = asyncio.run(_times(model, server.stdout.readline().strip()))
        finally:
            server.terminate()
    costs = [after - before for before, after in itertools.pairwise(times)]
    return [min(costs[max(1, turn - AROUND) : turn + AROUND]) for turn in AT]


async def _times(model: str, url: str) -> list[float]:
    """The CPU time at the beginning of each turn."""
    times: list[float] = []

    def watch(_task: str, event: Event) -> None:
        if isinstance(event, TurnStarted):
            times.append(process_time())

    base_url = url if model.startswith("anthropic") else f"{url}/v1"
    provider, name = open_model(model, base_url=base_url, api_key="k")
    with tempfile.TemporaryDirectory() as folder:
        await TaskHandle.start(config(Path(folder), provider, name, watch), "Count.").run()
    await provider.close()
    return times


async def _serve() -> None:
    turns = itertools.count(1)
    async with LocalServer(lambda _request: step(next(turns), LONG + AROUND)) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
