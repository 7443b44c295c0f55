"""Files from old bytes to new bytes: all of them, or none.

What a commit does, in this order:

1. Check: every file still has the bytes it was planned from; nothing that must be written is read-only.
2. Stage: missing folders are made; every new content is written to a temporary file beside its target, with the
   target's permissions, owner and extended attributes, and flushed to the disk. Whatever can fail for lack of space
   fails here, before any file has changed.
3. Check again, then swap: each temporary file is renamed over its target. When there are several changes, the old
   file gets a second name first, so that going back is a rename too and needs no space.
4. Settle: folders are flushed, second names removed.

An error before the end of 3 undoes what was done and raises ChangeFailed. A process killed at any instant leaves each
single file whole, old or new; temporary files it leaves behind carry the number of the process in their names and
are swept by the next commit to the same folder once that process is gone.

Links: a path that is a symbolic link is written through, the link stays. A file with several hard links becomes a
file of its own. Not handled: two writers that both check within the same instant; the later rename wins, whole. And
machines that share a folder over a network: one may sweep what another is writing, whose commit then fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from joey.errors import JoeyError

_TEMPORARY = re.compile(r"\.joey-(\d+)-\d+\.tmp$")
_serial = count()


class Disk:
    """What a commit asks of the operating system once it writes. Tests put one in its place that is full or breaks."""

    def write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target, follow_symlinks=False)

    def remove(self, path: Path) -> None:
        path.unlink()


class ChangeFailed(JoeyError):  # noqa: N818 - what happened, as it is told to the model
    """Nothing was changed, and why."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file. `old` is None for a file that is not there, `new` for one that is to go."""

    path: Path
    """Absolute; the real file, not a link to it, except where a link is what is to go."""
    name: str
    """The path as the model wrote it, for messages."""
    old: bytes | None
    new: bytes | None
    like: Path | None = None
    """The file whose permissions a new file takes over: where it was moved from."""

    @property
    def is_void(self) -> bool:
        return self.old == self.new


def read_present(path: Path, name: str) -> bytes | None:
    """The bytes of a regular file, None if there is no such file. Anything else cannot be edited."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ChangeFailed(f"{name} is a folder, not a file.")
        if not stat.S_ISREG(mode):
            raise ChangeFailed(f"{name} is not a regular file.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise ChangeFailed(f"{name} cannot be a file: a part of its path is a file, not a folder.") from None
    except OSError as error:
        raise ChangeFailed(f"{name} cannot be read: {_reason(error)}.") from None


def commit(changes: Sequence[FileChange], *, disk: Disk | None = None) -> None:
    """Make all the changes, or raise ChangeFailed and leave everything as it was."""
    changes = [change for change in changes if not change.is_void]
    work = _Commit(changes, disk or Disk())
    try:
        work.check()
        work.stage()
        work.check()
        work.swap()
    except OSError as error:
        work.undo()
        raise ChangeFailed(f"{work.at.name} could not be written: {_reason(error)}. Nothing was changed.") from None
    except BaseException:
        work.undo()
        raise
    work.settle()


def sweep(folder: Path) -> None:
    """Remove temporary files in this folder that processes now gone left behind."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            left = _TEMPORARY.fullmatch(entry.name)
            if left and not _is_alive(int(left[1])):
                Path(entry.path).unlink(missing_ok=True)


