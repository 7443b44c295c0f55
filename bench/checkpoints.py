"""A checkpoint of a workspace of 10,000 files beside git on the same tree, in turns, the best of several rounds each.

`git add -A` works into a repository beside the workspace, empty for the first time: that is how agents take checkpoints
that keep them in git. What git reads from the workspace and compresses is then the same as what Joey does.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from bench.table import Table
from joey.checkpoints import CheckpointStore

FILES = 10_000
_ROUNDS = 3
_SETTLE = 0.2
"""Seconds after which the times of a file that was just changed can be relied upon."""


def run() -> list[Table]:
    table = Table(
        f"a checkpoint of {FILES:,} files, as a multiple of",
        ["", "git status", "git add -A beside it", "git stash create"],
    )
    if shutil.which("git") is None:
        return [table]
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder))
        table.add("the first", *bench.ratios(bench.first, bench.status, bench.first_add, bench.stash))
        bench.first()
        bench.first_add()
        table.add("nothing changed since", *bench.ratios(bench.later, bench.status, bench.add, bench.stash))
        table.add(
            "one file changed since",
            *bench.ratios(bench.later, bench.status, bench.add, bench.stash, before=bench.change),
        )
    return [table]


class _Bench:
    def __init__(self, folder: Path) -> None:
        self.workspace, self._beside = folder / "work", folder / "beside.git"
        self._numbers: Iterator[int] = count()
        self._folder = folder
        make_tree(self.workspace)
        self._store = self._new_store()
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "all")
        self.change()

    def ratios(
        self, ours: Callable[[], None], *theirs: Callable[[], None], before: Callable[[], object] = int
    ) -> list[str]:
        times = [[float("inf")] for _ in (ours, *theirs)]
        for _ in range(_ROUNDS):
            for work, taken in zip((ours, *theirs), times, strict=True):
                before()
                began = time.perf_counter()
                work()
                taken.append(time.perf_counter() - began)
        best, *others = map(min, times)
        return [f"{best / other:.1f}" for other in others]

    def change(self) -> None:
        (self.workspace / "package_3" / "part_42" / "module_4200.py").write_text(f"x = {next(self._numbers)}\n")
        time.sleep(_SETTLE)

    # Joey

    def _new_store(self) -> CheckpointStore:
        return CheckpointStore(self._folder / f"kept{next(self._numbers)}", self.workspace)

    def first(self) -> None:
        self._store = self._new_store()
        self._store.take("first", whole=True)

    def later(self) -> None:
        self._store.take("later", whole=True)

    # Git

    def _git(self, *words: str, beside: bool = False) -> None:
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        if beside:
            environment |= {"GIT_DIR": str(self._beside), "GIT_WORK_TREE": str(self.workspace)}
        subprocess.run(["git", *words], cwd=self.workspace, env=environment, check=True, capture_output=True)

    def status(self) -> None:
        self._git("status", "--porcelain")

    def stash(self) -> None:
        self._git("-c", "user.name=b", "-c", "user.email=b@example.org", "stash", "create")

    def first_add(self) -> None:
        shutil.rmtree(self._beside, ignore_errors=True)
        self._git("init", "-q", beside=True)
        self.add()

    def add(self) -> None:
        self._git("add", "-A", beside=True)


def make_tree(root: Path) -> None:
    """Folders of 100 source files of a few kilobytes each, always the same."""
    chance = random.Random(5)
    for number in range(FILES):
        folder = root / f"package_{number // 1400}" / f"part_{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"def function_{number}_{n}(x): return x * {chance.random()}" for n in range(chance.randrange(5, 80))]
        (folder / f"module_{number}.py").write_text("\n".join(lines) + "\n")
