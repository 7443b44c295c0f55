"""Putting a workspace back: first as a plan that can be read, then done.

Nothing is overwritten or removed that was not kept a moment before: restoring takes a checkpoint of every path it is
about to change, and leaves alone, with the reason, what could not be kept. That checkpoint is the way back.
Nothing is written through a link: a folder that has become one is not the folder that was kept. Each folder is opened
from the root down, following none, and worked in by its descriptor (joey.bounded.folders). A folder that is read-only
is opened for as long as something in it is changed.

Which checkpoint the next step back (undo) or forward (redo) goes to is read off the checkpoints themselves, so it
survives a restart. A checkpoint that a call made is a step.
One that was taken before files were restored names what was restored (`restores`), and is the way forward again:

    a step         joins the line; nothing can be redone any more
    back to one    the line ends before it, and the way forward goes on the stack
    forward        the line is again what it was, and the stack is cut there

Undoing goes to the first step of a turn, from the end of the line: the first one that is different from how things are
now. So turns that changed nothing are passed over, and undoing again goes further back.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from joey.bounded.files import extras_of, take_over_extras
from joey.bounded.folders import LinkInPathError, Place, open_folder
from joey.checkpoints.entries import ABSENT, Change, Checkpoint, PathState, stamp_of
from joey.checkpoints.store import CheckpointStore, Snapshot, under
from joey.checkpoints.walk import NEVER, WalkResult, walk
from joey.errors import JoeyError
from joey.system.filenames import quoted
from joey.system.temporaries import sweep, temporary_beside


def put(store: CheckpointStore, change: Change) -> str:
    """Make the path what it was. Returns what of it could not be restored, in words. Raises OSError and JoeyError."""
    path, wanted = store.place(change.path), change.wanted
    with ExitStack() as opened:
        try:
            folder = open_folder(path.parent, None if wanted.kind == "absent" else partial(_close_with, opened))
        except LinkInPathError:
            raise JoeyError("a folder above it is now a link to somewhere else") from None
        opened.callback(os.close, folder)
        place = Place(folder, path.name)
        try:
            _put_in(place, store, change)
        except PermissionError:
            with _opened_up(folder):
                _put_in(place, store, change)
        return _missing(place, wanted) if wanted.extras else ""


def _close_with(opened: ExitStack, made: Place) -> None:
    opened.callback(os.close, made.folder)


@contextmanager
def _opened_up(folder: int) -> Iterator[None]:
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    _set_mode(folder, mode | 0o700)
    try:
        yield
    finally:
        _set_mode(folder, mode)


def _set_mode(folder: int, mode: int) -> None:
    """Of an open folder, also one that may not even be entered."""
    try:
        os.chmod(".", mode, dir_fd=folder)
    except PermissionError:
        Path(f"/proc/self/fd/{folder}").chmod(mode)


def _put_in(place: Place, store: CheckpointStore, change: Change) -> None:
    wanted = change.wanted
    match wanted.kind:
        case "absent":
            place.rmdir() if change.now.kind == "folder" else place.unlink()
        case "folder":
            _make_folder(place, wanted.mode)
        case "link":
            with suppress(FileNotFoundError):
                place.unlink()
            os.symlink(wanted.content, place.name, dir_fd=place.folder)
        case "file":
            _write(place, store.contents.read(wanted.content), wanted.mode)
        case "unkept":
            raise AssertionError("what was not kept is never put back")


def _make_folder(place: Place, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(place.name, dir_fd=place.folder)
    folder = place.open(os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY))
    try:
        _set_mode(folder, mode)
    finally:
        os.close(folder)


def _write(place: Place, data: bytes, mode: int) -> None:
    """All of it or nothing: a file half put back would be worse than none."""
    sweep(place.folder)
    temporary = temporary_beside(place)
    with os.fdopen(temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            file.write(data)
            file.flush()
            _take_extras_over(file.fileno(), place)
            os.fchmod(file.fileno(), mode)
            temporary.rename(place)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise


def _take_extras_over(file: int, place: Place) -> None:
    """From the file that is there now, if there is one: its owner and attributes are most likely what they were."""
    with suppress(OSError), place.reading() as present:
        take_over_extras(file, present.fileno())


def _missing(place: Place, wanted: PathState) -> str:
    """Which of the extras of a file are not there again."""
    if wanted.kind != "file":
        return ""
    with place.reading() as file:
        now = extras_of(file.fileno(), os.fstat(file.fileno())).split(", ")
    return ", ".join(each for each in wanted.extras.split(", ") if each not in now)


_DIFF_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done. `way_back` is the checkpoint of how it was before; None when there was nothing to do."""

    changes: tuple[Change, ...]
    left: dict[str, str]
    way_back: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class Restoration:
    """What it takes to go back to a checkpoint, worked out and not done."""

    store: CheckpointStore
    checkpoint: Checkpoint
    changes: tuple[Change, ...]
    left: dict[str, str]
    """Paths that are not as they were and stay so, and why."""
    untouched: tuple[str, ...] = ()
    """What is there and no part of checkpoints: what became of it since is not known, and stays. Version control's
    own folders are not named: nobody expects them to change."""

    def diff(self) -> str:
        """The changes as a unified diff, from how it is now to how it was."""
        return "".join(line for change in self.changes for line in _diff(self.store, change))

    def apply(self) -> Restored:
        if not self.changes:
            return Restored((), self.left)
        label = f"before going back to checkpoint {self.checkpoint.id}"
        touched, number = [change.path for change in self.changes], self.checkpoint.id
        way_back = self.store.take(label, turn=self.checkpoint.turn, touched=touched, restores=number)
        left = {**self.left, **{path: f"how it is now was not kept: {why}" for path, why in way_back.unkept.items()}}
        done: list[Change] = []
        for change in _in_order([change for change in self.changes if change.path not in way_back.unkept]):
            try:
                if missing := put(self.store, change):
                    left[change.path] = f"restored without {missing}"
                done.append(change)
            except (OSError, JoeyError) as error:
                left[change.path] = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Restored(tuple(done), left, way_back)


