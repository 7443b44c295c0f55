"""Signals while a task runs: each that would end the process ends the commands first, and the task can be resumed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from joey.app.running import run_headless
from joey.system.signals import handled_signals
from joey.task.opening import start_task
from joey.testing.script import reply
from process_kit import all_ended_in, running_in, until
from task_kit import Kit, call, done


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda each: each.name
)
async def test_a_signal_ends_a_task_with_its_background_jobs(tmp_path: Path, number: signal.Signals) -> None:
    server = call("server", "execute_command", command="exec sleep 300", timeout=0.01)
    build = call("build", "execute_command", command="touch started; sleep 300; true")
    kit = Kit(tmp_path, [reply(server, build), done()])
    running = asyncio.create_task(run_headless(start_task(kit.config, "go")))
    await until((kit.workspace / "started").exists)
    assert running_in(kit.workspace)
    os.kill(os.getpid(), number)
    assert (await running).outcome == "cancelled"
    assert all_ended_in(kit.workspace)


async def test_a_terminal_that_reports_twice_that_it_was_closed_does_not_end_the_process_at_once(
    tmp_path: Path,
) -> None:
    kit = Kit(tmp_path, [reply(call("a", "execute_command", command="sleep 300; true")), done()])
    running = asyncio.create_task(run_headless(start_task(kit.config, "go")))
    await asyncio.sleep(0)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
    assert (await running).message == "the terminal was closed"


async def test_whoever_handled_signals_before_does_so_again_afterwards() -> None:
    seen: list[str] = []
    with handled_signals(lambda _: seen.append("outer")):
        with handled_signals(lambda _: seen.append("inner")):
            os.kill(os.getpid(), signal.SIGTERM)
            await until(lambda: len(seen) == 1)
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: len(seen) == 2)
    assert seen == ["inner", "outer"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


async def test_a_hangup_that_was_to_be_ignored_stays_ignored() -> None:
    """`nohup joey run …` goes on when the terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        seen: list[signal.Signals] = []
        with handled_signals(seen.append):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
        assert not seen and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
