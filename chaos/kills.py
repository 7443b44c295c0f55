"""kill -9 at random instants, and before every system call: then `joey resume`, until the task is done."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from chaos.kept import false_checkpoints
from chaos.oracle import faults
from chaos.processes import Ended, Place, ended
from chaos.scenario import STEPS, TASK, Model
from chaos.starter import Forked, Starter, started
from joey import protocols
from joey.journal.journal import read_journal
from joey.journal.replay import TaskState, replay
from joey.messages import Message
from joey.testing.server import LocalServer

PROTOCOLS = ("native", "xml", "json_mix", "morph_xml")
SHORT = ("command", "subtask", "write")
_CALLS = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,ftruncate"
_MAX_KILLS = 12
"""How often one task is killed before it may come to its end."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a task runs: its protocol, the wire, whether ids repeat, and whether commands are confined."""

    protocol: str
    wire: str = "anthropic"
    same_ids: bool = False
    sandbox: str = "auto"

    @property
    def words(self) -> str:
        return f"{self.protocol}/{self.wire}{'/same ids' if self.same_ids else ''}/sandbox {self.sandbox}"


SETTINGS = (
    *(Setting(protocol, sandbox=sandbox) for protocol in PROTOCOLS for sandbox in ("auto", "off")),
    Setting("native", "openai"),
    Setting("native", same_ids=True, sandbox="off"),
    Setting("native", "openai", same_ids=True),
)


@dataclass(slots=True)
class Tally:
    """What was tried, and what went wrong."""

    tasks: int = 0
    kills: int = 0
    at: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


Report: TypeAlias = Callable[[Tally], None]
"""Hears how it stands after each task."""


def _unreported(tally: Tally) -> None:
    """Nobody waits for it."""


@dataclass(slots=True)
class Run:
    """One task in front of its model."""

    place: Place
    model: Model
    setting: Setting
    url: str

    async def begin(self) -> asyncio.subprocess.Process:
        return await self.place.start(*self._begin)

    async def begin_traced(self, starter: Starter, *strace: str) -> Forked:
        """Begin under a strace of the calls that change something."""
        traced_by = ("strace", "-qq", "-e", f"trace={_CALLS}", *strace)
        return await starter.start(self._begin, self.place.workspace, self.place.environment, traced_by=traced_by)

    async def resume(self) -> asyncio.subprocess.Process:
        return await self.place.start("resume", *self.options)

    async def begin_or_resume(self) -> asyncio.subprocess.Process:
        """As a person would: a task that left no trace is started again."""
        return await self.place.start(*self._next)

    async def begin_or_resume_with(self, starter: Starter) -> Forked:
        return await starter.start(self._next, self.place.workspace, self.place.environment)

    @property
    def _next(self) -> tuple[str, ...]:
        return ("resume", *self.options) if self.opened else self._begin

    @property
    def _begin(self) -> tuple[str, ...]:
        return ("run", TASK, *self.options, "--protocol", self.setting.protocol)

    @property
    def options(self) -> tuple[str, ...]:
        wire = ("--model", f"{self.setting.wire}/scripted", "--base-url", self.url)
        return (*wire, "--approve", "all", "--sandbox", self.setting.sandbox)

    @property
    def journal(self) -> Path | None:
        """The journal of the task that was started first: its subtasks come later."""
        found = sorted(self.place.tasks.glob("*/journal.jsonl")) if self.place.tasks.exists() else []
        return next((each for each in found if b'"parent_id":"' not in each.read_bytes().replace(b" ", b"")), None)

    @property
    def opened(self) -> bool:
        return bool(self.journal and self.journal.read_bytes().count(b"\n"))

    def messages(self) -> list[Message]:
        return self._state.messages

    @property
    def is_over(self) -> bool:
        return self._state.ended is not None

    @property
    def _state(self) -> TaskState:
        return replay(read_journal(self.journal)) if self.opened and self.journal else TaskState()

    async def finish(self, starter: Starter | None = None) -> list[str]:
        """Resume until the end, and what is not true then."""
        last = await ended(await (self.begin_or_resume_with(starter) if starter else self.begin_or_resume()))
        found = [] if last.code == 0 else [f"ended with {last.code}: {last.err[-600:]}"]
        return found + ["a traceback was shown"] * last.traceback + await self.check()

    async def check(self) -> list[str]:
        await self.place.settled(2)
        self.place.end_all()
        return [*faults(self.model, self.place.workspace), *false_checkpoints(self.place.tasks, self.place.workspace)]


@dataclass(frozen=True, slots=True)
class Knife:
    """Chooses the instants of the kills.

    One in three is anywhere in the first half of a run, which starts for long; a resumed task comes to its later
    steps there. The others come shortly after the model was asked something, when replies, records and commands follow
    each other. Those are started by the starter.
    """

    chance: random.Random
    seconds: float
    """How long an undisturbed run takes."""
    starter: Starter

    async def start(self, run: Run) -> tuple[asyncio.subprocess.Process | Forked, Awaitable[None]]:
        """A process, and what to wait for before it is killed."""
        if self.chance.random() < 1 / 3:
            return await run.begin_or_resume(), asyncio.sleep(self.chance.uniform(0, self.seconds / 2))
        waits = self._after_requests(run, self.chance.randint(1, 2), self.chance.uniform(0, 0.5))
        return await run.begin_or_resume_with(self.starter), waits

    async def _after_requests(self, run: Run, times: int, pause: float) -> None:
        await run.model.requests(times)
        await asyncio.sleep(pause)


