"""A real `joey gateway` between clients of its three wires and a model's server; all of them fail, and are killed.

In each round several clients make requests at once, streamed or not. The server cuts its replies, hangs, sends rubbish
or refuses; it is killed, or stopped for a while. Clients go away. In some rounds the gateway itself is killed, or told
to end, and started again. What must be true, by what the clients heard and by the server's own log:

* an answer ends with its reason, a stop or an error in the wire's own shape, unless the gateway was killed;
* an answer that came to its end is the reply of the model, word by word; where nothing was wrong, there is one;
* arguments that are whole are those of a call that the model wrote, whole;
* no word of another request is in it, and none in what the gateway prints;
* soon after a client left, the server's part of its request is over, too;
* the gateway ends when it is told to, without a traceback; after a start, and after each round, a request works;
* what it holds (memory, descriptors, children, temporary files) does not grow from round to round.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.day import Held, grown, growth
from chaos.kills import Report, Tally
from chaos.processes import Place
from chaos.upstream import BROKEN, FAULTS, KINDS, LABEL, REFUSED, Plan, Served, requests_in
from chaos.wires import LENGTH, PATHS, Connection, Heard, read

CLIENTS = 5
_REQUESTS = 5
"""How many each client makes in a round."""
_MAX_SECONDS = 40.0
"""How long a client waits for an answer, at most; a server that hangs is left before."""
_SOON = 3.0
_STOPS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
_WITHOUT_FAULT = ("none", "short", "rubbish-after")
"""The plans whose reply comes to its end."""


@dataclass(frozen=True, slots=True)
class Front:
    """What the gateway speaks with the server behind it."""

    api: str
    protocol: str

    @property
    def words(self) -> str:
        return f"{self.protocol} over {self.api}"

    @property
    def faults(self) -> tuple[str, ...]:
        """What may go wrong at the server. The HTTP client of the SDKs takes what a server sends behind the end of a
        reply for the beginning of the next one on that connection; Joey's own client does not."""
        return tuple(each for each in FAULTS if each != "rubbish-after" or self.api == "chat")


FRONTS = (
    Front("chat", "native"),
    Front("chat", "json_mix"),
    Front("messages", "native"),
    Front("chat", "xml"),
    Front("responses", "native"),
    Front("chat", "morph_xml"),
)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How one gateway is tried: rounds in which it lives, and rounds in which it is ended."""

    living: int = 12
    ending: int = 6


@dataclass(frozen=True, slots=True)
class Exchanged:
    """One request of a client's, and what came of it."""

    plan: Plan
    wire: str
    stream: bool
    began: float
    ended: float
    heard: Heard
    left: bool = False

    @property
    def words(self) -> str:
        return f"{self.wire}{'/streamed' if self.stream else ''} {self.plan}{' (client left)' if self.left else ''}"


@dataclass(frozen=True, slots=True)
class Strike:
    """Something that was done to the gateway (kill, term, int) or to the server (upstream), until it was up again."""

    kind: str
    began: float
    ended: float

    def hits(self, exchanged: Exchanged) -> bool:
        return self.began <= exchanged.ended and exchanged.began <= self.ended


def false_answer(exchanged: Exchanged, struck: frozenset[str], *, was_served: bool) -> Iterator[str]:
    """What is wrong with what a client heard. `struck` is what happened meanwhile; `was_served`: the server had it."""
    plan, heard = exchanged.plan, exchanged.heard
    if foreign := set(LABEL.findall(heard.raw.decode(errors="replace"))) - {plan.label}:
        yield f"has words of {', '.join(sorted(foreign))}"
    expected = [(call.name, call.arguments) for call in plan.calls]
    yield from (f"has a call that was not made whole: {call}" for call in heard.calls if call not in expected)
    yield from heard.problems
    if exchanged.left:
        return
    is_ending = bool(struck & _STOPS.keys())
    if heard.stop and not heard.error:
        if plan.fault == "short" and heard.stop != LENGTH[exchanged.wire]:
            yield f"was cut off by the model, and ended with {heard.stop!r}"
        if plan.fault != "short" and (heard.text.strip(), heard.calls) != (plan.text, expected):
            yield f"is not the reply of the model: {heard.text!r} {heard.calls}"
        if plan.fault in REFUSED:
            yield "is an answer to a request that was refused"
    elif heard.error:
        if plan.fault in _WITHOUT_FAULT and not struck:
            yield f"failed, and nothing was wrong: {heard.error}"
    elif "kill" not in struck and (heard.status or was_served or not is_ending):
        yield f"ended without its reason: status {heard.status}, {heard.raw[-200:]!r}"
    if heard.status and not heard.complete and "kill" not in struck:
        yield "did not come to the end of its HTTP"


