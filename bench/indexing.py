"""Keeping an index of 10,000 files fresh, beside what others do with the same files.

`git status` and `rg` look at or read every file, too. Reading and cutting a file is done once; what counts every day is
the look at a workspace where little has changed.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from bench.table import Table
from joey.tools.index.search import CodebaseIndex, SearchRequest
from joey.tools.searching.ripgrep import ripgrep

FILES = 10_000
_WORDS = ["value", "result", "index", "buffer", "reader", "writer", "token", "state", "event", "chunk", "user", "order"]


def run() -> list[Table]:
    table = Table(
        f"codebase_search by keywords on {FILES:,} files, as a multiple of git status (CPU time)",
        ["what", "git status = 1"],
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        make_tree(root)
        git(root, "init", "-q")
        git(root, "add", ".")
        status = best(lambda: git(root, "status", "--porcelain"))
        index = CodebaseIndex(root, Path(folder, "index"), lambda: (None, ""))
        table.add("rg for a word", f"{best(lambda: search_raw(root)) / status:.1f}")
        table.add("build: read, cut and index every file", f"{best(lambda: build(index), 1) / status:.1f}")
        table.add("build again, nothing has changed", f"{best(lambda: build(index)) / status:.1f}")
        table.add("search, nothing has changed", f"{best(lambda: ask(index)) / status:.1f}")
        table.add("search after 20 files changed", f"{best(lambda: change_and_ask(root, index)) / status:.1f}")
    return [table]


def make_tree(root: Path) -> None:
    """Folders of 100 source files of five functions each, always the same."""
    chance = random.Random(5)
    for number in range(FILES):
        folder = root / f"package_{number // 1000}" / f"part_{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module_{number}.py").write_text("\n\n".join(_function(chance) for _ in range(5)))


def _function(chance: random.Random) -> str:
    name = "_".join(chance.choices(_WORDS, k=3))
    lines = [f"    {chance.choice(_WORDS)} = {chance.choice(_WORDS)}({chance.random()})" for _ in range(6)]
    return "\n".join([f"def {name}_{chance.randrange(10**6)}(given):", *lines, "    return given", ""])


def best(run: Callable[[], object], rounds: int = 3) -> float:
    taken = []
    for _ in range(rounds):
        before = used()
        run()
        taken.append(used() - before)
    return min(taken)


def used() -> float:
    """The CPU time so far, of this process and of those it started."""
    mine, theirs = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=root, stdout=subprocess.DEVNULL, check=True)


def search_raw(root: Path) -> None:
    subprocess.run([ripgrep(), "--count", "reader_token_user", "."], cwd=root, stdout=subprocess.DEVNULL, check=False)


def build(index: CodebaseIndex) -> None:
    index.build(lambda _what, _done, _of: None)


def ask(index: CodebaseIndex) -> None:
    assert index.search(SearchRequest("where is the token of a user read")).found


def change_and_ask(root: Path, index: CodebaseIndex) -> None:
    for number in range(20):
        path = root / "package_0" / "part_0" / f"module_{number}.py"
        path.write_text(path.read_text() + "# more\n")
    ask(index)
