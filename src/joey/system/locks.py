"""Who holds the lock of a file, where the system says so (Linux): the process, and its terminal."""

from __future__ import annotations

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")


def lock_holder(file: int, locks: Path = _LOCKS) -> str:
    """The process that holds the lock (flock) of an open file, in words; empty if nothing says so."""
    inode = str(os.fstat(file).st_ino)
    try:
        lines = [line.split() for line in locks.read_text().splitlines()]
    except OSError:
        return ""
    # 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF; a lock that is waited for has an arrow there.
    for _, kind, _, _, pid, place, *_ in (line for line in lines if len(line) >= 6):
        if kind == "FLOCK" and place.rpartition(":")[2] == inode and int(pid) > 0:
            return f"process {pid}{_terminal_of(pid)}"
    return ""


def _terminal_of(pid: str) -> str:
    try:
        name = str(Path(f"/proc/{pid}/fd/0").readlink())
    except OSError:
        return ""
    return f" on {name}" if name.startswith(("/dev/pts/", "/dev/tty")) else ""
