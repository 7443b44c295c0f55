"""Contents by their hash, in one growing file.

    contents.pack    the compressed contents, one after the other
    contents.index   a line for each: hash, offset, length

One file instead of one per content: the first checkpoint of a large workspace is then one long write. A content is
named in the index only after it is on the disk, so that whatever the index names can be read. The same content is
kept once, however many files and checkpoints have it. A torn end (the machine died while writing) is never pointed to.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from joey.errors import JoeyError
from joey.system.folders import make_private
from joey.system.user_files import add_lines, append_whole

_AT_ONCE = 1 << 20
"""Bytes that are written together."""


class ContentPack:
    """The contents of one task. Adds until `limit` bytes are used."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._pack, self._index = folder / "contents.pack", folder / "contents.index"
        self._limit = limit
        self.size = self._pack.stat().st_size if self._pack.is_file() else 0
        self._places = dict(_read_index(self._index, self.size))
        self._file = -1
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._lines: list[str] = []

    def add(self, data: bytes) -> str | None:
        """Keep a content. Its hash, or None when there is no room. It is kept for good after `flush`."""
        name = content_hash(data)
        if name in self._places:
            return name
        packed = zlib.compress(data, 1)
        if self.size + len(packed) > self._limit:
            return None
        self._waiting.append(packed)
        self._waiting_bytes += len(packed)
        if self._waiting_bytes > _AT_ONCE:
            self._write_out()
        self._places[name] = (self.size, len(packed))
        self._lines.append(f"{name} {self.size} {len(packed)}\n")
        self.size += len(packed)
        return name

    def _write_out(self) -> None:
        if not self._waiting:
            return
        try:
            if self._file < 0:
                self._file = _open(self._pack)
            append_whole(self._file, b"".join(self._waiting))
        except OSError:
            self._forget_what_is_not_on_the_disk()
            raise
        self._waiting, self._waiting_bytes = [], 0

    def flush(self) -> None:
        """Wait until what was added is on the disk, then name it in the index."""
        self._write_out()
        self._close(sync=True)
        if self._lines:
            add_lines(self._index, "".join(self._lines).encode("ascii"))
            self._lines = []

    def _close(self, *, sync: bool) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            try:
                if sync:
                    os.fdatasync(file)
            finally:
                os.close(file)

    def _forget_what_is_not_on_the_disk(self) -> None:
        self._close(sync=False)
        self._waiting, self._waiting_bytes = [], 0
        self.size = self._pack.stat().st_size if self._pack.is_file() else 0
        self._places = {name: place for name, place in self._places.items() if sum(place) <= self.size}
        self._lines = [line for line in self._lines if line.split()[0] in self._places]

    def read(self, name: str) -> bytes:
        place = self._places.get(name)
        if place is None:
            raise JoeyError(f"{self._pack} does not hold the content {name}; the checkpoint was not written whole")
        self._write_out()
        with self._pack.open("rb") as file:
            file.seek(place[0])
            data = zlib.decompress(file.read(place[1]))
        if content_hash(data) != name:
            raise JoeyError(f"{self._pack} is damaged: the content {name} is not what was kept")
        return data


def content_hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def _open(path: Path) -> int:
    make_private(path.parent)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _read_index(path: Path, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    if not path.is_file():
        return
    for line in path.read_text(encoding="ascii", errors="replace").splitlines(keepends=True):
        parts = line.split()
        if not line.endswith("\n") or len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
            continue
        offset, length = int(parts[1]), int(parts[2])
        if offset + length <= size:
            yield parts[0], (offset, length)