def plan_restore(store: CheckpointStore, number: int, seen: WalkResult | None = None) -> Restoration:
    """What is different now from how it was at this checkpoint; `seen` is what is there, where that is known."""
    checkpoint, past = store.get(number), store.past(number)
    changes: list[Change] = []
    left: dict[str, str] = {}
    seen = seen or walk(store.workspace, store.limits.paths)
    own = [path for path in past.entries if PurePosixPath(path).name in NEVER and os.path.lexists(store.place(path))]
    for path, wanted in _worth_a_look(past, seen if past.complete else WalkResult()):
        now = store.look(path)
        if now.same_as(wanted):
            if wanted.extras not in ("", now.extras):
                left[path] = f"its content is as it was, but not: {wanted.extras}"
        elif repository := next((each for each in own if under(path, frozenset((each,)))), None):
            left[repository] = "version control's own folder is there, and what is in it stays"
        elif wanted.kind == "unkept":
            left[path] = f"how it was is not kept: {wanted.content}"
        else:
            changes.append(Change(path, now, wanted))
    left |= {path: why for path, why in _lost(store, past) if path not in past.entries}
    skipped = seen.skipped - {"", *past.entries}
    untouched = tuple(sorted(path for path in skipped if PurePosixPath(path).name not in NEVER))
    return Restoration(store, checkpoint, tuple(sorted(changes, key=lambda change: change.path)), left, untouched)


def _lost(store: CheckpointStore, past: Snapshot) -> Iterator[tuple[str, str]]:
    """What was there and never part of a checkpoint, and is gone."""
    for path in sorted(past.skipped - {""}):
        if not os.path.lexists(store.place(path)):
            own = PurePosixPath(path).name in NEVER
            what = "version control's own folders" if own else "ignored files, pipes and sockets"
            yield path, f"it is gone, and {what} are not kept"


def _worth_a_look(past: Snapshot, seen: WalkResult) -> Iterator[tuple[str, PathState]]:
    """The paths that may be different, and how they were."""
    found = seen.found
    for path, wanted in past.entries.items():
        info = found.get(path)
        if info is None or not wanted.stamp or wanted.stamp != stamp_of(info):
            yield path, wanted
    for path in found:
        if path not in past.entries and past.says(path) is not None:
            yield path, ABSENT


def _in_order(changes: Sequence[Change]) -> list[Change]:
    """What must go, the deepest first; then folders, open; then what goes into them; then the folders as they were."""
    going = [change for change in changes if change.verb == "remove" or change.now.kind != change.wanted.kind]
    removals = [Change(change.path, change.now, ABSENT) for change in going if change.now.kind != "absent"]
    removals.sort(key=lambda change: (-change.path.count("/"), change.path))
    coming = sorted((each for each in changes if each.wanted.kind != "absent"), key=lambda change: change.path)
    folders = [change for change in coming if change.wanted.kind == "folder"]
    opened = [replace(each, wanted=replace(each.wanted, mode=each.wanted.mode | 0o700)) for each in folders]
    return [*removals, *opened, *(each for each in coming if each.wanted.kind != "folder"), *reversed(folders)]


# The diff


def _diff(store: CheckpointStore, change: Change) -> Iterator[str]:
    if "folder" in (change.now.kind, change.wanted.kind) and change.now.kind != "file" != change.wanted.kind:
        yield f"{change.verb} folder {quoted(change.path)}\n"
        return
    old, new = _text(store, change.now, change.path), _text(store, change.wanted, "")
    if old is None or new is None:
        yield f"{change.verb} {quoted(change.path)} (not text)\n"
    elif change.verb != "change" and old == new:
        yield f"{change.verb} {quoted(change.path)} (empty)\n"
    elif old == new:
        yield f"change {quoted(change.path)} (mode {change.now.mode:o} to {change.wanted.mode:o})\n"
    else:
        before, after = (_side(change.path, entry) for entry in (change.now, change.wanted))
        for line in difflib.unified_diff(old, new, before, after):
            yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _side(path: str, entry: PathState) -> str:
    return "/dev/null" if entry.kind == "absent" else quoted(path)


