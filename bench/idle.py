"""What the terminal costs while nobody types: CPU time beside an empty Textual application with one input."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.startup import INPUT, JOEY, MODEL
from bench.table import Table

SECONDS = 20
SETTLES = 5
BARE = """
from textual.app import App
from textual.widgets import Input
class Bare(App):
    def compose(self):
        yield Input(placeholder="What would you like to do?")
Bare().run()
"""


def run() -> list[Table]:
    table = Table(f"Idle for {SECONDS} seconds (CPU time)", ["", "% of a core", "ratio"])
    bare = idle([sys.executable, "-c", BARE])
    joey = idle([JOEY, "--model", MODEL])
    table.add("an empty Textual application", f"{100 * bare / SECONDS:.2f}", "1.00")
    table.add("joey", f"{100 * joey / SECONDS:.2f}", f"{joey / bare:.2f}")
    return [table]


def idle(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as home:
        process, screen = pty.fork()
        if process == 0:
            os.chdir(home)
            environment = {**os.environ, "HOME": home, "TERM": "xterm-256color", "ANTHROPIC_API_KEY": "none"}
            os.execve(command[0], command, environment)
        try:
            _shown(screen)
            _read_for(screen, SETTLES)
            before = _used(process)
            _read_for(screen, SECONDS)
            return _used(process) - before
        finally:
            os.kill(process, signal.SIGKILL)
            os.close(screen)
            os.waitpid(process, 0)


def _shown(screen: int) -> None:
    seen = b""
    while INPUT.encode() not in seen:
        seen += os.read(screen, 65536)


def _read_for(screen: int, seconds: float) -> None:
    """A screen that nobody reads would hold the program up."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([screen], [], [], left)[0]:
            os.read(screen, 65536)


def _used(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
