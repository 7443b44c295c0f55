"""search_files beside raw `rg` on the same tree of 50,000 files, in turns, the best of several rounds each.

The promise is at most 1.5 times raw ripgrep: what is added is a process started from Python and its findings read.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Table
from joey.tools.base import ToolContext
from joey.tools.builtin.list_files import ListFiles, ListFilesParams
from joey.tools.builtin.search_files import SearchFiles, SearchFilesParams
from joey.tools.searching.ripgrep import ripgrep

FILES = 50_000
_ROUNDS = 5
_PATTERNS = {
    "nothing to find": r"needle_that_is_nowhere",
    "in 1 file of 500": r"needle_rare\(\w+",
    "in every file": r"def function_\d+",
}
_WORDS = ["value", "result", "index", "buffer", "reader", "writer", "token", "state", "event", "chunk"]


def run() -> list[Table]:
    table = Table(f"search_files on {FILES:,} files, as a multiple of raw rg", ["pattern", "rg", "Joey"])
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder))
        for name, pattern in _PATTERNS.items():
            raw, ours = best_of(lambda: search_raw(pattern, folder), lambda: search_here(pattern, folder))  # noqa: B023
            table.add(name, "1.00", f"{ours / raw:.2f}")
        raw, ours = best_of(lambda: list_raw(folder), lambda: list_here(folder))
        table.add("list_files beside rg --files", "1.00", f"{ours / raw:.2f}")
    return [table]


def make_tree(root: Path) -> None:
    """Folders of 100 small source files each, always the same."""
    chance = random.Random(5)
    for number in range(FILES):
        folder = root / f"package_{number // 1000}" / f"part_{number // 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        lines = [f"{chance.choice(_WORDS)} = {chance.choice(_WORDS)}({chance.random()})" for _ in range(20)]
        lines.insert(3, f"def function_{number}(): ...")
        if number % 500 == 7:
            lines.insert(9, "needle_rare(argument)")
        (folder / f"module_{number}.py").write_text("\n".join(lines) + "\n")


def best_of(*runners: Callable[[], None]) -> list[float]:
    """The best time of each, taken in turns, so that a noisy machine is noisy for all."""
    times: list[list[float]] = [[] for _ in runners]
    for _ in range(_ROUNDS):
        for runner, taken in zip(runners, times, strict=True):
            start = time.perf_counter()
            runner()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def search_raw(pattern: str, folder: str) -> None:
    command = [ripgrep(), "--no-config", "--line-number", "--context", "1", "-e", pattern, "."]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)


def search_here(pattern: str, folder: str) -> None:
    context = ToolContext(Path(folder), Path(folder))
    asyncio.run(SearchFiles().run(SearchFilesParams(path=".", regex=pattern), context))


def list_raw(folder: str) -> None:
    subprocess.run([ripgrep(), "--files"], cwd=folder, stdout=subprocess.DEVNULL, check=False)


def list_here(folder: str) -> None:
    asyncio.run(ListFiles().run(ListFilesParams(path=".", recursive=True), ToolContext(Path(folder), Path(folder))))
