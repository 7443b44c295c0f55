"""Workers as children of one command: `joey fleet run`.

The children are ordinary workers. They end with their parent, however that ends: each has a pipe from it as standard
input, and stops when the pipe ends. A child that dies is replaced, unless that happens again and again.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from joey.errors import JoeyError
from joey.fleet.ledger import BatchLine, FleetTask
from joey.system.folders import make_private, private_file

_MAX_DEATHS = 50
_SHORT_LIFE = 5.0
_STOP_SECONDS = 20.0


class WorkersFailedError(JoeyError):
    """Workers end as soon as they start."""


@dataclass(slots=True)
class WorkerProcess:
    """One worker process."""

    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


class Children:
    """The workers of one command."""

    def __init__(self, command: Sequence[str], count: int, log: Path) -> None:
        self._command = (*command,)
        self._log = log
        self._early = 0
        make_private(log.parent)
        self._children = [self._start() for _ in range(count)]

    def _start(self) -> WorkerProcess:
        with open(self._log, "ab", opener=private_file) as log:
            return WorkerProcess(_popen(self._command, log))

    def replace_dead(self) -> None:
        """Start a worker for each that ended. Raises WorkersFailedError."""
        for place, child in enumerate(self._children):
            if child.process.poll() is None:
                continue
            self._early += time.monotonic() - child.started < _SHORT_LIFE
            if self._early >= min(_MAX_DEATHS, 3 * len(self._children)):
                raise WorkersFailedError(f"workers end as soon as they start: {self._last_words()}")
            self._children[place] = self._start()

    def _last_words(self) -> str:
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"see {self._log}"

    def stop(self) -> None:
        """Let all of them put their tasks back, and end."""
        for child in self._children:
            if child.process.stdin is not None:
                child.process.stdin.close()
        deadline = time.monotonic() + _STOP_SECONDS
        for child in self._children:
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()


def _popen(command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - Joey itself
        [sys.executable, "-m", "joey", *command],
        stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip


def watch_until_done(
    tasks: Callable[[], Sequence[FleetTask]],
    batch: Callable[[], BatchLine],
    children: Children,
    show: Callable[[Sequence[FleetTask], BatchLine], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Sequence[FleetTask]:
    """Show what changes until every task of a batch is done."""
    while True:
        now = tasks()
        show(now, batch())
        if all(task.state == "done" for task in now):
            return now
        children.replace_dead()
        sleep(0.5)


def counts_in_words(counts: Mapping[str, int]) -> str:
    """`3 completed, 1 running, 2 waiting for an answer, 6 queued`."""
    order = ("completed", "error", "refused", "limit", "cancelled", "running", "asks", "queued")
    names = sorted(counts, key=lambda name: order.index(name) if name in order else len(order))
    words = {"asks": "waiting for an answer"}
    return ", ".join(f"{counts[name]} {words.get(name, name)}" for name in names) or "no tasks"
