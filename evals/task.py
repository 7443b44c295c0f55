"""A task for a model, how to see that it was done, and one way of doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from evals.checks import Check, Result

Half: TypeAlias = Literal["dev", "held-out", "new"]
FAMILIES = ("creating", "fixing", "changing", "answering", "running", "testing")
HARDER = ("symptoms", "several", "connecting")
"""Families of a harder kind, all of them held out."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A right outcome: files written (None: removed) and what is said at the end. It proves that the check can pass."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    says: str = "Done."


@dataclass(frozen=True, slots=True)
class Eval:
    name: str
    prompt: str
    checks: Sequence[Check]
    solution: Solution
    files: Mapping[str, str] = field(default_factory=dict)
    """What is in the folder at the beginning."""
    read_only: bool = False
    """Nothing may change: a question was asked, or something was to be run."""

    def lay_out(self, folder: Path) -> None:
        write_files(folder, self.files)

    def problem(self, result: Result) -> str | None:
        """Why the task is not solved; None if it is."""
        changed = _changed(result.folder, self.files) if self.read_only else None
        return changed or next((problem for check in self.checks if (problem := check(result)) is not None), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A task in its place: the prompt and the loop were tuned on the dev half only."""

    family: str
    half: Half
    task: Eval


def write_files(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _changed(folder: Path, files: Mapping[str, str]) -> str | None:
    """The first thing in the folder that is not as it was; a repository and what Python leaves behind do not count."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    found = {str(path) for path in paths if path.suffix != ".pyc" and path.parts[0] != ".git"}
    if other := sorted(found ^ set(files)):
        return f"{other[0]} was {'added' if other[0] in found else 'removed'}"
    changed = (name for name, text in files.items() if (folder / name).read_bytes() != text.encode())
    return next((f"{name} was changed" for name in changed), None)


def all_tasks() -> Iterator[Entry]:
    """Every task; of each family, every second one is held out, and all of the harder ones."""
    for family in (*FAMILIES, *HARDER):
        tasks: Sequence[Eval] = import_module(f"evals.tasks.{family}").TASKS
        for place, task in enumerate(tasks):
            half: Half = "held-out" if place % 2 else "dev"
            yield Entry(family, "new" if family in HARDER else half, task)
