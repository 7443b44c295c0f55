"""The checkpoints of one task.

`checkpoints.jsonl` has a line for each. One of the whole workspace says only what is different from the last such one,
so that the hundredth command of a task costs what changed, not what is there; the state of the workspace is the fold of
those lines. Beside it lie the contents (see pack.py).

Two kinds. Before a tool changes files it names, those are kept, wherever they are and whatever ignores them. Before
something runs that may change anything (a command), the workspace is looked at by size, times and inode, and what is
new since the last look is read and kept, within the limits.

What was there at a checkpoint is what was recorded first, for each path, at that checkpoint or after it: a path that
nothing recorded was not changed by the task. Not kept: version control's own folders, what is ignored, the times of
files (a file put back is as new as the putting back).
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from joey.bounded.files import extras_of
from joey.bounded.folders import place_of
from joey.checkpoints.entries import ABSENT, Checkpoint, CheckpointLimits, PathState, mode_of, stamp_of
from joey.checkpoints.pack import ContentPack, content_hash
from joey.checkpoints.walk import WalkResult, walk, worth_keeping
from joey.errors import UsageError
from joey.system.temporaries import remove_left_over
from joey.system.user_files import add_lines

_RACY_NS = 100_000_000
"""A file that changed this shortly before it was looked at may change again without its times telling."""
_NO_ROOM = "the checkpoints of this task have used all the room they may"
_PIECE = 1 << 16
_NO_TIME = "reading the workspace took too long"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was there at a checkpoint. `complete`: what `entries` does not name was not there, unless it is skipped."""

    entries: Mapping[str, PathState]
    complete: bool = False
    skipped: frozenset[str] = frozenset()

    def says(self, path: str) -> PathState | None:
        """How a path was; None when nothing is known of it."""
        known = self.entries.get(path)
        if known is not None or not self.complete or path.startswith("/") or under(path, self.skipped):
            return known
        return ABSENT


