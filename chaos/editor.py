"""A real `joey acp`, driven by a small editor: killed at random instants, opened again, and continued.

The same steps as for `kills`, and the same log of what really happened. The editor is asked for permission, and gives
it after a moment; a kill may come while it is asked, right behind its answer, while a command runs, or within a
subtask. Then another process loads the session (or resumes it, which shows nothing again), is sent a late answer to
what the dead one had asked, and is told to continue. What must be true besides what `kills` looks for:

* nothing ran for which the process that ran it had no permission: what a dead one had asked is not answered;
* a session that is loaded holds what was shown before, each call once, and what had ended ended as it was shown;
* a call that is shown as completed is one that happened;
* at the end every step is there, and the process ends with its editor, without a traceback.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.acp_client import AgentEndedError, AgentError, Call, EditorClient, View, calls_in, lost
from chaos.kept import false_checkpoints
from chaos.kills import Report, Setting, Tally
from chaos.oracle import Happened, faults
from chaos.processes import Place
from chaos.scenario import FINISHED, LOG, STEPS, TASK, Model
from chaos.starter import Starter, started
from joey import protocols
from joey.testing.server import LocalServer

INSTANTS = ("time", "request", "requested", "answered", "command", "subtask", "subtask", "loading")
SETTINGS = (
    *(Setting(protocol, sandbox=sandbox) for protocol in ("native", "xml") for sandbox in ("auto", "off")),
    Setting("json_mix", sandbox="off"),
    Setting("native", "openai", sandbox="off"),
    Setting("morph_xml", sandbox="off"),
    Setting("native", same_ids=True, sandbox="off"),
)
_MAX_KILLS = 12
_MAX_SECONDS = 120.0
_CONTINUE = "Continue with the next step."


@dataclass(slots=True)
class Desk:
    """One session of an editor, over as many processes as it takes."""

    place: Place
    model: Model
    setting: Setting
    url: str
    chance: random.Random
    starter: Starter
    asks: bool
    """Whether permission is asked for, or everything is allowed."""
    session: str = ""
    view: View = field(default_factory=View)
    found: list[str] = field(default_factory=list)
    allowed: Counter[str] = field(default_factory=Counter)
    """How often permission was given, by step."""
    late: list[int | str] = field(default_factory=list)
    """What the last process had asked when it died."""
    holds: bool = False
    """Whether permission is not given any more."""
    _requested: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def words(self) -> str:
        return f"{self.setting.words}, {'asks' if self.asks else 'allows all'}"

    # One life

    async def live(self, instant: str) -> bool:
        """Start a process, continue the session, and kill it at an instant; False if it was done before that."""
        self.holds = False
        killing = asyncio.ensure_future(self._instant(instant))
        client = await self._start()
        working = asyncio.ensure_future(self._work(client))
        try:
            await asyncio.wait([working, killing], return_when=asyncio.FIRST_COMPLETED, timeout=_MAX_SECONDS)
            if working.done():
                return await self._done(client, working)
            if not killing.done():
                self.found.append(f"nothing happened for {_MAX_SECONDS:g} s")
            await client.kill()
            self.late = client.open_requests
            self._look_at(client)
            return True
        finally:
            killing.cancel()
            with suppress(AgentEndedError, AgentError, asyncio.CancelledError):
                await working

    async def finish(self) -> None:
        """Go on to the end, undisturbed; then look at the session once more."""
        if not await self._quiet_life():
            self.found.append("did not come to its end")
        await self.place.settled(2)
        client = await self._start()
        try:
            await self._open(client, load=True)
            self._look_at_the_end(self.view)
            if code := await client.close():
                self.found.append(f"ended with {code}")
            self._look_at(client)
        except (AgentEndedError, AgentError) as error:
            self.found.append(f"could not be loaded at the end: {error!r}")
            await client.kill()
        if not await self.place.settled(5):
            self.found.append(f"{len(self.place.running())} processes run on")

    async def _quiet_life(self) -> bool:
        for _ in range(2):  # the last kill may have left it with nothing to answer
            self.holds = False
            client = await self._start()
            working = asyncio.ensure_future(self._work(client))
            await asyncio.wait([working], timeout=_MAX_SECONDS)
            if working.done() and not await self._done(client, working):
                return True
            await client.kill()
        return False

    async def _done(self, client: EditorClient, working: asyncio.Future[str]) -> bool:
        """What a process did that was not killed; False: the task is done."""
        try:
            reason = await working
        except AgentError as error:
            await client.kill()
            self.found.append(f"a request failed: {error}: {client.errors[-600:]}")
            return True
        except AgentEndedError:
            await client.kill()
            self.found.append(f"ended by itself with {client.process.returncode}: {client.errors[-600:]}")
            return True
        if reason != "end_turn":
            self.found.append(f"the turn ended with {reason}")
        if code := await client.close():
            self.found.append(f"ended with {code} when its editor left: {client.errors[-600:]}")
        self._look_at(client)
        return False

    async def _start(self) -> EditorClient:
        wire = ("--model", f"{self.setting.wire}/scripted", "--base-url", self.url)
        args = ("acp", *wire, "--approve", "ask" if self.asks else "all", "--sandbox", self.setting.sandbox)
        environment = {**self.place.environment, "JOEY_PROTOCOL": self.setting.protocol}
        process: Any
        if self.chance.random() < 0.2:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "joey", *args, cwd=self.place.workspace, env=environment,
                start_new_session=True, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=1 << 22,
            )  # fmt: skip
        else:
            process = await self.starter.start(args, self.place.workspace, environment, talks=True)
        return EditorClient(process, self._permit, self.view)

    async def _work(self, client: EditorClient) -> str:
        """Open the session, and work until the turn ends."""
        await self._open(client, load=not self.view.certain or self.chance.random() < 0.7)
        text = _CONTINUE if any(isinstance(each, str) for each in self.view.items) else TASK
        self.view.items.append(f"> {text}")
        prompt = [{"type": "text", "text": text}]
        answer = await client.request("session/prompt", sessionId=self.session, prompt=prompt)
        return str(answer["stopReason"])

    async def _open(self, client: EditorClient, *, load: bool) -> None:
        await client.request("initialize", protocolVersion=1, clientCapabilities={})
        where = {"cwd": str(self.place.workspace), "mcpServers": []}
        if not self.session:
            self.session = (await client.request("session/new", **where))["sessionId"]
        elif load:
            before, client.view = self.view, View()
            await client.request("session/load", sessionId=self.session, **where)
            self.view = client.view
            self.found += [f"loaded: {each}" for each in lost(before, self.view)]
        else:
            # What the last process had not come to may never have been kept, and is shown again if it was not.
            self.view.items = self.view.certain
            await client.request("session/resume", sessionId=self.session, **where)
        for number in self.late:
            client.answer_late(number)
        self.late = []

    async def _permit(self, label: str) -> str | None:
        """The user looks at it for a moment, and agrees."""
        is_held = self.holds
        self._requested.set()
        if is_held:
            return None
        await asyncio.sleep(self.chance.choice((0, 0, 0.05)))
        self.allowed[label] += 1
        self._answered.set()
        return "allow_once"

    # When it is killed

    def instant(self, instants: Sequence[str]) -> str:
        """One of these. A subtask that is over is not waited for, nor a request for permission where there is none."""
        kind = self.chance.choice(instants)
        is_over = kind == "subtask" and "p4" in self.model.kinds
        return "request" if is_over or (kind in ("requested", "answered") and not self.asks) else kind

    async def _instant(self, kind: str) -> None:
        times, pause = self.chance.randint(1, 3), self.chance.uniform(0, 0.06)
        if kind == "time":
            pause = self.chance.uniform(0, 6.0)
        elif kind == "loading":
            pause = self.chance.uniform(0, 1.0)
        elif kind == "command":
            await self._commands(times)
        elif kind == "subtask":
            await self._inside(times)
        elif kind == "request":
            await self.model.requests(times)
            pause = self.chance.uniform(0, 0.5)
        else:
            await self._permissions(times, kind)
        await asyncio.sleep(pause)

    async def _permissions(self, times: int, kind: str) -> None:
        """The last of so many: when it was answered, or while it is not."""
        event = self._requested if kind == "requested" else self._answered
        for left in reversed(range(times)):
            event.clear()
            self.holds = kind == "requested" and not left
            await event.wait()

    async def _commands(self, times: int) -> None:
        """So many commands have begun since now."""
        goal = self._log().count("start") + times
        while self._log().count("start") < goal:  # noqa: ASYNC110 - it is a file
            await asyncio.sleep(0.005)

    async def _inside(self, times: int) -> None:
        """So many requests came from a subtask."""
        while times:
            await self.model.requests(1)
            times -= self.model.latest.endswith("c")

    def _log(self) -> str:
        log = self.place.workspace / LOG
        return log.read_text() if log.exists() else ""

    # What is true

    def _look_at(self, client: EditorClient) -> None:
        self.found += client.view.problems
        client.view.problems.clear()
        if "Traceback" in client.errors:
            self.found.append(f"a traceback was shown: {client.errors[-600:]}")

    def check(self) -> list[str]:
        """What is not true at the end."""
        self.place.end_all()
        workspace = self.place.workspace
        found = [*self.found, *faults(self.model, workspace), *false_checkpoints(self.place.tasks, workspace)]
        happened = Happened.in_folder(workspace)
        unasked = [each for each in self.model.kinds if happened.traces_of(each) and not self.allowed[each]]
        return [*found, *(f"{each} happened, and nobody had allowed it" for each in unasked if self.asks)]

    def _look_at_the_end(self, view: View) -> None:
        happened, calls = Happened.in_folder(self.place.workspace), calls_in(view.items)
        answered = {label for each in self.model.reported.values() for label in each.answers}
        self.found += [f"{label} is not in the session" for label in sorted(answered - calls.keys())]
        self.found += [
            f"{label} is shown as completed, and is not"
            for label, call in calls.items()
            if _is_completed(call) and not self._is_true(label, happened)
        ]
        if not any(isinstance(each, str) and FINISHED in each for each in view.items):
            self.found.append("its result is not in the session")

    def _is_true(self, label: str, happened: Happened) -> bool:
        kind = self.model.kinds.get(label)
        if kind == "subtask":
            return f"{label}c" in self.model.reported
        if kind == "write":
            return label in happened.files
        return bool(happened.log[f"start {label}" if kind == "background" else f"end {label}"])


def _is_completed(call: Call) -> bool:
    return call.end is not None and call.end[0] == "completed"


@asynccontextmanager
async def _a_desk(setting: Setting, starter: Starter, chance: random.Random, *, asks: bool) -> AsyncIterator[Desk]:
    folder = Path(tempfile.mkdtemp(prefix="joey-chaos-"))
    place, model = Place(folder), Model(protocols.get(setting.protocol), STEPS, setting.same_ids)
    async with LocalServer(model) as server:
        url = server.anthropic_url if setting.wire == "anthropic" else server.openai_url
        try:
            yield Desk(place, model, setting, url, chance, starter, asks)
        finally:
            place.end_all()
            shutil.rmtree(folder, ignore_errors=True)


async def at_random(
    kills: int,
    seed: int,
    tally: Tally,
    settings: Sequence[Setting] = SETTINGS,
    instants: Sequence[str] = INSTANTS,
    report: Report = lambda _tally: None,
) -> None:
    """Kill agents of editors at random instants until there were so many kills."""
    goal = tally.kills + kills
    async with started() as starter:
        while tally.kills < goal:
            chance = random.Random(f"{seed} {tally.tasks}")
            setting = settings[tally.tasks % len(settings)]
            async with _a_desk(setting, starter, chance, asks=tally.tasks % 4 != 3) as desk:
                await _killed(desk, min(_MAX_KILLS, goal - tally.kills), instants, tally)
                found = desk.check()
            tally.tasks += 1
            tally.faults += (f"{desk.words} (seed {seed}, task {tally.tasks}): {each}" for each in found)
            report(tally)


async def _killed(desk: Desk, times: int, instants: Sequence[str], tally: Tally) -> None:
    for _ in range(times):
        instant = desk.instant(instants)
        if not await desk.live(instant):
            break  # it was quicker
        tally.kills += 1
        tally.at[f"killed: {instant}"] += 1
    await desk.finish()
