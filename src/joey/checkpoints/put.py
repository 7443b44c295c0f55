"""Making one path what it was.

Nothing is written through a link: a folder that has become one is not the folder that was kept. Each folder is opened
from the root down, following none, and worked in by its descriptor (joey.bounded.folders). A folder that is read-only
is opened for as long as something in it is changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from joey.bounded.attributes import extras_of, take_over_extras
from joey.bounded.folders import LinkInPathError, Place, open_folder
from joey.checkpoints.entries import Change, PathState
from joey.checkpoints.store import CheckpointStore
from joey.errors import JoeyError
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
