"""Which version of each file the model knows: the one it last read or wrote.

Kept in the memory of the task, so that a tool that overwrites can report that somebody else changed the file in
between. The task records what is new with the result of each call, so that this holds after it was resumed, too. A
version is a digest of the whole file: times lie, and sizes stay the same.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from joey.tools.base import ToolContext

_PIECE = 1024 * 1024


class SeenFiles:
    """The version of each file, by its absolute, resolved path."""

    def __init__(self) -> None:
        self._versions: dict[Path, str] = {}
        self._new: dict[Path, str | None] = {}

    def get(self, path: Path) -> str | None:
        return self._versions.get(path)

    def note(self, path: Path, version: str | None) -> None:
        """The model now knows this version of a file (None: that it is gone)."""
        self.restore(path, version)
        self._new[path] = version

    def restore(self, path: Path, version: str | None) -> None:
        """The same, for a version that is recorded already."""
        if version is None:
            self._versions.pop(path, None)
        else:
            self._versions[path] = version

    def take_new(self) -> dict[Path, str | None]:
        """What was noted since the last time."""
        new, self._new = self._new, {}
        return new


def digest(data: bytes) -> str:
    """The version of a file with this content."""
    return blake2b(data, digest_size=16).hexdigest()


def digest_of(descriptor: int) -> str:
    """The version of an open file, read piece by piece."""
    version, at = blake2b(digest_size=16), 0
    while piece := os.pread(descriptor, _PIECE, at):
        version.update(piece)
        at += len(piece)
    return version.hexdigest()


def note_seen_version(context: ToolContext, path: Path, version: str) -> None:
    """The model now knows this version of the file."""
    context.memory[SeenFiles].note(path, version)


def note_seen(context: ToolContext, path: Path, data: bytes | None) -> None:
    """The model now knows this content of the file (None: that it is gone). The path is absolute and resolved."""
    context.memory[SeenFiles].note(path, None if data is None else digest(data))


def changed_since_seen(context: ToolContext, path: Path, data: bytes) -> bool:
    """Whether the model knows another version of this file than the one with this content."""
    known = context.memory[SeenFiles].get(path)
    return known is not None and known != digest(data)


def was_seen(context: ToolContext, path: Path) -> bool:
    """Whether the model knows any version of this file."""
    return context.memory[SeenFiles].get(path) is not None
