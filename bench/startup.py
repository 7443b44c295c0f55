"""Start-up, as a ratio to Python doing nothing, measured in turns in the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from bench.table import Table

ROUNDS = 15


def run() -> list[Table]:
    joey = str(Path(sys.executable).parent / "joey")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "joey --version": [joey, "--version"],
        "joey --help": [joey, "--help"],
        "import joey": [sys.executable, "-c", "import joey"],
        "import joey.protocols": [sys.executable, "-c", "import joey.protocols"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            seconds[name].append(cpu_seconds(command))
    nothing = min(seconds["python -c pass"])
    table = Table("Start-up (CPU time, best of 15, times `python -c pass`)", ["", "ratio"])
    for name, times in seconds.items():
        table.add(name, f"{min(times) / nothing:.2f}")
    return [table]


def cpu_seconds(command: list[str]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