class CheckpointStore:
    """Takes checkpoints and reads them. One writer at a time: whoever has the journal of the task open."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        limits: CheckpointLimits | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        read: Callable[[str, int], bytes] | None = None,
    ) -> None:
        self.folder, self.workspace = folder, workspace.resolve()
        self._root = str(self.workspace)
        self.limits = limits or CheckpointLimits()
        self.contents = ContentPack(folder, self.limits.total_bytes)
        self.reads = 0
        """How many files were read so far."""
        self._clock = clock
        self._read_file = read or read_file
        self._lines = folder / "checkpoints.jsonl"
        self.checkpoints = list(_read_lines(self._lines))
        self._whole: dict[str, PathState] = {}
        self._skipped: tuple[str, ...] | None = None
        for checkpoint in self.checkpoints:
            self._fold(checkpoint)

    # Taking

    def take(
        self,
        label: str,
        *,
        turn: int = 0,
        call_id: str = "",
        touched: Iterable[str] = (),
        whole: bool = False,
        doomed: Sequence[Path] = (),
        restores: int | None = None,
        unsaved: Mapping[str, bytes] | None = None,
    ) -> Checkpoint:
        """Keep these files (by absolute path, or relative to the workspace), or what is new in the workspace, and of
        what is left out there what is about to be deleted (`doomed`), where that is cheap. `unsaved` is what some of
        the files hold in an editor: restoring gives that back."""
        names = [self.name(path) for path in touched]
        named = {each: self._look(each) for name in names for each in (*self._missing_above(name), name)}
        for path, data in (unsaved or {}).items():
            named[self.name(path)] = self._with_content(named[self.name(path)], data)
        number = self.checkpoints[-1].id + 1 if self.checkpoints else 1
        at = round(self._clock() / 1e9, 3)
        if whole:
            seen = walk(self.workspace, self.limits.paths)
            self._sweep(seen)
            fresh = self._fresh(seen)
            entries = {path: entry for path, entry in fresh.items() if entry != self._whole.get(path)}
            with suppress(OSError):  # something of it went meanwhile
                named |= {path: self._look(path) for path in worth_keeping(self.workspace, seen, doomed)}
            # A file a tool names is kept even where the workspace's own rules leave it out.
            entries |= {path: entry for path, entry in named.items() if path not in seen.found}
            gone = tuple(path for path in self._whole if path not in seen.found)
            skipped = tuple(sorted(seen.skipped))
            made = Checkpoint(
                number, at, turn, call_id, label, True, entries, gone, None if skipped == self._skipped else skipped
            )
        else:
            made = Checkpoint(number, at, turn, call_id, label, False, named, restores=restores)
        self._append(made)
        return made

    def _with_content(self, state: PathState, data: bytes) -> PathState:
        content = self.contents.add(data) if state.kind == "file" else None
        return state if content is None else replace(state, content=content, stamp=())

    def _missing_above(self, name: str) -> list[str]:
        """The folders that are made with a file of this name: restoring removes them again, if they are empty."""
        above = [str(each) for each in PurePosixPath(name).parents if str(each) not in (".", "/")]
        return [each for each in above if not os.path.lexists(self.place(each))]

    def _sweep(self, seen: WalkResult) -> None:
        """Remove what a process that was killed while it wrote left in the workspace."""
        for path in seen.temporary:
            with suppress(OSError), place_of(self.place(path)) as place:
                remove_left_over(place)

    def name(self, path: str) -> str:
        """What a path is called here: relative to the workspace with `/` if it is inside, else absolute. The last
        part may be a link, which is then itself what is meant."""
        full = self.workspace / path
        parent = Path(os.path.realpath(full.parent))
        place = parent / full.name
        return place.relative_to(self.workspace).as_posix() if place.is_relative_to(self.workspace) else str(place)

    def place(self, name: str) -> Path:
        return self.workspace / name

    def look(self, name: str) -> PathState:
        """A path as it is now, with its hash; nothing is kept."""
        return self._entry(name, keep=False, limit=self.limits.touched_bytes)

    def _look(self, name: str) -> PathState:
        return self._entry(name, keep=True, limit=self.limits.touched_bytes)

    def _entry(self, name: str, *, keep: bool, limit: int) -> PathState:
        try:
            info = self.place(name).lstat()
        except OSError:
            return ABSENT
        return self._made(name, info, keep=keep, limit=limit)

    def _fresh(self, seen: WalkResult) -> dict[str, PathState]:
        """The workspace now. Only what looks different from the last time is read."""
        fresh: dict[str, PathState] = {}
        until = self._clock() + int(self.limits.seconds * 1e9)
        for path, info in seen.found.items():
            known = self._whole.get(path)
            if known is not None and known.stamp and known.stamp == stamp_of(info) and not _worth_another_try(known):
                fresh[path] = known
            elif stat.S_ISREG(info.st_mode) and self._clock() > until:
                fresh[path] = PathState("unkept", mode_of(info), _NO_TIME, stamp_of(info))
            else:
                fresh[path] = self._made(path, info, keep=True, limit=self.limits.file_bytes)
        return fresh

    def _made(self, name: str, info: os.stat_result, *, keep: bool, limit: int) -> PathState:
        if stat.S_ISDIR(info.st_mode):
            return PathState("folder", mode_of(info))
        if stat.S_ISLNK(info.st_mode):
            return self._link(name)
        return self._file(name, info, keep=keep, limit=limit)

    def _link(self, name: str) -> PathState:
        try:
            return PathState("link", 0, str(self.place(name).readlink()))
        except OSError:
            return ABSENT

    def _file(self, name: str, info: os.stat_result, *, keep: bool, limit: int) -> PathState:
        stamp = stamp_of(info)
        if not stat.S_ISREG(info.st_mode):
            return PathState("unkept", mode_of(info), "it is neither a file nor a folder nor a link", stamp)
        if info.st_size > limit:
            return PathState("unkept", mode_of(info), f"it has {info.st_size} bytes, and the limit is {limit}", stamp)
        try:
            data = self._read_file(os.path.join(self._root, name), limit)  # noqa: PTH118 - Path objects cost more
        except OSError as error:
            return PathState("unkept", mode_of(info), f"it cannot be read: {error.strerror or error}", stamp)
        self.reads += 1
        content = self.contents.add(data) if keep else content_hash(data)
        if content is None:
            return PathState("unkept", mode_of(info), _NO_ROOM, stamp)
        settled = info.st_ctime_ns + _RACY_NS < self._clock()
        extras = extras_of(os.path.join(self._root, name), info)  # noqa: PTH118 - as above
        return PathState("file", mode_of(info), content, stamp if settled else (), extras)

    def _append(self, made: Checkpoint) -> None:
        self.contents.flush()
        add_lines(self._lines, json.dumps(made.to_json(), separators=(",", ":")).encode("ascii") + b"\n")
        self.checkpoints.append(made)
        self._fold(made)

    def _fold(self, checkpoint: Checkpoint) -> None:
        if checkpoint.whole:
            apply_whole(self._whole, checkpoint)
            self._skipped = checkpoint.skipped if checkpoint.skipped is not None else self._skipped

    # Reading

    def get(self, number: int) -> Checkpoint:
        found = next((checkpoint for checkpoint in self.checkpoints if checkpoint.id == number), None)
        if found is None:
            numbers = f"1 to {self.checkpoints[-1].id}" if self.checkpoints else "none: nothing was changed yet"
            raise UsageError(f"there is no checkpoint {number}; there are {numbers}")
        return found

    def past(self, number: int) -> Snapshot:
        """What was there at a checkpoint."""
        self.get(number)
        entries: dict[str, PathState] = {}
        later = [checkpoint for checkpoint in self.checkpoints if checkpoint.id >= number]
        whole = next((checkpoint for checkpoint in later if checkpoint.whole), None)
        for checkpoint in later if whole is None else later[: later.index(whole)]:
            _keep_first(entries, checkpoint.entries)
        if whole is None:
            return Snapshot(entries)
        state, skipped = self._whole_at(whole)
        _keep_first(entries, state)
        past = Snapshot(entries, complete=True, skipped=skipped)
        for checkpoint in later[later.index(whole) :]:
            _keep_first(entries, {p: e for p, e in checkpoint.entries.items() if past.says(p) is None})
        return past

    def _whole_at(self, whole: Checkpoint) -> tuple[dict[str, PathState], frozenset[str]]:
        state: dict[str, PathState] = {}
        skipped: Sequence[str] = ()
        for checkpoint in self.checkpoints:
            if checkpoint.id <= whole.id and checkpoint.whole:
                apply_whole(state, checkpoint)
                skipped = skipped if checkpoint.skipped is None else checkpoint.skipped
        return state, frozenset(skipped)


def apply_whole(state: dict[str, PathState], checkpoint: Checkpoint) -> None:
    for path in checkpoint.gone:
        state.pop(path, None)
    state.update(checkpoint.entries)


def under(path: str, folders: frozenset[str]) -> bool:
    """Whether a path is one of these, or in one of them."""
    if not folders:
        return False
    return "" in folders or any(str(part) in folders for part in (Path(path), *Path(path).parents))


def read_file(path: str, limit: int) -> bytes:
    """A regular file's content. What has become a link or a pipe meanwhile is not followed and does not block."""
    with place_of(Path(path)) as place:
        file = place.open(os.O_RDONLY | os.O_NONBLOCK)
    try:
        data = os.read(file, _PIECE)
        if len(data) < _PIECE:  # most files, and the end of them
            return data
        pieces, size = [data], len(data)
        while size <= limit and (data := os.read(file, _PIECE)):
            pieces.append(data)
            size += len(data)
    finally:
        os.close(file)
    if size > limit:
        raise OSError(None, f"it grew over {limit} bytes while it was read")
    return b"".join(pieces)


def _keep_first(entries: dict[str, PathState], more: Mapping[str, PathState]) -> None:
    for path, entry in more.items():
        entries.setdefault(path, entry)


def _worth_another_try(entry: PathState) -> bool:
    # Room does not come back; a file that is too large is found to be so without reading it.
    return entry.kind == "unkept" and entry.content != _NO_ROOM


def _read_lines(path: Path) -> Iterable[Checkpoint]:
    """Every checkpoint that was written whole. A torn line was never relied upon: what it was for did not run."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="ascii", errors="replace").splitlines():
        try:
            yield Checkpoint.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue
