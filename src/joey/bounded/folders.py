"""Folders held open, so that a path that was judged cannot come to mean another place.

A path is looked up again at each use: between the approval of a call and what it does, a file or a folder on the
way can be replaced by a link that leads anywhere. So whoever reads or writes starts from a resolved path, in which
nothing is a link, and opens it folder by folder from the root, following none (`open_folder`, `place_of`). From then on
it works inside the descriptor: `Place` is a name in an open folder, and every operation on it uses the two. Whatever
happens to the path meanwhile, the descriptor stays the folder that was opened; `is_still` tells whether the path still
leads there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

# O_PATH needs no permission to list the folder, only to pass through it. Not every system has it.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class LinkInPathError(OSError):
    """A part of a path that should hold no link is one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a folder that is open. The name is one part of a path; a link there is never followed."""

    folder: int
    name: str

    def status(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def open(self, flags: int, mode: int = 0o666) -> int:
        """A descriptor of the file. Raises LinkInPathError where the name is a link."""
        try:
            return os.open(self.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)
        except OSError as error:
            raise _explained(error, self.folder, self.name) from None

    def reading(self) -> BinaryIO:
        """The file, open for reading. Opening it never waits, also where it is a pipe."""
        return os.fdopen(self.open(os.O_RDONLY | os.O_NONBLOCK), "rb")

    def beside(self, name: str) -> Place:
        return Place(self.folder, name)

    def rename(self, target: Place) -> None:
        os.replace(self.name, target.name, src_dir_fd=self.folder, dst_dir_fd=target.folder)

    def link(self, target: Place) -> None:
        folders = {"src_dir_fd": self.folder, "dst_dir_fd": target.folder}
        os.link(self.name, target.name, **folders, follow_symlinks=False)

    def unlink(self) -> None:
        os.unlink(self.name, dir_fd=self.folder)

    def rmdir(self) -> None:
        os.rmdir(self.name, dir_fd=self.folder)


def open_folder(path: Path, made: Callable[[Place], None] | None = None) -> int:
    """A descriptor of a folder given by its resolved path, reached without following a link; to be closed.

    With `made`, missing folders are created and each is reported to it, with a parent that stays open: closing that is
    up to whoever is told. Raises LinkInPathError where a part is a link, and OSError as `open` does.
    """
    descriptor = os.open(path.anchor, _FOLDER)
    for name in path.parts[1:]:
        try:
            below = _enter(descriptor, name, made)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A folder given by its resolved path, open to be listed. Raises as `open_folder` does."""
    folder = open_folder(path)
    try:
        with _readable(folder) as readable:
            yield readable
    finally:
        os.close(folder)


@contextmanager
def place_of(path: Path) -> Iterator[Place]:
    """The place of a resolved path, its folder open meanwhile. Raises as `open_folder` does."""
    folder = open_folder(path.parent)
    try:
        yield Place(folder, path.name or ".")
    finally:
        os.close(folder)


def is_still(path: Path, descriptor: int) -> bool:
    """Whether the path, followed again and without links, leads to the open folder."""
    try:
        now = open_folder(path)
    except OSError:
        return False
    try:
        return os.path.samestat(os.fstat(now), os.fstat(descriptor))
    finally:
        os.close(now)


def entries_in(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing where it may not be looked into, or is gone."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def names_in(descriptor: int) -> list[str]:
    """What is in an open folder."""
    with _readable(descriptor) as folder:
        return os.listdir(folder)  # noqa: PTH208 - a descriptor, not a path


def flush_folder(descriptor: int) -> None:
    """Write the names in an open folder to the disk, as far as the file system can."""
    with suppress(OSError), _readable(descriptor) as folder:
        os.fsync(folder)


@contextmanager
def _readable(descriptor: int) -> Iterator[int]:
    """The same folder, opened so that it can be listed; a descriptor of O_PATH cannot."""
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
    try:
        yield folder
    finally:
        os.close(folder)


def _enter(folder: int, name: str, made: Callable[[Place], None] | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if made is None:
            raise
    except OSError as error:
        raise _explained(error, folder, name) from None
    with suppress(FileExistsError):  # somebody else was faster
        os.mkdir(name, dir_fd=folder)
        made(Place(os.dup(folder), name))
    return _enter(folder, name, None)


def _explained(error: OSError, folder: int, name: str) -> OSError:
    """Systems differ in what they answer for a link that is not to be followed, so it is looked at."""
    with suppress(OSError):
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return LinkInPathError(error.errno, f"{name} is a symbolic link", name)
    return error


def reason(problem: BaseException) -> str:
    """Why the system refused, without the path and the number that Python puts around it."""
    if isinstance(problem, LinkInPathError):
        return "it was replaced while it was read; try again"
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