def _text(store: CheckpointStore, entry: PathState, path: str) -> list[str] | None:
    """The lines of a file as it was (or, with a path, is now); None when it has none that can be shown."""
    if entry.kind in ("absent", "folder"):
        return []
    if entry.kind == "link":
        return [f"link to {quoted(entry.content)}\n"]
    if entry.kind == "unkept":
        return None
    try:
        data = store.place(path).read_bytes() if path else store.contents.read(entry.content)
        return None if b"\0" in data or len(data) > _DIFF_BYTES else data.decode("utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, slots=True)
class StepLine:
    """What can be undone and redone."""

    line: tuple[Checkpoint, ...] = ()
    """The steps that are in force, the oldest first."""
    forward: tuple[tuple[int, tuple[Checkpoint, ...]], ...] = ()
    """The checkpoints that redo what was undone, the next one last, each with the line as it was then."""

    def after(self, checkpoint: Checkpoint) -> StepLine:
        if checkpoint.restores is None:
            return StepLine((*self.line, checkpoint)) if checkpoint.call_id else self
        for at, (number, line) in enumerate(self.forward):
            if number == checkpoint.restores:
                return StepLine(line, self.forward[:at])
        before = tuple(step for step in self.line if step.id < checkpoint.restores)
        return StepLine(before, (*self.forward, (checkpoint.id, self.line)))


def steps_of(checkpoints: Iterable[Checkpoint]) -> StepLine:
    steps = StepLine()
    for checkpoint in checkpoints:
        steps = steps.after(checkpoint)
    return steps


@dataclass(frozen=True, slots=True)
class OwnTimes:
    """When the task changed files, or could have: from and to. What changed at another time was somebody else."""

    spans: tuple[tuple[float, float], ...] = ()

    def hold(self, at: float) -> bool:
        return any(start - _CLOCK_LAG <= at <= end + _CLOCK_STEP for start, end in self.spans)


_CLOCK_STEP = 0.001
"""The times in a journal are rounded to this."""
_CLOCK_LAG = 0.02
"""The times of files may be that much behind the clock: the kernel looks at it now and then."""


def plan_undo(store: CheckpointStore, own: OwnTimes) -> Restoration | None:
    """What undoing the last turn that changed something would do; None if there is none."""
    seen = walk(store.workspace, store.limits.paths)
    plans = (plan_restore(store, number, seen) for number in _beginnings(steps_of(store.checkpoints).line))
    return next((plan for plan in (_of_the_task(plan, own) for plan in plans) if plan.changes), None)


def _of_the_task(plan: Restoration, own: OwnTimes) -> Restoration:
    """The plan without what only somebody else changed: at no time of the task's, and no step is known to touch it."""
    later = [each for each in plan.store.checkpoints if each.id >= plan.checkpoint.id]
    touched = {path for each in later for path in _touched(each, own, first=each is later[0])}
    kept = tuple(
        change for change in plan.changes
        if change.path in touched or change.now.kind == "absent" or own.hold(changed_at(plan.store.place(change.path)))
    )  # fmt: skip
    theirs = {change.path: "somebody else changed it, so it stays" for change in plan.changes if change not in kept}
    return replace(plan, changes=kept, left={**plan.left, **theirs})


def _touched(checkpoint: Checkpoint, own: OwnTimes, *, first: bool) -> Iterator[str]:
    """The paths that a checkpoint knows the task to have changed: what a call names, and, of the whole workspace, what
    had changed since the one before at a time of the task's. Where it does not know the time, it counts."""
    if not checkpoint.whole:
        yield from (*checkpoint.entries, *checkpoint.gone)
    elif not first:
        yield from checkpoint.gone
        yield from (path for path, entry in checkpoint.entries.items() if _may_be_own(entry, own))


def _may_be_own(entry: PathState, own: OwnTimes) -> bool:
    """A folder changes with whatever is put into it: only the time that it has now tells something."""
    return entry.kind != "folder" and (len(entry.stamp) < 3 or own.hold(entry.stamp[2] / 1e9))


def changed_at(path: Path) -> float:
    try:
        return path.lstat().st_ctime
    except OSError:
        return 0.0


def plan_redo(store: CheckpointStore) -> Restoration | None:
    """What doing again what was undone last would do; None if nothing was undone, or something changed since."""
    forward = steps_of(store.checkpoints).forward
    return plan_restore(store, forward[-1][0]) if forward else None


def _beginnings(line: Iterable[Checkpoint]) -> Iterator[int]:
    """The first step of each turn, the last turn first."""
    first: dict[int, int] = {}
    for step in line:
        first.setdefault(step.turn, step.id)
    return reversed(first.values())
