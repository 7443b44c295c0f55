"""Two machines as network namespaces, with PostgreSQL on the bridge between them. The link of one is cut while its
tasks run; the other starts then, and the link comes back when all is done. As root, with `ip` of iproute2.

What must be true: the other machine completes every task as if nothing had been; of each task at most the turn under
way at the cut was requested on both sides; and the machine that was cut off stops when it is back, and changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.task import all_tasks

from chaos.fleet import Machine, eval_repository, task_faults
from chaos.kills import Tally
from chaos.postgres import postgres, postgres_programs
from chaos.reference import ReferencePlayer, prompt_for
from joey import protocols
from joey.app.sources import NO_SOURCES
from joey.fleet.fleet import Fleet, open_fleet
from joey.fleet.spec import TaskSpec
from joey.fleet.worker import EXIT_TAKEN_OVER
from joey.testing.server import LocalServer

MACHINES = ("joey-a", "joey-b")
_BRIDGE, _NETWORK, _PORT, _MODEL_PORT = "joeybr", "10.213.7", 5432, 8799
_TASKS = 6


def why_not() -> str:
    """Why this cannot be tried here; empty if it can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and the program ip, of iproute2"
    return "" if postgres_programs() else "needs PostgreSQL"


def cut_link(tally: Tally) -> None:
    """One run; what is not true at the end is added to the tally."""
    with ExitStack() as stack:
        place = tempfile.TemporaryDirectory(prefix="joey-cut-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(place))
        stack.enter_context(_network())
        programs = postgres_programs()
        assert programs is not None
        server = stack.enter_context(postgres(programs))
        server.listen(f"{_NETWORK}.1", _PORT, f"{_NETWORK}.0/24")
        url = f"postgresql://joey@{_NETWORK}.1:{_PORT}/{server.new_database().partition('?')[0].rpartition('/')[2]}"
        for name in MACHINES:
            stack.enter_context(_model(name, folder / f"{name}.json"))
        flags = {"fleet.folder": str(folder / "client"), "fleet.url": url}
        fleet = stack.enter_context(open_fleet(NO_SOURCES.config(flags)))
        cut_off, other = (Machine(folder / name, url, _TASKS, ("ip", "netns", "exec", name)) for name in MACHINES)
        _cut(_Run(folder, fleet, cut_off, other), tally)


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    fleet: Fleet
    cut_off: Machine
    other: Machine


def _cut(run: _Run, tally: Tally) -> None:
    entries = list(all_tasks())[:_TASKS]
    specs = [
        TaskSpec(
            entry.task.name, prompt_for(entry.task, "native"), str(eval_repository(run.folder / "repos", entry)),
            settings={
                "model": "anthropic/claude-sonnet-4-5", "base_url": f"http://127.0.0.1:{_MODEL_PORT}",
                "approvals.profile": "all", "sandbox": "off",
            },
        )
        for entry in entries
    ]  # fmt: skip
    ledger = run.fleet.ledger
    run.fleet.add("native", specs)
    run.cut_off.start(1)
    try:
        _until(lambda: all(task.turns for task in ledger.tasks()))
        victim = ledger.tasks()[0].worker
        _ip("link", "set", _link(0), "down")
        began = time.monotonic()
        run.other.start(1)
        _until(lambda: any(task.worker not in ("", victim) for task in ledger.tasks() if task.state == "running"))
        tally.at[f"seconds until the other machine went on: {time.monotonic() - began:.0f}"] += 1
        _until(lambda: all(task.state == "done" for task in ledger.tasks()))
        before = [(task.turns, task.cost, task.head) for task in ledger.tasks()]
        _ip("link", "set", _link(0), "up")
        tally.faults += _ended_faults(run)
        if before != [(task.turns, task.cost, task.head) for task in ledger.tasks()]:
            tally.faults.append("the machine that was cut off changed something when it was back")
    finally:
        run.cut_off.stop()
        run.other.stop()
    shutil.copytree(run.other.home / "fleet" / "mirrors", run.folder / "client" / "mirrors", dirs_exist_ok=True)
    for task in ledger.tasks():
        tally.tasks += 1
        tally.faults += [f"{task.id}: {each}" for each in task_faults(run.fleet, task, entries, run.folder)]
    _count_requests(run, tally)


def _ended_faults(run: _Run) -> list[str]:
    try:
        code = run.cut_off.workers[0].wait(90)
    except subprocess.TimeoutExpired:
        return ["the machine that was cut off did not stop when it was back"]
    return [] if code == EXIT_TAKEN_OVER else [f"the machine that was cut off exited with {code}"]


def _count_requests(run: _Run, tally: Tally) -> None:
    """At most one turn of a task, the one under way, was requested by both."""
    requests: Counter[tuple[str, int]] = Counter()
    for name in MACHINES:
        for task, _setting, step, count in json.loads((run.folder / f"{name}.json").read_text()):
            requests[task, step] += count
    again = Counter(task for (task, _step), count in requests.items() for _ in range(count - 1))
    tally.at["turns requested"] += len(requests)
    tally.at["turns requested again"] += again.total()
    tally.faults += [f"{task}: {count} turns were requested twice" for task, count in again.items() if count > 1]


@contextmanager
def _network() -> Iterator[None]:
    _remove_network()
    try:
        _ip("link", "add", _BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for place, name in enumerate(MACHINES):
            _ip("netns", "add", name)
            _ip("link", "add", _link(place), "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", _link(place), "master", _BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"{_NETWORK}.{place + 2}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("-n", name, "link", "set", device, "up")
        yield
    finally:
        _remove_network()


def _remove_network() -> None:
    for name in MACHINES:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    subprocess.run(["ip", "link", "del", _BRIDGE], capture_output=True, check=False)


def _link(place: int) -> str:
    return f"joeyv{place}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def _model(namespace: str, counts: Path) -> Iterator[None]:
    """The model of one machine, which it reaches without the link."""
    command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "chaos.cut", str(counts)]
    with subprocess.Popen(command) as server:
        try:
            _until(counts.exists)
            yield
        finally:
            server.terminate()


async def _serve(counts: Path) -> None:
    player = ReferencePlayer({"native": protocols.get("native")}, pause=1.0)
    async with LocalServer(player, port=_MODEL_PORT):
        while True:
            counts.with_suffix(".new").write_text(json.dumps([[*key, n] for key, n in player.requested.items()]))
            counts.with_suffix(".new").replace(counts)
            await asyncio.sleep(0.2)


def _until(true: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