@dataclass(slots=True)
class _Commit:
    changes: Sequence[FileChange]
    disk: Disk
    made_folders: list[Path] = field(default_factory=list)
    staged: dict[Path, Path] = field(default_factory=dict)
    """Target to temporary file with its new content."""
    saved: dict[Path, Path | None] = field(default_factory=dict)
    """Swapped targets to the second name of the old file; None if there was no old file."""
    at: FileChange = field(init=False)
    """The change in hand, for messages."""

    def check(self) -> None:
        for change in self.changes:
            self.at = change
            self._check_unchanged(change)
            if change.old is not None and change.new is not None:
                _check_writable(change)

    def stage(self) -> None:
        for folder in {change.path.parent for change in self.changes}:
            sweep(folder)
        for change in self.changes:
            self.at = change
            if change.new is not None:
                self._make_folders(change.path.parent)
                temporary = _temporary_beside(change.path)
                self.staged[change.path] = temporary
                self._write_temporary(temporary, change, change.new)

    def swap(self) -> None:
        # Files to be written first, so that a deletion never comes before the file that replaces it.
        for change in sorted(self.changes, key=lambda change: change.new is None):
            self.at, path = change, change.path
            if change.old is None:
                self.saved[path] = None
            elif len(self.changes) > 1:
                self.saved[path] = self._second_name(path)
            if change.new is None:
                self.disk.remove(path)
            elif change.old is None:
                self._put_new(self.staged[path], change)
            else:
                self.disk.rename(self.staged[path], path)
            self.staged.pop(path, None)

    def settle(self) -> None:
        for second in self.saved.values():
            if second is not None:
                with contextlib.suppress(OSError):
                    second.unlink()
        for folder in {change.path.parent for change in self.changes}:
            _flush_folder(folder)

    def undo(self) -> None:
        for path, second in reversed(self.saved.items()):
            with contextlib.suppress(OSError):
                if second is not None:
                    second.replace(path)
                    # Renaming one name of a file over another of the same file leaves both.
                    second.unlink(missing_ok=True)
                elif path not in self.staged:
                    path.unlink()
        for temporary in self.staged.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
        for folder in reversed(self.made_folders):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _check_unchanged(self, change: FileChange) -> None:
        present = read_present(change.path, change.name)
        if present == change.old:
            return
        if change.old is None:
            raise ChangeFailed(f"{change.name} has been created by somebody else meanwhile. Nothing was changed.")
        became = "deleted" if present is None else "changed"
        raise ChangeFailed(
            f"{change.name} was {became} by somebody else after this edit was prepared. Nothing was changed. "
            "Read the file again, then edit it."
        )

    def _make_folders(self, folder: Path) -> None:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir()
            self.made_folders.append(each)

    def _put_new(self, temporary: Path, change: FileChange) -> None:
        """Give a new file its name, but never over a file that came into being in this instant."""
        try:
            self.disk.link(temporary, change.path)
        except FileExistsError:
            raise ChangeFailed(
                f"{change.name} has been created by somebody else meanwhile. Nothing was changed."
            ) from None
        except OSError:  # a file system without hard links
            self.disk.rename(temporary, change.path)
        else:
            self.disk.remove(temporary)

    def _second_name(self, path: Path) -> Path:
        second = _temporary_beside(path)
        try:
            self.disk.link(path, second)
        except OSError:  # a file system without hard links: a copy must do
            second.write_bytes(path.read_bytes())
        return second

    def _write_temporary(self, temporary: Path, change: FileChange, data: bytes) -> None:
        model = change.path if change.old is not None else change.like
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            self.disk.write(descriptor, data)
            if model is not None:
                _take_over(descriptor, model)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_writable(change: FileChange) -> None:
    # Renaming over a file needs no leave of the file itself, so its own word is asked for.
    if not change.path.stat().st_mode & 0o222 or not os.access(change.path, os.W_OK):
        raise ChangeFailed(
            f"{change.name} is read-only. Nothing was changed. To edit it, its permissions must be changed first."
        )


def _take_over(descriptor: int, model: Path) -> None:
    """Permissions, owner and extended attributes of another file, as far as we are allowed to."""
    status = model.stat()
    with contextlib.suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    for name, value in _attributes(model):
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, name, value)


def _attributes(path: Path) -> Iterator[tuple[str, bytes]]:
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(path):
                yield name, os.getxattr(path, name)


def _temporary_beside(path: Path) -> Path:
    return path.with_name(f".joey-{os.getpid()}-{next(_serial)}.tmp")


def _flush_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    return (error.strerror or str(error)).lower()
