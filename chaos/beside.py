"""Four subtasks at the same time, each in its own git worktree, killed at random and resumed: nothing is lost.

The model hands out four pieces in one reply. Each is a command, a file and another command, with labels that are unique
in the run, so whatever happened twice was done by Joey. A piece whose call was never begun is handed out again, as the
model is informed. At the end every piece is in the workspace, or its subtask was informed that it may not be; every
subtask that was ever begun has come to its end; and no worktree, branch or process is left.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.kills import Report, Tally, until
from chaos.processes import Place, ended
from chaos.starter import Starter, started
from joey.journal.journal import read_journal
from joey.journal.replay import replay
from joey.messages import ToolUseBlock
from joey.system.worktrees import Worktrees
from joey.task.wording import INTERRUPTED, NOT_RUN
from joey.testing.script import Faults, ScriptedReply, reply
from joey.testing.server import LocalServer, ReceivedRequest

PIECES = (1, 2, 3, 4)
_TASK = "Hand out all pieces."
_PIECE = re.compile(r"Do piece (\d)\.")
_MAX_KILLS = 8


def _done(piece: int) -> str:
    return f"piece-{piece}-was-done"


def _command(label: str, piece: int) -> str:
    return f"echo start {label} >> log-{piece}.txt; sleep 0.05; echo end {label} >> log-{piece}.txt"


@dataclass(slots=True)
class PiecesModel:
    """The model of the task and of its subtasks, read off each conversation."""

    requests: int = 0
    informed: dict[int, str] = field(default_factory=dict)
    """The last request of each subtask, as text."""

    def __call__(self, request: ReceivedRequest) -> ScriptedReply:
        self.requests += 1
        messages: list[Any] = request.body["messages"]
        first, text = json.dumps(messages[0]), json.dumps(messages)
        turn = sum(message["role"] == "assistant" for message in messages)
        found = _PIECE.search(first)
        return self._piece(int(found[1]), turn, text) if found else self._task(turn, text)

    def _task(self, turn: int, text: str) -> ScriptedReply:
        missing = [piece for piece in PIECES if _done(piece) not in text]
        if not missing:
            return reply(ToolUseBlock(f"end{turn}", "attempt_completion", {"result": "All pieces."}))
        return reply(
            *(
                ToolUseBlock(f"n{piece}-{turn}", "new_task", {"mode": "code", "message": f"Do piece {piece}."})
                for piece in missing
            )
        )

    def _piece(self, piece: int, turn: int, text: str) -> ScriptedReply:
        self.informed[piece] = text
        label = f"p{piece}-{turn}"
        calls = {
            0: ("execute_command", {"command": _command(label, piece)}),
            1: ("write_to_file", {"path": f"piece-{piece}.txt", "file_text": f"piece {piece}\n"}),
            2: ("execute_command", {"command": _command(label, piece)}),
        }
        name, arguments = calls.get(turn, ("attempt_completion", {"result": _done(piece)}))
        return reply(ToolUseBlock(label, name, arguments), faults=Faults(latency=0.02 * piece))


@dataclass(slots=True)
class PiecesRun:
    """One task in front of its model."""

    place: Place
    model: PiecesModel
    url: str

    async def start(self, starter: Starter) -> Any:
        options = ("--model", "anthropic/scripted", "--base-url", self.url, "--approve", "all", "--sandbox", "off")
        args = ("resume", *options) if self._begun else ("run", _TASK, *options)
        return await starter.start(args, self.place.workspace, self.place.environment)

    def _journals(self) -> list[Path]:
        return sorted(self.place.tasks.glob("*/journal.jsonl"))

    @property
    def _begun(self) -> bool:
        """Whether the task itself has left a trace, to be resumed."""
        written = [path.read_bytes().replace(b" ", b"") for path in self._journals()]
        return any(each.count(b"\n") and b'"parent_id":"' not in each for each in written)

    async def faults(self) -> list[str]:
        """What is not true at the end."""
        quiet = await self.place.settled(5)
        found = [] if quiet else [f"still running: {self.place.running()}"]
        for piece in PIECES:
            found += self._piece_faults(piece)
        for path in self._journals():
            state = replay(read_journal(path))
            if state.ended is None or state.ended.outcome != "completed":
                found.append(f"{path.parent.name} did not come to its end: {state.ended}")
        left = Worktrees(self.place.environment).all()
        found += [f"a worktree is left: {each.name}" for each in left]
        return [*found, *self._git_faults()]

    def _piece_faults(self, piece: int) -> Iterator[str]:
        log = self.place.workspace / f"log-{piece}.txt"
        lines = log.read_text().splitlines() if log.exists() else []
        if len(set(lines)) != len(lines):
            yield f"piece {piece} was done twice: {lines}"
        written = (self.place.workspace / f"piece-{piece}.txt").exists()
        missing = 3 - sum(f"end p{piece}-{turn}" in lines for turn in (0, 2)) - written
        text = self.model.informed.get(piece, "")
        informed = sum(text.count(json.dumps(words)[1:-1]) for words in (INTERRUPTED, NOT_RUN))
        if missing > informed:
            yield f"of piece {piece} {missing} steps are not there, {informed} of them reported: {lines}"

    def _git_faults(self) -> Iterator[str]:
        expected = {"branch": "* main", "worktree list": None, "status --porcelain --untracked-files=no": ""}
        for words, wanted in expected.items():
            shown = _git(self.place.workspace, *words.split())
            if shown != wanted and (wanted is not None or "\n" in shown):
                yield f"git {words}: {shown}"


def _git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@asynccontextmanager
async def _a_run() -> AsyncIterator[PiecesRun]:
    folder = Path(tempfile.mkdtemp(prefix="joey-chaos-"))
    place, model = Place(folder), PiecesModel()
    (place.workspace / "a.txt").write_text("a\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "Begin")):
        _git(place.workspace, *words)
    async with LocalServer(model) as server:
        try:
            yield PiecesRun(place, model, server.anthropic_url)
        finally:
            place.end_all()
            shutil.rmtree(folder, ignore_errors=True)


async def killed(kills: int, seed: int, tally: Tally, report: Report = lambda _tally: None) -> None:
    """Kill such tasks at random instants until there were so many kills."""
    chance, goal = random.Random(seed), tally.kills + kills
    async with started() as starter:
        while tally.kills < goal:
            async with _a_run() as run:
                found = await _killed(run, starter, chance, min(_MAX_KILLS, goal - tally.kills), tally)
            tally.tasks += 1
            tally.faults += (f"seed {seed}, task {tally.tasks}: {each}" for each in found)
            report(tally)


async def _killed(run: PiecesRun, starter: Starter, chance: random.Random, times: int, tally: Tally) -> list[str]:
    for _ in range(times):
        process = await run.start(starter)
        with suppress(TimeoutError):
            last = await until(process, _instant(run.model, chance))
            return [*([last.err[-600:]] if last.code or last.traceback else []), *await run.faults()]
        process.kill()
        await process.wait()
        tally.kills += 1
    last = await ended(await run.start(starter))
    return [*([last.err[-600:]] if last.code or last.traceback else []), *await run.faults()]


async def _instant(model: PiecesModel, chance: random.Random) -> None:
    """Shortly after so many requests, when four subtasks are at work; or after a while, when they are being merged."""
    goal = model.requests + chance.randint(1, 16)
    for _ in range(400):
        if model.requests >= goal:
            break
        await asyncio.sleep(0.01)
    await asyncio.sleep(chance.uniform(0, 0.6))
