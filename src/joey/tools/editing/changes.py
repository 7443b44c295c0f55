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
single file whole, old or new; temporary files it leaves behind have names that prove where they come from
(`joey.system.temporaries`) and are swept by the next commit to the same folder once that process is gone.

Links: a path that is a symbolic link is resolved when the change is planned, and what is at the end of it is judged
and written; the link stays. From then on no link is followed: each folder is opened from the root down by descriptor,
held open, and worked in, so a folder or file that became a link after the plan was judged ends in ChangeFailed. A file
with several hard links becomes a file of its own. Not handled: two writers that both check within the same instant; the
later rename wins, whole. And machines that share a folder over a network: one may sweep what another is writing, whose
commit then fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joey.bounded.files import NotRegularError, read_resolved, take_over
from joey.bounded.folders import LinkInPathError, Place, flush_folder, is_still, open_folder
from joey.errors import JoeyError
from joey.system.filenames import quoted
from joey.system.temporaries import sweep, temporary_beside

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BECAME_A_LINK = (
    "{} leads somewhere else than when this change was prepared: a folder or a link on its path was replaced. "
    "Nothing was changed. Check the path, then make the change again."
)
MAX_FILE = 16 * 1024 * 1024
"""Larger files are not edited here: the text, its lines and the difference would fill the memory."""


class Disk:
    """What a commit asks of the operating system once it writes. Tests put one in its place that is full or breaks."""

    def write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def holds(self, change: FileChange, data: bytes | None) -> bytes | None:
        """What a file holds, of which this is on the disk."""
        return data

    def put(self, temporary: Place, place: Place, change: FileChange) -> None:
        """Give a file its new content, which is written to a temporary one. A new one never takes the place of a file
        that came into being in this instant. Raises FileExistsError."""
        if change.old is not None:
            self.rename(temporary, place)
            return
        try:
            self.link(temporary, place)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            self.rename(temporary, place)
        else:
            self.remove(temporary)

    def rename(self, source: Place, target: Place) -> None:
        source.rename(target)

    def link(self, source: Place, target: Place) -> None:
        source.link(target)

    def remove(self, place: Place) -> None:
        place.unlink()


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


def read_present(path: Path, name: str, *, as_link: bool = False) -> bytes | None:
    """The bytes of a regular file, None if there is no such file. Anything else cannot be edited. No link is
    followed, since the path is resolved; with `as_link` one at its end is, for where the link itself is to go."""
    try:
        return read_resolved(Path(os.path.realpath(path)) if as_link else path, MAX_FILE)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ChangeFailed(f"{quoted(name)} is a folder, not a file.") from None
    except NotRegularError:
        raise ChangeFailed(f"{quoted(name)} is not a regular file.") from None
    except LinkInPathError:
        raise ChangeFailed(_BECAME_A_LINK.format(quoted(name))) from None
    except NotADirectoryError:
        raise ChangeFailed(f"{quoted(name)} cannot be a file: a part of its path is a file, not a folder.") from None
    except OSError as error:
        raise ChangeFailed(f"{quoted(name)} cannot be read: {_reason(error)}.") from None


def commit(changes: Sequence[FileChange], *, disk: Disk | None = None) -> None:
    """Make all the changes, or raise ChangeFailed and leave everything as it was."""
    changes = [change for change in changes if not change.is_void]
    with contextlib.ExitStack() as opened:
        work = _Commit(changes, disk or Disk(), opened)
        try:
            work.check()
            work.stage()
            work.check()
            work.swap()
        except LinkInPathError:
            work.undo()
            raise ChangeFailed(_BECAME_A_LINK.format(quoted(work.at.name))) from None
        except OSError as error:
            work.undo()
            words = f"{quoted(work.at.name)} could not be written: {_reason(error)}. Nothing was changed."
            raise ChangeFailed(words) from None
        except BaseException:
            work.undo()
            raise
        work.settle()


