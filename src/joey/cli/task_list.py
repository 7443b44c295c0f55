"""The list of tasks: by folder, this one first; below each task its subtasks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from joey.journal.store import TaskEntry, TaskStore
from joey.system.visible import one_line


def list_tasks(store: TaskStore, text: str, *, as_json: bool) -> int:
    """Print the tasks that contain this text, or all."""
    entries = [entry for entry in store.entries() if entry.mentions(text)]
    if as_json:
        for entry in entries:
            print(json.dumps(_as_json(entry)))
        return 0
    for line in _lines(entries, Path.cwd()):
        print(line)
    if not entries:
        print("no task contains this text" if text else "there are no tasks yet", file=sys.stderr)
    return 0


def _lines(entries: Sequence[TaskEntry], here: Path) -> Iterator[str]:
    """The entries are in order, so the folder with the newest task comes first, after this one."""
    listed = {entry.task_id for entry in entries}
    folders: dict[Path | None, list[TaskEntry]] = {}
    subtasks: dict[str, list[TaskEntry]] = {}
    for entry in entries:
        if entry.parent_id in listed:
            subtasks.setdefault(entry.parent_id, []).insert(0, entry)
        else:
            folders.setdefault(here if entry.works_in(here) else entry.folder, []).append(entry)
    for folder in sorted(folders, key=lambda folder: folder != here):
        yield "(unknown folder)" if folder is None else one_line(str(folder))
        for entry in folders[folder]:
            yield from _with_subtasks(entry, subtasks, "  ")


def _with_subtasks(entry: TaskEntry, subtasks: Mapping[str, Sequence[TaskEntry]], indent: str) -> Iterator[str]:
    yield indent + task_line(entry)
    for child in subtasks.get(entry.task_id, ()):
        yield from _with_subtasks(child, subtasks, indent + "  ")


def task_line(entry: TaskEntry) -> str:
    damaged = f" (damaged: {len(entry.left_out)} left out)" if entry.left_out else ""
    text = entry.problem or entry.title + damaged
    return f"{entry.task_id}  {_when(entry.changed)}  {entry.status:<10}  {one_line(text)}"


def _when(at: float) -> str:
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")  # noqa: DTZ006 - shown in local time
    except (ValueError, OverflowError, OSError):
        return "at no known time"


def _as_json(entry: TaskEntry) -> dict[str, object]:
    state = entry.state
    return {
        "id": entry.task_id,
        "status": entry.status,
        "started": entry.started,
        "changed": entry.changed,
        "folder": str(entry.folder) if entry.folder else None,
        "parent": entry.parent_id,
        "title": entry.title,
        "text": entry.text,
        "turns": state.turns if state else 0,
        "cost": state.cost if state else None,
        "problem": entry.problem,
        "left_out": [str(each) for each in entry.left_out],
    }
