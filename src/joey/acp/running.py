"""Serving one client to its end: when the input ends, or a signal comes, every task is stopped and nothing runs on."""

from __future__ import annotations

import asyncio
import signal
from typing import BinaryIO

from joey.acp.agent import Agent
from joey.acp.connection import Connection, ThreadedLines
from joey.acp.lines import InputLines
from joey.system.signals import handled_signals


def run(lines: InputLines, stdout: BinaryIO, first: tuple[bytes, ...], agent: Agent) -> int:
    """`first` are lines that were read already."""
    return asyncio.run(_serve(lines, stdout, first, agent))


async def _serve(lines: InputLines, stdout: BinaryIO, first: tuple[bytes, ...], agent: Agent) -> int:
    connection = agent.connection = Connection(agent, stdout)
    serving = asyncio.ensure_future(connection.run(ThreadedLines(lines, first)))

    def end(_number: signal.Signals) -> None:
        serving.cancel()

    with handled_signals(end):
        await asyncio.wait([serving])
        await agent.close()
    return 0
