"""Every other way in which a run is ended or disturbed: signals, a closed terminal, a stop, two at one task."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import sys
import termios
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from chaos.kills import Run, Setting, Tally, a_run
from chaos.processes import Ended, ended
from chaos.scenario import LOG, TASK

_WAITING = ("command", "wait", "command")
"""A scenario whose second step takes long enough to be met while it runs."""
_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT)


async def all_of_it(tally: Tally, settings: Sequence[Setting]) -> None:
    for setting in settings:
        for number in _SIGNALS:
            await _try(setting, tally, f"{number.name} ends everything", partial(_signalled, number=number))
        await closed_terminal(setting, tally)
        await _try(setting, tally, "a stop of seconds changes nothing", _stopped)
        await _try(setting, tally, "two processes at one task", _two_at_once)


async def closed_terminal(setting: Setting, tally: Tally) -> None:
    await _try(setting, tally, "a closed terminal ends everything", _terminal_closed)


async def _try(setting: Setting, tally: Tally, what: str, happens: Callable[[Run], Awaitable[list[str]]]) -> None:
    async with a_run(setting, _WAITING) as run:
        found = await happens(run)
        tally.tasks += 1
        tally.at[what] += 1
        tally.faults += (f"{setting.words}, {what}: {each}" for each in found)


async def _signalled(run: Run, number: signal.Signals) -> list[str]:
    process = await run.begin()
    await _waits(run)
    process.send_signal(number)
    return await _ended_cleanly(run, await ended(process, 20))


async def _ended_cleanly(run: Run, last: Ended) -> list[str]:
    found = ["a traceback was shown"] * last.traceback
    if last.code == -1:
        found.append("did not end")
    if not await run.place.settled(5):
        found.append(f"{len(run.place.running())} processes run on")
    return found + await run.finish()


async def _waits(run: Run) -> None:
    """The long command runs."""
    log = run.place.workspace / LOG
    for _ in range(600):
        if log.exists() and "start p2" in log.read_text():
            return
        await asyncio.sleep(0.05)
    raise SystemExit(f"{run.setting.words}: the long command did not start within 30 s")


async def _terminal_closed(run: Run) -> list[str]:
    """The line-by-line terminal, whose window is closed while a command runs."""
    terminal, other = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "interactive", "--plain", *run.options, "--protocol", run.setting.protocol,
        cwd=run.place.workspace, env={**run.place.environment, "TERM": "xterm"}, start_new_session=True,
        stdin=other, stdout=other, stderr=other, preexec_fn=_own_terminal,
    )  # fmt: skip
    os.close(other)
    threading.Thread(target=_drain, args=[terminal], daemon=True).start()
    os.write(terminal, f"{TASK}\n".encode())
    await _waits(run)
    os.close(terminal)
    try:
        await asyncio.wait_for(process.wait(), 20)
    except TimeoutError:
        process.kill()
        return ["did not end"]
    return await _ended_cleanly(run, Ended(process.returncode or 0, "", ""))


def _drain(terminal: int) -> None:
    """Read what is shown, so that nobody waits for room to write, until the terminal is closed."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def _own_terminal() -> None:
    """Make the terminal on standard input the one of this session, so that closing it is felt."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def _stopped(run: Run) -> list[str]:
    process = await run.begin()
    reading = asyncio.ensure_future(ended(process))
    for pause in (1.2, 0.5, 0.5):
        await asyncio.sleep(pause)
        if process.returncode is None:
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(2)
            process.send_signal(signal.SIGCONT)
    last = await reading
    found = [] if last.code == 0 else [f"ended with {last.code}: {last.err[-600:]}"]
    return found + await run.check()


async def _two_at_once(run: Run) -> list[str]:
    """One begins; while its long command runs, four others want the same task."""
    process = await run.begin()
    first = asyncio.ensure_future(ended(process))
    await _waits(run)
    others = await asyncio.gather(*[run.resume() for _ in range(4)])
    refused = await asyncio.gather(*[_while_it_runs(each, run) for each in others])
    found = [
        f"another process was let in: {each.out[-200:]}" for each in refused if each is not None and each.code == 0
    ]
    found += ["a traceback was shown" for each in refused if each is not None and each.traceback]
    last = await first
    found += [] if last.code == 0 else [f"ended with {last.code}: {last.err[-600:]}"]
    return found + await run.check()


async def _while_it_runs(other: asyncio.subprocess.Process, run: Run) -> Ended | None:
    """How another process ended; None if the task had come to its end by then. Whoever came later may have it."""
    last = await ended(other)
    return None if run.is_over else last
