"""Temporary files and folders: none outlives its process for long, and none is mistaken for somebody else's.

The name of a file (`.joey-412-0-3f….tmp`) holds the number of the process, a serial number and a keyed hash of both and
of the folder: it proves that Joey made it, in this folder, for this user. The key lies with Joey's state and is made at
the first use. A file that only looks alike, whoever put it there, does not have the right hash, nor does a copy of a
real one in another folder. Links, folders and files of other users never count. Where the key cannot be kept, one is
made for this process alone, and what it leaves behind stays.

Whoever has a scratch folder holds a lock on it, which ends with the process however that ends. So what a killed process
left behind can be told from what is in use, and is removed when the next such folder is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Self

from joey.bounded.folders import Place, names_in
from joey.system.folders import make_private, state_folder

_NAME = re.compile(r"\.joey-(\d{1,10})-(\d{1,10})-([0-9a-f]{16})\.tmp")
_KEY_FILE, _KEY_SIZE = "temporaries.key", 32
_serial = count()


def temporary_beside(place: Place) -> Place:
    """A place in the same folder for a file that will not stay."""
    process, serial = os.getpid(), next(_serial)
    return place.beside(f".joey-{process}-{serial}-{_proof(place.folder, process, serial)}.tmp")


def is_left_over(place: Place) -> bool:
    """Whether this is a temporary file of ours whose process is gone."""
    name = _NAME.fullmatch(place.name)
    if name is None or not secrets.compare_digest(name[3], _proof(place.folder, int(name[1]), int(name[2]))):
        return False
    status = place.status()
    own = os.geteuid() in (status.st_uid, 0)
    return own and stat.S_ISREG(status.st_mode) and not _is_alive(int(name[1]))


def is_temporary(name: str) -> bool:
    """Whether a name is one that temporary files have."""
    return _NAME.fullmatch(name) is not None


def sweep(folder: int) -> None:
    """Remove temporary files in this open folder that processes now gone left behind."""
    with contextlib.suppress(OSError):
        for name in names_in(folder):
            remove_left_over(Place(folder, name))


def remove_left_over(place: Place) -> None:
    """Remove a temporary file if its process is gone. Raises OSError."""
    if is_left_over(place):
        place.unlink()


def _proof(folder: int, process: int, serial: int) -> str:
    where = os.fstat(folder)
    text = f"{where.st_dev} {where.st_ino} {process} {serial}"
    return hashlib.blake2b(text.encode(), key=_key(state_folder()), digest_size=8).hexdigest()


@cache
def _key(folder: Path) -> bytes:
    """The user's key. It is put in place whole, so that two processes that begin at once read the same one."""
    file, new = folder / _KEY_FILE, folder / f"{_KEY_FILE}.{secrets.token_hex(8)}"
    with contextlib.suppress(OSError):
        if not file.exists():
            make_private(folder)
            new.touch(0o600, exist_ok=False)
            new.write_bytes(secrets.token_bytes(_KEY_SIZE))
            with contextlib.suppress(FileExistsError):
                os.link(new, file)
            new.unlink()
        key = file.read_bytes()
        if len(key) == _KEY_SIZE:
            return key
    return secrets.token_bytes(_KEY_SIZE)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


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
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                status = os.fstat(folder)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _MIN_AGE:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)
