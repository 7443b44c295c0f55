"""What a turn costs at turn 10, 300 and 1,000, over all three APIs: the loop, the journal, the request and the reply.

The server runs in a process of its own, so that only Joey's side counts. It takes a request without looking into it and
sends the whole answer at once: one that parsed 2 MB would keep Joey waiting longer and push its data out of the
processor's cache, and that would be counted as Joey's. The ratio to turn 10 is the result: 1 is a cost that does not
grow with the conversation. A fixed piece of work is timed beside each turn, and turns are counted in it: the machine
may be faster or slower, or busier, by the time the thousandth comes.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time

from bench.loop import LONG, config, step
from bench.table import Table
from joey.events import Event, TurnStarted
from joey.providers import open_model
from joey.task.opening import start_task
from joey.testing.script import ScriptedReply
from joey.testing.wire_formats import FORMATS

AT = (10, 300, LONG)
AROUND = 25
"""Turns before and after each that are measured with it. The median counts: others use the machine, too."""
APIS = {"Messages": "anthropic/m", "Chat Completions": "openai/gpt-4.1", "Responses": "openai/gpt-6.1-sol"}


def run() -> list[Table]:
    table = Table(
        "CPU of a turn as the conversation grows (ratio to turn 10)",
        ["", *(f"turn {turn:,}" for turn in AT), "times the floor at 10"],
    )
    for name, model in APIS.items():
        costs = _costs(model)
        table.add(name, *(f"{cost / costs[0]:.2f}" for cost in costs), f"{costs[0]:.1f}")
    return [table]


def _costs(model: str) -> list[float]:
    with subprocess.Popen([sys.executable, "-m", "bench.turns"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            costs = asyncio.run(_costs_of_turns(model, server.stdout.readline().strip()))
        finally:
            server.terminate()
    return [median(costs[max(1, turn - AROUND) : turn + AROUND]) for turn in AT]


async def _costs_of_turns(model: str, url: str) -> list[float]:
    """The CPU time of each turn, in times of the floor beside it."""
    costs: list[float] = []
    began = 0.0

    def watch(_task: str, event: Event) -> None:
        nonlocal began
        if isinstance(event, TurnStarted):
            ended = process_time()
            floor = _floor()
            if began:
                costs.append((ended - began) / floor)
            began = process_time()

    base_url = url if model.startswith("anthropic") else f"{url}/v1"
    provider, name = open_model(model, base_url=base_url, api_key="k")
    with tempfile.TemporaryDirectory() as folder:
        await start_task(config(Path(folder), provider, name, watch), "Count.").run()
    await provider.close()
    return costs


def _floor() -> float:
    """The CPU time of work that is always the same: messages made, written as JSON and read again."""
    began = process_time()
    for number in range(40):
        message = {"role": "user", "content": [{"type": "text", "text": "word " * 20, "number": number}] * 10}
        json.loads(json.dumps(message))
    return process_time() - began


# The server


def _serve() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        connection, _ = listening.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        turn, buffer = 0, memoryview(bytearray(2**18))
        while path := _path_of_request(connection, buffer):
            turn += 1
            connection.sendall(_answer(path, turn))


def _path_of_request(connection: socket.socket, buffer: memoryview) -> str:
    """Where a request goes to, when all of it has come; nothing if there is none any more."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(2**16)
        if not piece:
            return ""
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    left = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= connection.recv_into(buffer, min(left, len(buffer)))
    return head.split(b" ")[1].decode()


def _answer(path: str, turn: int) -> bytes:
    answer = step(turn, LONG + AROUND)
    assert isinstance(answer, ScriptedReply)
    events = FORMATS[path].events(answer.chunks, "m")
    texts = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in events)
    chunks = "".join(f"{len(text):x}\r\n{text}\r\n" for text in texts)
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return f"{head}{chunks}0\r\n\r\n".encode("ascii")


if __name__ == "__main__":
    _serve()