@dataclass(slots=True)
class _Commit:
    changes: Sequence[FileChange]
    disk: Disk
    opened: contextlib.ExitStack
    """Closes the folders when all is done."""
    folders: dict[Path, int] = field(default_factory=dict)
    """The folders of the files, each held open from the first look at it to the end."""
    made_folders: list[Place] = field(default_factory=list)
    staged: dict[Path, Place] = field(default_factory=dict)
    """Target to temporary file with its new content."""
    saved: dict[Path, Place | None] = field(default_factory=dict)
    """Swapped targets to the second name of the old file; None if there was no old file."""
    at: FileChange = field(init=False)
    """The change in hand, for messages."""

    def check(self) -> None:
        for change in self.changes:
            self.at = change
            self._check_folder(change)
            self._check_unchanged(change)
            if change.old is not None and change.new is not None:
                _check_writable(change, self._place(change.path))

    def stage(self) -> None:
        for folder in self.folders.values():
            sweep(folder)
        for change in self.changes:
            self.at = change
            if change.new is not None:
                self._make_folders(change.path.parent)
                place = self._place(change.path)
                self.staged[change.path] = temporary = temporary_beside(place)
                self._write_temporary(temporary, change, change.new)

    def swap(self) -> None:
        # Files to be written first, so that a deletion never comes before the file that replaces it.
        for change in sorted(self.changes, key=lambda change: change.new is None):
            self.at, path = change, change.path
            place = self._place(path)
            if change.old is None:
                self.saved[path] = None
            elif len(self.changes) > 1:
                self.saved[path] = self._second_name(place)
            if change.new is None:
                self.disk.remove(place)
            else:
                self._put(self.staged[path], place, change)
            self.staged.pop(path, None)

    def settle(self) -> None:
        for second in self.saved.values():
            if second is not None:
                with contextlib.suppress(OSError):
                    second.unlink()
        for folder in self.folders.values():
            flush_folder(folder)

    def undo(self) -> None:
        for path, second in reversed(self.saved.items()):
            with contextlib.suppress(OSError):
                if second is not None:
                    second.rename(self._place(path))
                    # Renaming one name of a file over another of the same file leaves both.
                    with contextlib.suppress(FileNotFoundError):
                        second.unlink()
                elif path not in self.staged:
                    self._place(path).unlink()
        for temporary in self.staged.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
        for folder in reversed(self.made_folders):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _place(self, path: Path) -> Place:
        return Place(self.folders[path.parent], path.name)

    def _check_folder(self, change: FileChange) -> None:
        """Open the folder of a file, if there is one; if it is open already, it must still be where it was."""
        folder = change.path.parent
        if folder not in self.folders:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._keep_open(folder, open_folder(folder))
        elif not is_still(folder, self.folders[folder]):
            raise ChangeFailed(_BECAME_A_LINK.format(quoted(change.name)))

    def _check_unchanged(self, change: FileChange) -> None:
        present = self.disk.holds(change, self._present(change))
        if present == change.old:
            return
        name = quoted(change.name)
        if change.old is None:
            raise ChangeFailed(f"{name} has been created by somebody else meanwhile. Nothing was changed.")
        became = "deleted" if present is None else "changed"
        raise ChangeFailed(
            f"{name} was {became} by somebody else after this edit was prepared. Nothing was changed. "
            "Read the file again, then edit it."
        )

    def _present(self, change: FileChange) -> bytes | None:
        """What the file holds now. Where the entry itself is to go, it may be a link, and what it leads to counts."""
        if change.path.parent not in self.folders or change.new is None:
            return read_present(change.path, change.name, as_link=change.new is None)
        place = self._place(change.path)
        try:
            with place.reading() as file:  # fails for a link
                is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                return file.read() if is_file else read_present(change.path, change.name)
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise ChangeFailed(f"{quoted(change.name)} is a folder, not a file.") from None

    def _make_folders(self, folder: Path) -> None:
        if folder not in self.folders:
            self._keep_open(folder, open_folder(folder, self._made))

    def _made(self, folder: Place) -> None:
        self.opened.callback(os.close, folder.folder)
        self.made_folders.append(folder)

    def _keep_open(self, folder: Path, descriptor: int) -> None:
        self.opened.callback(os.close, descriptor)
        self.folders[folder] = descriptor

    def _put(self, temporary: Place, place: Place, change: FileChange) -> None:
        try:
            self.disk.put(temporary, place, change)
        except FileExistsError:
            raise ChangeFailed(
                f"{quoted(change.name)} has been created by somebody else meanwhile. Nothing was changed."
            ) from None

    def _second_name(self, place: Place) -> Place:
        second = temporary_beside(place)
        try:
            self.disk.link(place, second)
        except OSError:  # a file system without hard links: a copy must do
            with place.reading() as old, os.fdopen(second.open(_NEW), "wb") as copy:
                copy.write(old.read())
        return second

    def _write_temporary(self, temporary: Place, change: FileChange, data: bytes) -> None:
        descriptor = temporary.open(_NEW)
        try:
            self.disk.write(descriptor, data)
            if change.old is not None:
                with self._place(change.path).reading() as model:
                    take_over(descriptor, model.fileno())
            elif change.like is not None:
                take_over(descriptor, change.like)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_writable(change: FileChange, place: Place) -> None:
    # Renaming over a file needs no permission of the file itself, so its own are looked at.
    if not place.status().st_mode & 0o222 or not os.access(place.name, os.W_OK, dir_fd=place.folder):
        raise ChangeFailed(
            f"{quoted(change.name)} is read-only. Nothing was changed. "
            "To edit it, its permissions must be changed first."
        )


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]
