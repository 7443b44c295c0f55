"""Journals cut at every byte of their last records, and with random bits flipped.

A cut is what a dying machine leaves: the task resumes from the last whole record and comes to its end. What really
happened is not compared here: a record that was synced before a command ran is not lost in this way. Flipped bits are
damage: what is whole is kept, the rest is reported, the other tasks are listed as before, and nobody sees a traceback.
"""

from __future__ import annotations

import random
from pathlib import Path

from chaos.kills import Run, Setting, Tally, a_run
from chaos.processes import Ended, ended
from joey.errors import JoeyError
from joey.journal.journal import read_journal
from joey.journal.replay import replay
from joey.journal.store import TaskStore

_STEPS = ("command", "subtask", "write", "command")
_RECORDS = 12
"""How many of the last records are cut byte by byte."""


async def cuts(setting: Setting, tally: Tally, *, resumed: int, every: int = 1) -> None:
    """Cut everywhere, or at every so many bytes, and read; resume for real after so many of the cuts, spread evenly."""
    async with a_run(setting, _STEPS) as run:
        await ended(await run.begin())
        assert run.journal is not None
        whole = run.journal.read_bytes()
    first = len(b"".join(whole.splitlines(keepends=True)[:-_RECORDS]))
    places = range(first, len(whole), every)
    tally.faults += (
        f"{setting.words}, cut at {place}: {each}" for place in places for each in _read(whole, place, run)
    )
    tally.at[f"{setting.words}, cut and read"] += len(places)
    chosen = [places[(2 * number + 1) * len(places) // (2 * resumed)] for number in range(resumed)]
    for place in chosen:
        await _resumed(setting, place - len(whole), tally)


def _read(whole: bytes, place: int, run: Run) -> list[str]:
    run.place.folder.mkdir(exist_ok=True)
    path = run.place.folder / "cut.jsonl"
    path.write_bytes(whole[: whole.rfind(b"\n", 0, place) + 1])
    kept = replay(read_journal(path)).messages
    path.write_bytes(whole[:place])
    try:
        read = replay(read_journal(path)).messages
    except JoeyError as error:
        return [str(error)]
    finally:
        path.unlink()
    return [] if read == kept else ["whole records were lost"]


async def _resumed(setting: Setting, place: int, tally: Tally) -> None:
    """The same task, stopped as if the machine had died so many bytes before the end of its journal."""
    async with a_run(setting, _STEPS) as run:
        await ended(await run.begin())
        assert run.journal is not None
        whole = run.journal.read_bytes()
        run.journal.write_bytes(whole[:place])
        last = await ended(await run.resume())
        found = ["a traceback was shown"] * last.traceback
        found += [] if last.code == 0 else [f"ended with {last.code}: {last.err[-300:]}"]
        found += (
            f"{label} was never answered" for label, answer in run.model.reported["p"].answers.items() if not answer
        )
        tally.tasks += 1
        tally.at[f"{setting.words}, cut and resumed"] += 1
        tally.faults += (f"{setting.words}, cut {-place} bytes before the end: {each}" for each in found)


async def flips(setting: Setting, tally: Tally, *, times: int, resumed: int, seed: int) -> None:
    chance = random.Random(seed)
    async with a_run(setting, _STEPS) as run:
        await ended(await run.begin())
        await ended(await run.begin())
        path = run.journal
        assert path is not None
        whole = path.read_bytes()
        for number in range(times):
            path.write_bytes(flipped(whole, chance))
            found = _listed(run.place.tasks)
            if number % max(1, times // max(1, resumed)) == 0:
                found += await _commands(run, path)
            tally.at[f"{setting.words}, bits flipped"] += 1
            tally.faults += (f"{setting.words}, flip {number} (seed {seed}): {each}" for each in found)


def flipped(whole: bytes, chance: random.Random) -> bytes:
    """With one to four bits the other way round."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _listed(tasks: Path) -> list[str]:
    try:
        entries = TaskStore(tasks).entries()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
        return [f"listing raised {error!r}"]
    whole = [entry for entry in entries if entry.problem is None]
    return [] if len(whole) >= len(entries) - 1 else ["tasks that are whole are not listed"]


async def _commands(run: Run, path: Path) -> list[str]:
    name = path.parent.name
    ran: list[Ended] = [await run.place.joey("tasks"), await run.place.joey("tasks", "show", name)]
    ran += [await run.place.joey("resume", name, "Go on.", *run.options)]
    found = ["a traceback was shown" for each in ran if each.traceback]
    return found + (["`joey tasks` failed"] if ran[0].code else [])
