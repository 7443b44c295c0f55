"""A worker as a command: it stops in order when a signal comes, or when its standard input ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

from joey.fleet.fleet import Fleet
from joey.fleet.worker import EXIT_TAKEN_OVER, Worker, WorkerOptions
from joey.system.signals import handled_signals


async def serve(fleet: Fleet, slots: int, per_minute: float | None, *, attached: bool = False) -> int:
    """Work until somebody wants this to end; returns an exit code."""
    worker = Worker(fleet.database, fleet.queue, WorkerOptions(slots, per_minute, _report))
    loop, pressed = asyncio.get_running_loop(), 0

    def stop(_number: signal.Signals) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            os._exit(130)  # its lock is released with it: others take over
        worker.stop()

    if attached:
        threading.Thread(target=_wait_for_end, args=(loop, worker), daemon=True).start()
    with handled_signals(stop):
        code = await worker.run()
    if code == EXIT_TAKEN_OVER:
        os._exit(code)
    return code


def _wait_for_end(loop: asyncio.AbstractEventLoop, worker: Worker) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(worker.stop)


def _report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
