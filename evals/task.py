"""A task for a model, how to see that it was done, and one way of doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from evals.checks import Check, Result

Half: TypeAlias = Literal["dev", "held-out"]
FAMILIES = ("creating", "fixing", "changing", "answering", "running", "testing")


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

    def lay_out(self, folder: Path) -> None:
        write_files(folder, self.files)

    def problem(self, result: Result) -> str | None:
        """Why the task is not solved; None if it is."""
        return next((problem for check in self.checks if (problem := check(result)) is not None), None)


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


def all_tasks() -> Iterator[Entry]:
    """Every task; of each family, every second one is held out."""
    for family in FAMILIES:
        tasks: Sequence[Eval] = import_module(f"evals.tasks.{family}").TASKS
        for place, task in enumerate(tasks):
            yield Entry(family, "held-out" if place % 2 else "dev", task)
