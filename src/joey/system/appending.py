"""Adding to the end of a file: all of it or nothing, also where the disk fills up in the middle.

A write that finds no more room writes as much as there is room for. What would be added next would then be glued to
half a line. So the file is cut back to where it ended before; and if not even that works, whatever is added next begins
on a line of its own.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from joey.system.folders import make_private, private_file

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND


def append_whole(file: int, data: bytes) -> None:
    """Add bytes to an open file of which nobody else changes the end. Raises OSError; then nothing was added."""
    size = os.fstat(file).st_size
    try:
        write_all(file, data)
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise


def append_lines(file: int, lines: bytes) -> None:
    """The same for whole lines, in a file open for reading, too: what an earlier failure left there is ended first."""
    size = os.fstat(file).st_size
    torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    append_whole(file, b"\n" + lines if torn else lines)


def add_lines(path: Path, lines: bytes) -> None:
    """Add lines to a file of the user's, which is made if it is missing. Several processes may do so at once."""
    make_private(path.parent)
    file = private_file(str(path), _APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        append_lines(file, lines)
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    """Write at the present position, in as many pieces as it takes. Raises OSError, with some of it written."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
