"""After a command: files that it planted are reported, and moved aside where nobody approved the command.

They go to the task's storage, whole, so that a person can put them back. Each is reached through a descriptor of its
folder, which was opened without following links: a process that still runs cannot have another file moved.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.sandbox.mounts import open_beneath
from joey.sandbox.planted import Watch
from joey.tools.base import ToolContext
from joey.tools.commands.job import Job
from joey.tools.commands.jobs import jobs_of

_NAMED = 10
_KEY, _WATCH = "planted_files", "watch_for_planted_files"


@dataclass(frozen=True, slots=True)
class Found:
    """What was planted, and where it is now; None if it was left where it is."""

    names: tuple[str, ...]
    moved_to: Path | None = None

    def __str__(self) -> str:
        names = ", ".join(self.names[:_NAMED]) + (
            f" and {len(self.names) - _NAMED} more" if self.names[_NAMED:] else ""
        )
        notice = f"Careful: the command made or changed files that run or steer programs later: {names}."
        if self.moved_to is None:
            return f"{notice} Tell the user, unless they asked for exactly that."
        return (
            f"{notice} They were moved aside to {self.moved_to}, because nobody approved the command. Tell the user. "
            "If the task needs such a file, make it with an edit tool, which the user approves."
        )


async def look_for_planted(job: Job, context: ToolContext) -> Found | None:
    """What this command, or one that still runs in the background, has planted; None if nothing."""
    sandbox = job.sandbox
    if sandbox is None:
        return None
    since = min(each.began for each in (job, *jobs_of(context)))
    watch: Watch = context.state.setdefault(_WATCH, Watch(context.workspace, context.guarded))
    dated = await asyncio.to_thread(watch.planted, since, sandbox.covered)
    known: dict[Path, float] = context.state.setdefault(_KEY, {})
    found = tuple(path for path, when in dated.items() if known.get(path) != when)
    known.update(dated)
    if not found:
        return None
    root = context.workspace.resolve()
    names = tuple(str(each.relative_to(root)) if each.is_relative_to(root) else str(each) for each in found)
    # Without mounts over them, files that were there before may have been changed: those are the user's.
    if context.approved_by() == "user" or sandbox.held.level != "full":
        return Found(names)
    folder = await asyncio.to_thread(_moved_aside, found, root, context.storage / "planted")
    return Found(names, folder)


def _moved_aside(paths: tuple[Path, ...], root: Path, storage: Path) -> Path:
    storage.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = next(each for each in _numbered(storage) if not each.exists())
    for path in paths:
        base = root if path.is_relative_to(root) else Path(path.anchor)
        relative = path.relative_to(base)
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            parent = open_beneath(base, relative.parent)
        except OSError:
            continue  # it is no longer there
        try:
            shutil.move(f"/proc/self/fd/{parent}/{relative.name}", target)
        except FileNotFoundError:
            continue
        finally:
            os.close(parent)
    return folder


def _numbered(folder: Path) -> Iterator[Path]:
    number = 1
    while True:
        yield folder / str(number)
        number += 1
