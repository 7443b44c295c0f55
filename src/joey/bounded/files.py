"""Files that somebody else may have put there, read without hanging and without filling the memory.

A repository chooses what `AGENTS.md` or `.roomodes` is: a pipe that nobody writes to, a device that never ends, a link
to an entry of /proc whose size is 0 and whose content is not. Every file of a workspace is therefore read here: only a
regular file, opened so that opening cannot block, checked on the descriptor (what was opened, not what the path named a
moment before), and read piece by piece up to a limit whatever size it claims.

A path that was resolved and then judged is read by `open_resolved` or `read_resolved`: what is opened is that very
path, and a link that was put on it since is not followed (`joey.bounded.folders`). Everything that a model is shown is
read so.

What cannot be read is an OSError with words in `strerror`, so that callers report it as they report any other.

A file that is replaced by a new one gets what it is besides its bytes and its permissions (owner, extended attributes)
from the old one, as far as we may give them; its other names (hard links) go on leading to the old one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from joey.bounded.folders import place_of

MAX_CONFIG = 512 * 1024
"""Bytes of a file that people write for Joey: settings, modes, servers, rules."""
_PIECE = 1024 * 1024
_FOR_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotRegularError(OSError):
    """It is there, and it is no file with a content of its own."""


class FileTooLargeError(OSError):
    """It has more bytes than are read."""


def read_regular(path: Path | str, limit: int = MAX_CONFIG) -> bytes:
    """The bytes of a regular file. Raises OSError: FileTooLargeError beyond the limit, NotRegularError for the rest."""
    with open_regular(path) as descriptor:
        return _whole(descriptor, path, limit)


def read_resolved(path: Path, limit: int = MAX_CONFIG) -> bytes:
    """The same for a resolved path; no link is followed. Raises LinkInPathError besides, where one is on the path."""
    with open_resolved(path) as descriptor:
        return _whole(descriptor, path, limit)


def size_of(path: Path) -> int:
    """In bytes; 0 where there is no such file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_start(path: Path, length: int) -> bytes:
    """The first bytes of a regular file, however long it is, given by its resolved path."""
    with open_resolved(path) as descriptor:
        pieces, size = [], 0
        while size < length and (piece := os.read(descriptor, min(_PIECE, length - size))):
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def read_regular_text(path: Path | str, limit: int = MAX_CONFIG) -> str:
    """The text of a UTF-8 file, line ends as in Python. Raises UnicodeDecodeError besides."""
    return plain_text(read_regular(path, limit))


def plain_text(data: bytes) -> str:
    """The text in the bytes of a UTF-8 file, line ends as in Python. Raises UnicodeDecodeError."""
    text = data.decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def open_regular(path: Path | str) -> Iterator[int]:
    """A descriptor of a regular file, for reading."""
    _check(path, os.stat(path))  # noqa: PTH116 - before it is opened: opening some devices already does something
    descriptor = os.open(path, _FOR_READING)
    try:
        _check(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_resolved(path: Path) -> Iterator[int]:
    """A descriptor of a regular file, for reading, given by its resolved path; no link is followed on the way there.

    Raises LinkInPathError where there is a link now, besides what `open_regular` raises.
    """
    with place_of(path) as place:
        status = place.status()
        if not stat.S_ISLNK(status.st_mode):
            _check(path, status)
        descriptor = place.open(_FOR_READING)
    try:
        _check(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _whole(descriptor: int, path: Path | str, limit: int) -> bytes:
    if os.fstat(descriptor).st_size > limit:
        raise _too_large(path, limit)
    pieces, size = [], 0
    while piece := os.read(descriptor, min(_PIECE, limit + 1 - size)):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(path, limit)
    return b"".join(pieces)


def _check(path: Path | str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
        raise NotRegularError(errno.EINVAL, f"it is {kind}, not a regular file; put a file in its place", str(path))


def _too_large(path: Path | str, limit: int) -> FileTooLargeError:
    size = f"{limit / 1024**2:g} MB" if limit >= 1024**2 else f"{limit / 1024:g} KB"
    words = f"it is larger than {size}, the most that is read; make it smaller"
    return FileTooLargeError(errno.EFBIG, words, str(path))


_KEPT_BY_THE_SYSTEM = ("security.", "trusted.")


def take_over(descriptor: int, model: Path | int) -> None:
    """Give an open file the permissions, owner and extended attributes of another, as far as we are allowed to."""
    take_over_extras(descriptor, model)
    os.fchmod(descriptor, stat.S_IMODE(os.stat(model).st_mode))  # noqa: PTH116 - a descriptor or a path


def take_over_extras(descriptor: int, model: Path | int) -> None:
    """The same without the permissions, which a change of owner may take away: they are set after this."""
    status = os.stat(model)  # noqa: PTH116 - a descriptor or a path
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    for name, value in _attributes(model):
        with suppress(OSError):
            os.setxattr(descriptor, name, value)


def extras_of(path: str | int, status: os.stat_result) -> str:
    """What a new file in its place would not have, in words; empty for most files."""
    parts = [f"owner {status.st_uid}:{status.st_gid}"] * (status.st_uid != os.geteuid())
    parts += [f"{status.st_nlink} hard links"] * (status.st_nlink > 1)
    parts += [f"attribute {name}" for name in sorted(_names(path)) if not name.startswith(_KEPT_BY_THE_SYSTEM)]
    return ", ".join(parts)


def _attributes(model: Path | int) -> Iterator[tuple[str, bytes]]:
    with suppress(OSError):
        for name in _names(model):
            yield name, os.getxattr(model, name)


def _names(model: Path | str | int) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(model)
    except OSError:
        return []