@asynccontextmanager
async def a_run(setting: Setting, steps: tuple[str, ...]) -> AsyncIterator[Run]:
    folder = Path(tempfile.mkdtemp(prefix="joey-chaos-"))
    model = Model(protocols.get(setting.protocol), steps, setting.same_ids)
    place = Place(folder)
    async with LocalServer(model) as server:
        url = server.anthropic_url if setting.wire == "anthropic" else server.openai_url
        try:
            yield Run(place, model, setting, url)
        finally:
            place.end_all()
            shutil.rmtree(folder, ignore_errors=True)


async def length(setting: Setting, starter: Starter) -> float:
    """How long the whole task takes here and now, and half as long again for the start. It has to be right when nobody
    disturbs it."""
    async with a_run(setting, STEPS) as run:
        began = time.monotonic()
        process = await run.begin_or_resume_with(starter)
        _out, err = await process.communicate()
        found = [*([err[-600:].decode(errors="replace")] if process.returncode else []), *await run.check()]
        if found:
            raise SystemExit(f"{setting.words}: wrong even undisturbed: {found}")
        return 1.5 * (time.monotonic() - began)


async def at_random(
    kills: int,
    seed: int,
    tally: Tally,
    settings: Sequence[Setting] = SETTINGS,
    report: Report = _unreported,
) -> None:
    """Kill tasks at random instants until there were so many kills."""
    chance = random.Random(seed)
    lengths: dict[Setting, float] = {}
    goal = tally.kills + kills
    async with started() as starter:
        while tally.kills < goal:
            setting = settings[tally.tasks % len(settings)]
            if setting not in lengths:
                lengths[setting] = await length(setting, starter)
            knife = Knife(chance, lengths[setting], starter)
            async with a_run(setting, STEPS) as run:
                found = await _killed(run, knife, min(_MAX_KILLS, goal - tally.kills), tally)
            tally.tasks += 1
            tally.faults += (f"{setting.words} (seed {seed}, task {tally.tasks}): {each}" for each in found)
            report(tally)


async def _killed(run: Run, knife: Knife, times: int, tally: Tally) -> list[str]:
    found: list[str] = []
    for _ in range(times):
        kept = run.messages()
        process, instant = await knife.start(run)
        with suppress(TimeoutError):
            last = await until(process, instant)
            found += ["a traceback was shown"] * last.traceback
            if last.code:
                found.append(f"ended with {last.code}: {last.err[-600:]}")
            break  # it was quicker than the knife
        process.kill()
        await process.wait()
        tally.kills += 1
        tally.at[run.setting.words] += 1
        if run.messages()[: len(kept)] != kept:
            found.append("messages were lost")
    return found + await run.finish() if not found else found + await run.check()


async def until(process: asyncio.subprocess.Process | Forked, instant: Awaitable[None]) -> Ended:
    """The end of a process, or TimeoutError if the instant came first; the process is left as it is then."""
    reading, waiting = asyncio.ensure_future(process.communicate()), asyncio.ensure_future(instant)
    await asyncio.wait([reading, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not reading.done():
        reading.cancel()
        raise TimeoutError
    out, err = reading.result()
    return Ended(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


async def at_every_call(
    setting: Setting, tally: Tally, *, every: int = 1, offset: int = 0, report: Report = _unreported
) -> int:
    """Kill a short task before each system call that changes something; how many there are."""
    async with started() as starter:
        total = await _count_calls(setting, starter)
        for number in range(1 + offset, total + 1, every):
            async with a_run(setting, SHORT) as run:
                last = await ended(await run.begin_traced(starter, *_inject(f"signal=KILL:when={number}")))
                killed = last.code == -signal.SIGKILL  # one run makes a few calls more than another
                tally.kills += killed
                tally.at[f"{setting.words}, at a system call"] += killed
                found = await run.finish(starter)
            tally.tasks += 1
            tally.faults += (f"{setting.words}, killed before call {number} of {total}: {each}" for each in found)
            report(tally)
    return total


async def full_at_every_call(
    setting: Setting, tally: Tally, *, every: int = 1, offset: int = 0, report: Report = _unreported
) -> int:
    """The disk is full at each of these calls and for twenty more; then there is room, and the task is resumed."""
    async with started() as starter:
        total = await _count_calls(setting, starter)
        for number in range(1 + offset, total + 1, every):
            async with a_run(setting, SHORT) as run:
                last = await ended(
                    await run.begin_traced(starter, *_inject(f"error=ENOSPC:when={number}..{number + 20}"))
                )
                found = ["a traceback was shown"] * last.traceback + await run.finish(starter)
            tally.tasks += 1
            tally.at[f"{setting.words}, the disk was full"] += 1
            tally.faults += (f"{setting.words}, full at call {number} of {total}: {each}" for each in found)
            report(tally)
    return total


def _inject(what: str) -> tuple[str, ...]:
    return ("-o", "/dev/null", "-e", f"inject={_CALLS}:{what}")


async def _count_calls(setting: Setting, starter: Starter) -> int:
    async with a_run(setting, SHORT) as run:
        log = run.place.folder / "calls"
        await ended(await run.begin_traced(starter, "-o", str(log)))
        return len(re.findall(r"^\w+\(", log.read_text(), re.MULTILINE))