@dataclass(slots=True)
class Stand:
    """A gateway, a server behind it, and the clients in front."""

    front: Front
    place: Place
    seed: str
    tally: Tally
    found: list[str] = field(default_factory=list)
    _ports: tuple[int, int] = field(default_factory=lambda: (_free_port(), _free_port()))
    _gateway: asyncio.subprocess.Process | None = None
    _server: asyncio.subprocess.Process | None = None
    _exchanged: list[Exchanged] = field(default_factory=list)
    _strikes: list[Strike] = field(default_factory=list)
    _count: int = 0

    async def try_it(self, rounds: Rounds, number: int) -> None:
        """All rounds of one gateway. `number` tells its requests from those of others."""
        await self._start_server()
        await self._start_gateway()
        series = [await self._round(number, each, ("none", "upstream", "stop")) for each in range(rounds.living)]
        if len(series) >= 8:
            self.found += grown(series)
            for name, (early, late) in growth(series).items():
                self.tally.at[f"rounds, {self.front.words}: {name} {early:.0f}, {late:.0f} in the end"] = len(series)
        for each in range(rounds.ending):
            await self._round(number, rounds.living + each, tuple(_STOPS))
        await self._end_gateway("term")

    async def _round(self, number: int, each: int, kinds: Sequence[str]) -> Held:
        """One round, and what the gateway holds behind it."""
        self._exchanged, self._strikes = [], []
        chance = random.Random(f"{self.seed} {number} {each}")
        self._count = 0
        clients = [self._client(f"q{number}x{each}", random.Random(chance.random())) for _ in range(CLIENTS)]
        await asyncio.gather(self._strike(chance.choice(kinds), chance), *clients)
        for wire in PATHS:
            plan = Plan(f"q{number}x{each}x{self._next()}z", self.front.protocol, "calls", pause=0)
            connection = Connection(self._ports[0])
            await self._ask(connection, plan, wire, stream=chance.random() < 0.5)
            connection.close()
        await self._look_behind()
        await asyncio.sleep(0.5)  # the server closes what is not used
        return self._held()

    # Clients

    def _next(self) -> int:
        self._count += 1
        return self._count

    async def _client(self, prefix: str, chance: random.Random) -> None:
        connection = Connection(self._ports[0])
        for _ in range(_REQUESTS):
            fault = chance.choice(self.front.faults if chance.random() < 0.6 else ("none",))
            plan = Plan(
                f"{prefix}x{self._next()}z",
                self.front.protocol,
                chance.choice(KINDS),
                fault,
                at=chance.randrange(1000),
                pause=chance.choice((0, 2, 2, 10, 50)),
            )
            leaves = chance.uniform(0, 2.0) if fault in ("hang", "mute") or chance.random() < 0.2 else None
            wire, stream = chance.choice([*PATHS]), chance.random() < 0.7
            await _listens(self._ports[0])
            await self._ask(connection, plan, wire, stream=stream, leaves=leaves)
            if chance.random() < 0.5:
                connection.close()
        connection.close()

    async def _ask(
        self, connection: Connection, plan: Plan, wire: str, *, stream: bool, leaves: float | None = None
    ) -> None:
        heard, began, left = Heard(), time.monotonic(), False
        words = f"Say and save what belongs to {plan.label}. {plan}"
        try:
            async with asyncio.timeout(_MAX_SECONDS if leaves is None else leaves):
                await connection.ask(heard, wire, words, stream=stream)
        except TimeoutError:
            left = leaves is not None
            heard.problems += [] if left else [f"no end within {_MAX_SECONDS:g} s"]
        self._exchanged.append(Exchanged(plan, wire, stream, began, time.monotonic(), read(wire, heard), left))

    # What is done to them

    async def _strike(self, kind: str, chance: random.Random) -> None:
        if kind == "none":
            return
        await asyncio.sleep(chance.uniform(0, 1.0))
        began = time.monotonic()
        if kind == "upstream":
            await self._kill_server()
            await asyncio.sleep(chance.uniform(0, 0.5))
            await self._start_server()
        elif kind == "stop":
            assert self._server is not None
            self._server.send_signal(signal.SIGSTOP)
            await asyncio.sleep(chance.uniform(0, 1.5))
            self._server.send_signal(signal.SIGCONT)
        else:
            await self._end_gateway(kind)
            await self._start_gateway()
        self._strikes.append(Strike(kind, began, time.monotonic()))
        self.tally.kills += kind != "stop"
        self.tally.at[f"strikes: {kind}"] += 1

    async def _start_server(self) -> None:
        log = self.place.folder / "upstream.log"
        self._server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "chaos.upstream", str(self._ports[1]), str(log), cwd=Path(__file__).parents[1]
        )
        await _listens(self._ports[1])

    async def _kill_server(self) -> None:
        assert self._server is not None
        self._server.kill()
        await self._server.wait()

    async def _start_gateway(self) -> None:
        front, (port, upstream) = self.front, self._ports
        temporary = self.place.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        with self._printed.open("wb") as printed:
            self._gateway = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "joey", "gateway", "--upstream", f"http://127.0.0.1:{upstream}", "--model", "m",
                "--api", front.api, "--protocol", front.protocol, "--port", str(port),
                cwd=self.place.workspace, env={**self.place.environment, "TMPDIR": str(temporary)},
                start_new_session=True, stdin=asyncio.subprocess.DEVNULL, stdout=printed, stderr=printed,
            )  # fmt: skip
        await _listens(port)

    async def _end_gateway(self, kind: str) -> None:
        gateway = self._gateway
        assert gateway is not None
        if gateway.returncode is not None:
            self.found.append(f"the gateway had ended by itself with {gateway.returncode}")
            return
        gateway.send_signal(_STOPS[kind])
        try:
            code = await asyncio.wait_for(gateway.wait(), 10)
        except TimeoutError:
            gateway.kill()
            self.found.append(f"did not end within 10 s after SIG{kind.upper()}")
            return
        if kind != "kill" and code != 0:
            self.found.append(f"ended with {code} after SIG{kind.upper()}")
        self._look_at_printed()

    @property
    def _printed(self) -> Path:
        return self.place.folder / "printed"

    def _look_at_printed(self) -> None:
        printed = self._printed.read_text(errors="replace")
        if "Traceback" in printed:
            self.found.append(f"a traceback was shown: {printed[-600:]}")
        if LABEL.search(printed):
            self.found.append(f"words of a request were printed: {printed[-600:]}")

    # What is true

    async def _look_behind(self) -> None:
        """Wait until the server has nothing to do any more, and look at all that happened in this round."""
        assert self._server is not None
        served: list[Served] = []
        for _ in range(int(_SOON * 20)):
            served = requests_in((self.place.folder / "upstream.log").read_text())
            if not any(each.ended is None and each.server == self._server.pid for each in served):
                break
            await asyncio.sleep(0.05)
        by_label: dict[str, list[Served]] = {}
        for each in served:
            by_label.setdefault(each.label, []).append(each)
        for exchanged in self._exchanged:
            mine = by_label.get(exchanged.plan.label, [])
            struck = frozenset(strike.kind for strike in self._strikes if strike.hits(exchanged))
            wrong = [*false_answer(exchanged, struck, was_served=bool(mine)), *self._late(exchanged, mine, struck)]
            during = f", during {', '.join(struck)}" if struck else ""
            self.found += [f"{exchanged.words}{during}: {each}" for each in wrong]
            self._count_outcome(exchanged)

    def _late(self, exchanged: Exchanged, served: Sequence[Served], struck: frozenset[str]) -> Iterator[str]:
        """Requests at the server that outlived their client."""
        assert self._server is not None
        for each in served:
            begun = max(exchanged.ended, each.began)
            if each.ended is None and each.server == self._server.pid:
                yield f"its request at the server is still open {time.monotonic() - begun:.1f} s after its end"
            elif each.ended is not None and each.ended - begun > _SOON:
                yield f"its request at the server ended {each.ended - begun:.1f} s after it"
        if not struck and not exchanged.left and not served:
            yield "never came to the server"

    def _count_outcome(self, exchanged: Exchanged) -> None:
        heard = exchanged.heard
        ended = "errors" if heard.error else "answers" if heard.stop else "cut by a kill"
        what = "client left" if exchanged.left else ended
        self.tally.tasks += 1
        self.tally.at[f"requests: {what}"] += 1
        self.tally.at[f"faults of the server: {_family(exchanged.plan.fault)}"] += 1
        self.tally.at[f"requests: {self.front.words}"] += 1

    def _held(self) -> Held:
        assert self._gateway is not None
        process = Path("/proc") / str(self._gateway.pid)
        status = (process / "status").read_text()
        resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        children = sum(len(each.read_text().split()) for each in process.glob("task/*/children"))
        temporary = list((self.place.folder / "tmp").iterdir())
        return Held(resident, len(list((process / "fd").iterdir())), children, len(temporary))

    async def close(self) -> None:
        for process in (self._gateway, self._server):
            if process is not None and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _family(fault: str) -> str:
    return "broken replies" if fault in BROKEN else "refusals" if fault in REFUSED else fault


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def _listens(port: int) -> None:
    """Wait until somebody does."""
    for _ in range(1500):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.02)
    raise SystemExit(f"nobody listens at port {port} within 30 s")


@asynccontextmanager
async def _a_stand(front: Front, seed: str, tally: Tally) -> AsyncIterator[Stand]:
    folder = Path(tempfile.mkdtemp(prefix="joey-chaos-"))
    stand = Stand(front, Place(folder), seed, tally)
    try:
        yield stand
    finally:
        await stand.close()
        shutil.rmtree(folder, ignore_errors=True)


async def under_fire(
    kills: int,
    seed: int,
    tally: Tally,
    fronts: Sequence[Front] = FRONTS,
    rounds: Rounds | None = None,
    report: Report = lambda _tally: None,
) -> None:
    """Try one gateway after the other until there were so many kills of gateways and servers."""
    goal, number = tally.kills + kills, 0
    while tally.kills < goal:
        front = fronts[(seed + number) % len(fronts)]
        async with _a_stand(front, str(seed), tally) as stand:
            await stand.try_it(rounds or Rounds(), number)
        tally.faults += (f"{front.words} (seed {seed}, gateway {number + 1}): {each}" for each in stand.found)
        number += 1
        report(tally)
