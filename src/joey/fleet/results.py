"""What came of the tasks of a batch: patches, branches, or lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.errors import UsageError
from joey.fleet.fleet import MAX_TASK_ID, Fleet
from joey.fleet.ledger import FleetTask
from joey.fleet.repositories import Mirror, RepositoryError
from joey.fleet.spec import check_name


@dataclass(frozen=True, slots=True)
class Result:
    """What was made of one task: where it is, or why there is nothing."""

    task: str
    where: str = ""
    problem: str = ""


def patches(fleet: Fleet, batch: str, folder: Path) -> Iterator[Result]:
    """A patch for each task that changed files, in this folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}; name another") from None
    for task in fleet.named(batch):
        if problem := _nothing(task):
            yield Result(task.id, problem=problem)
            continue
        try:
            patch = _mirror(fleet, task).patch(task.base, task.head)
        except RepositoryError as error:
            yield Result(task.id, problem=str(error))
            continue
        path = folder / f"{check_name(task.id, 'name of a patch', MAX_TASK_ID)}.patch"
        try:
            path.write_text(patch, encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; name another folder") from None
        yield Result(task.id, str(path))


def branches(fleet: Fleet, batch: str) -> Iterator[Result]:
    """A branch joey/BATCH/TASK for each task that changed files, in its repository."""
    for task in fleet.named(batch):
        if problem := _nothing(task):
            yield Result(task.id, problem=problem)
            continue
        branch = f"joey/{task.batch}/{task.id.removeprefix(f'{task.batch}.')}"
        try:
            _mirror(fleet, task).publish(task.head, branch)
        except RepositoryError as error:
            yield Result(task.id, problem=str(error))
            continue
        yield Result(task.id, f"{task.spec.repository} {branch}")


def lines(fleet: Fleet, batch: str) -> Iterator[str]:
    """A JSON object for each task."""
    for task in fleet.named(batch):
        yield json.dumps(as_json(task))


def as_json(task: FleetTask) -> dict[str, Any]:
    return {
        "id": task.id,
        "batch": task.batch,
        "state": task.state,
        "outcome": task.outcome,
        "message": task.message,
        "turns": task.turns,
        "cost": round(task.cost, 6),
        "worker": task.worker,
        "repository": task.spec.repository,
        "folder": task.spec.folder,
        "base": task.base,
        "commit": task.head,
        "attempt": task.attempt,
        "question": json.loads(task.question) if task.question and task.state == "asks" else None,
        "question_number": task.leg if task.state == "asks" else None,
        "answered": bool(task.answer) if task.state == "asks" else None,
        "changed": task.changed,
    }


def _nothing(task: FleetTask) -> str:
    if task.state != "done":
        return f"is {task.state}"
    if task.outcome != "completed":
        return f"{task.outcome}: {task.message}"
    return "" if task.head else "changed no files" if task.base else "worked in a folder, in place"


def _mirror(fleet: Fleet, task: FleetTask) -> Mirror:
    """The mirror of the task's repository, with the task's commits."""
    mirror = Mirror.of(task.spec.repository, fleet.database.folder / "mirrors")
    mirror.resolve(task.base)
    mirror.unpack(fleet.ledger.commits(task.journal, task.head), f"refs/joey/{task.journal}")
    return mirror
