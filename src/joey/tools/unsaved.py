"""Files as an editor has them open, with changes that are not on the disk yet.

Where a front end offers this and the user wants it, a file is read as the editor has it, an edit starts from that, and
what it writes goes through the editor. The policy has judged the path by then, as it does for the disk.

What the editor has counts, with three exceptions, for which the disk does:

- the file is not plain UTF-8: editors hand out text, and nothing says how they would write it;
- the file changed on the disk since something ran that may change files (a command, a server, a subtask), other than
  by our own writing: the buffer may be older than that change;
- the editor does not answer, or has no such file.

Line ends are the file's own: editors hand out `\\n` for files that have `\\r\\n`, and take either.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TypeAlias

from joey.bounded.files import read_resolved
from joey.bounded.folders import Place
from joey.tools.base import EditorFiles, ToolContext
from joey.tools.editing.changes import MAX_FILE, Disk, FileChange
from joey.tools.textfile import NotTextError, TextFile, read_text

_Stamp: TypeAlias = tuple[int, int, int]


class BufferTracking:
    """What a task remembers of files that an editor has open."""

    def __init__(self) -> None:
        self.foreign_since: float | None = None
        """When something first ran that may change files behind the editor's back."""
        self.written: dict[Path, _Stamp] = {}
        """Files as they were on the disk after we had them written."""

    def note_foreign(self) -> None:
        self.foreign_since = self.foreign_since or time.time()

    def is_newer_on_disk(self, path: Path) -> bool:
        if self.foreign_since is None:
            return False
        status = path.stat()
        return self.written.get(path) != _stamp(status) and status.st_mtime >= self.foreign_since


def unsaved(context: ToolContext, path: Path, on_disk: bytes) -> bytes | None:
    """What the editor has of a file in place of its bytes on the disk; None where these count."""
    if context.editor is None:
        return None
    try:
        file = read_text(on_disk)
        if not file.is_plain or context.memory[BufferTracking].is_newer_on_disk(path):
            return None
    except (NotTextError, OSError):
        return None
    text = context.editor.read(path)
    if text is None or "\0" in text or len(text) > MAX_FILE:
        return None
    data = _with_ends_of(file, text)
    return None if data == on_disk else data


def as_open(context: ToolContext, path: Path, on_disk: bytes | None) -> bytes | None:
    """What a file holds: in the editor, where that counts, else on the disk; None if there is none."""
    found = None if on_disk is None else unsaved(context, path, on_disk)
    return on_disk if found is None else found


def unsaved_now(context: ToolContext, path: Path) -> bytes | None:
    """The same for a file that was not read yet."""
    try:
        return unsaved(context, path, read_resolved(path, MAX_FILE)) if context.editor else None
    except OSError:
        return None


def _with_ends_of(file: TextFile, text: str) -> bytes:
    if "\r\n" in file.text and "\n" not in file.text.replace("\r\n", ""):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return text.encode("utf-8", "replace")


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


class EditorDisk(Disk):
    """A disk whose files an editor may have open: what they hold is what the editor has, and it writes them."""

    def __init__(self, context: ToolContext, editor: EditorFiles) -> None:
        self._context, self._editor = context, editor

    def holds(self, change: FileChange, data: bytes | None) -> bytes | None:
        return as_open(self._context, change.path, data)

    def put(self, temporary: Place, place: Place, change: FileChange) -> None:
        if not self._takes(change):
            super().put(temporary, place, change)
            return
        assert change.new is not None
        before = None if change.old is None else _stamp(place.status())
        self._editor.write(change.path, change.new.decode("utf-8"))
        after = _stamp(place.status())
        if after == before:
            raise OSError("the editor did not save it")
        self._context.memory[BufferTracking].written[change.path] = after
        self.remove(temporary)

    def _takes(self, change: FileChange) -> bool:
        """Whether the editor can write this."""
        sides = [each for each in (change.old, change.new) if each is not None]
        try:
            plain = all(read_text(each).is_plain for each in sides)
            tracking = self._context.memory[BufferTracking]
            return plain and not (change.old is not None and tracking.is_newer_on_disk(change.path))
        except (NotTextError, OSError):
            return False


def disk_of(context: ToolContext) -> Disk:
    """Where an edit is written."""
    return EditorDisk(context, context.editor) if context.editor else Disk()
