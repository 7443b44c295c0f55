"""Writing files of the user's: all of it or nothing, also where the disk fills up in the middle.

A file is replaced by one that was written beside it. Adding to the end of a file is harder: a write that finds no more
room writes as much as there is room for, and what would be added next would be glued to half a line. So the file is cut
back to where it ended before; and if not even that works, whatever is added next begins on a line of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats.json import read_json
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


def replace_text(path: Path, text: str) -> None:
    """Put a text in place of a file, which is made with the folders above it if it is missing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def replace_object(path: Path, value: Mapping[str, Any]) -> None:
    """The same for a JSON object that `read_object` reads."""
    replace_text(path, json.dumps(value, indent=2) + "\n")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that Joey wrote; an empty one where there is none, or it cannot be read."""
    try:
        data = read_json(read_regular_text(path))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
