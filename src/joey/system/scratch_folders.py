"""Folders for the time that a process lives, in the system's place for such things; gone with it, at the latest later.

Whoever has one holds a lock on it, which ends with the process however that ends. So what a killed process left behind
can be told from what is in use, and is removed when the next such folder is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_MIN_AGE = 60.0
"""One that was made this shortly ago may not be locked yet."""


@dataclass(slots=True, eq=False)
class ScratchFolder:
    """A folder that only this user can enter, until it is closed."""

    path: Path
    _lock: int

    @classmethod
    def make(cls, prefix: str) -> Self:
        sweep_scratch(prefix)
        path = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix)))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_SH)
        return cls(path, lock)

    def close(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(lock)


def sweep_scratch(prefix: str) -> None:
    """Remove such folders of this user's that nobody holds any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                status = os.fstat(folder)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _MIN_AGE:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)
