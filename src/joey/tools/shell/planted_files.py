"""After a command: files that it planted are reported, and moved aside where nobody approved the command.

They go to the task's storage, whole, so that a person can put them back. Each is reached through a descriptor of its
folder, which was opened without following links: a process that still runs cannot have another file moved.

What a command left running can plant a file at any time, so changes count from its beginning for as long as anything
runs in a sandbox. The last look comes when the task has ended and its sandboxes with it: then the user is warned.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from joey.sandbox import Sandbox
from joey.sandbox.mounts import MAX_ENTRIES, Identity, open_beneath
from joey.sandbox.planted import Kept, Planted, Watch
from joey.system.filenames import quoted
from joey.tools.base import ToolContext

_NAMED = 10
_PARTIAL = (
    "the workspace has more than {count:,} folders: files that run or steer programs later are looked for in the first "
    "of them only, so look at what commands made further down before you run something there"
)


@dataclass(frozen=True, slots=True)
class PlantedReport:
    """What was planted, and where it is now; None if it was left where it is."""

    names: tuple[str, ...]
    moved_to: Path | None = None
    put_back: tuple[str, ...] = ()
    """In place of those that were moved: what was there before."""

    @property
    def _listed(self) -> str:
        more = f" and {len(self.names) - _NAMED} more" if self.names[_NAMED:] else ""
        return ", ".join(quoted(each) for each in self.names[:_NAMED]) + more

    @property
    def at_the_end(self) -> str:
        """For the user, when there is no model any more to tell."""
        where = f"; they were moved aside to {self.moved_to}" if self.moved_to else "; look at them before you go on"
        return f"commands left files behind that run or steer programs later: {self._listed}{where}{self._restored}"

    @property
    def _restored(self) -> str:
        names = ", ".join(quoted(each) for each in self.put_back[:_NAMED])
        return f"; put back as they were before: {names}" if names else ""

    def __str__(self) -> str:
        names = self._listed
        notice = f"Careful: the command made or changed files that run or steer programs later: {names}."
        if self.moved_to is None:
            return f"{notice} Tell the user, unless they asked for exactly that."
        return (
            f"{notice} They were moved aside to {self.moved_to}, because nobody approved the command{self._restored}. "
            "Tell the user. "
            "If the task needs such a file, make it with an edit tool, which the user approves."
        )


@dataclass(slots=True)
class _Watched:
    """The watch of a task, and what it must know of the commands that ran."""

    watch: Watch
    context: ToolContext
    """That of the first command."""
    since: float | None = None
    """When the earliest command began that may still do something; None while nothing runs."""
    sandboxes: list[Sandbox] = field(default_factory=list)
    """All that commands ran in."""
    started: int = 0
    """How many commands were started."""
    unapproved: bool = False
    """Whether one ran that nobody approved."""
    reported: dict[Path, float] = field(default_factory=dict)
    warned: bool = False
    """Whether the user knows that not everything is looked at."""
    turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def covered(self) -> dict[str, Identity]:
        """What none of the sandboxes lets be changed."""
        first, *others = self.sandboxes
        return {path: file for path, file in first.covered.items() if all(o.covered.get(path) == file for o in others)}

    def starts(self, sandbox: Sandbox, *, approved: bool) -> None:
        """A command is about to run in this sandbox."""
        self.started += 1
        self.since = self.since or time.time()
        self.unapproved = self.unapproved or not approved
        if sandbox not in self.sandboxes:
            self.sandboxes.append(sandbox)

    def warn_if_partial(self) -> None:
        """Warn once that the watch does not reach the end of the workspace, or does no longer."""
        if not self.watch.is_whole and not self.warned:
            self.warned = True
            self.context.warn(_PARTIAL.format(count=self.watch.max_folders))

    def look(self) -> list[Planted]:
        """What is new. Commands that end at the same time take turns."""
        with self.turn:
            return [] if self.since is None else self._look(self.since)

    def _look(self, since: float) -> list[Planted]:
        # Before looking: what runs on may plant right afterwards, and another command may be started meanwhile.
        idle, started = all(each.is_idle for each in self.sandboxes), self.started
        found = self.watch.planted(since, self.covered)
        self.warn_if_partial()
        if idle and started == self.started:
            self.since = None
        new = [each for each in found if self.reported.get(each.path) != each.when]
        self.reported.update((each.path, each.when) for each in new)
        return new


class PlantedFiles:
    """The watch of a task, once a command ran in a sandbox."""

    def __init__(self) -> None:
        self.watched: _Watched | None = None
        self.starting = asyncio.Lock()

    async def after_close(self) -> None:
        """The last look, when all sandboxes are closed."""
        watched, self.watched = self.watched, None
        if watched is None:
            return
        found = await asyncio.to_thread(watched.look)
        reported = await _dealt_with(found, watched, watched.context, moves=watched.unapproved)
        if reported is not None:
            watched.context.warn(reported.at_the_end)


async def watch_for_planted(sandbox: Sandbox | None, context: ToolContext, *, max_folders: int = MAX_ENTRIES) -> None:
    """Before a command runs: see what there is, if it is the first one."""
    if sandbox is None:
        return
    memory = context.memory[PlantedFiles]
    async with memory.starting:
        if memory.watched is None:
            watch = await asyncio.to_thread(Watch, context.workspace, context.permissions.guarded, max_folders)
            memory.watched = _Watched(watch, context)
            memory.watched.warn_if_partial()
    memory.watched.starts(sandbox, approved=context.permissions.approved_by() == "user")


async def look_for_planted(context: ToolContext) -> PlantedReport | None:
    """What this command, or one that still runs in the background, has planted; None if nothing."""
    watched = context.memory[PlantedFiles].watched
    if watched is None:
        return None
    moves = context.permissions.approved_by() != "user"
    return await _dealt_with(await asyncio.to_thread(watched.look), watched, context, moves=moves)


async def _dealt_with(
    found: list[Planted], watched: _Watched, context: ToolContext, *, moves: bool
) -> PlantedReport | None:
    if not found:
        return None
    root = context.workspace.resolve()
    paths = [each.path for each in found]
    names = tuple(str(each.relative_to(root)) if each.is_relative_to(root) else str(each) for each in paths)
    # Without mounts over them, files that were there before may have been changed: those are the user's.
    full = all(each.held.level == "full" for each in watched.sandboxes)
    movable = tuple(each for each in found if not each.lay_elsewhere) if moves and full else ()
    if not movable:
        return PlantedReport(names)
    named = dict(zip(paths, names, strict=True))
    folder, put_back = await asyncio.to_thread(_moved_aside, movable, root, context.storage / "planted")
    for path in put_back:
        watched.watch.was_put_back(path)
    return PlantedReport(names, folder, tuple(named[path] for path in put_back))


def _moved_aside(planted: tuple[Planted, ...], root: Path, storage: Path) -> tuple[Path, list[Path]]:
    """Move them to a new folder in the storage. Returns it, and in whose place what was there before is again."""
    storage.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = next(each for each in _numbered(storage) if not each.exists())
    put_back = []
    for each in planted:
        path = each.path
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
            if each.before is not None and _put_back(relative.name, each.before, parent):
                put_back.append(path)
        except FileNotFoundError:
            continue
        finally:
            os.close(parent)
    return folder, put_back


def _put_back(name: str, before: Kept, parent: int) -> bool:
    """Write a file again in the folder it was in. What somebody put there meanwhile stays, and is found again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as file:
            file.write(before.content)
            os.fchmod(file.fileno(), before.mode)
    except OSError:
        return False
    return True


def _numbered(folder: Path) -> Iterator[Path]:
    number = 1
    while True:
        yield folder / str(number)
        number += 1
