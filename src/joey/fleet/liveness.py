"""Which workers are dead: those whose lock can be had.

Each worker holds a lock as long as it lives, and the system releases it with the process, however that ended. With
SQLite it is the lock of a file: the kernel releases it. With PostgreSQL it is an advisory lock of a connection: the
server releases it when the connection ends, and the server's keepalives end one whose machine is gone or cut off.

    whoever gets the lock of another worker ──► that one is dead ──► its tasks go back into the queue, under the lock

A worker whose own connection broke takes its lock again. Meanwhile others may have done the above; then its lock may be
free, but it is not listed any more, and it must stop. After a restart of the server every lock is free for a moment, so
nobody who has just connected takes anybody for dead (`GRACE`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psycopg
import sqlalchemy as sa

from joey.fleet.database import Database
from joey.system.folders import make_private

GRACE = 6.0
"""Seconds after connecting in which nobody is taken for dead: longer than others need to connect again."""
_KEEPALIVES = {
    "tcp_keepalives_idle": 3, "tcp_keepalives_interval": 1, "tcp_keepalives_count": 3, "tcp_user_timeout": 6000
}  # fmt: skip
"""The server's, in seconds and milliseconds: a machine that is cut off is noticed after six seconds. The usual would be
two hours. The last is for an answer that was on its way, during which no keepalives are sent."""


class Locks(Protocol):
    """One's own lock, and those of others."""

    def hold(self) -> bool:
        """Hold one's own lock, again if it was lost. False: it is not held, try again later."""
        ...

    def may_judge(self) -> bool:
        """Whether a lock that is free means that its worker is dead."""
        ...

    @contextmanager
    def taken(self, worker: str) -> Iterator[bool]:
        """The lock of another worker, if it can be had: then that worker is dead as long as this is open."""
        yield False

    def close(self) -> None: ...


def locks_of(database: Database, worker: str) -> Locks:
    if database.is_sqlite:
        return FileLocks(database.folder / "workers", worker)
    return ServerLocks(database.url, worker)


class FileLocks:
    """A locked file for each worker of this machine."""

    def __init__(self, folder: Path, worker: str) -> None:
        make_private(folder)
        self._folder = folder
        self._worker = worker
        self._file: int | None = None

    def hold(self) -> bool:
        if self._file is None:
            self._file = _locked_file(self._folder / worker_file(self._worker))
        return self._file is not None

    def may_judge(self) -> bool:
        return True

    @contextmanager
    def taken(self, worker: str) -> Iterator[bool]:
        path = self._folder / worker_file(worker)
        file = _locked_file(path)
        try:
            yield file is not None
        finally:
            if file is not None:
                path.unlink(missing_ok=True)
                os.close(file)

    def close(self) -> None:
        if self._file is not None:
            (self._folder / worker_file(self._worker)).unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


def worker_file(worker: str) -> str:
    return f"{worker}.lock"


def _locked_file(path: Path) -> int | None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


class ServerLocks:
    """Advisory locks of a connection of its own."""

    def __init__(self, url: str, worker: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._address = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._key = _key(worker)
        self._clock = clock
        self._connection: psycopg.Connection[tuple[bool]] | None = None
        self._since = 0.0
        self._held = False

    def hold(self) -> bool:
        try:
            if self._connection is None:
                self._connect()
            self._held = (self._held and self._ask("SELECT true")) or self._try(self._key)
        except psycopg.Error:
            self._drop()
        return self._held

    def may_judge(self) -> bool:
        return self._held and self._clock() - self._since >= GRACE

    @contextmanager
    def taken(self, worker: str) -> Iterator[bool]:
        key = _key(worker)
        try:
            got = self._try(key)
        except psycopg.Error:
            self._drop()
            got = False
        try:
            yield got
        finally:
            if got:
                with suppress(psycopg.Error):
                    self._ask("SELECT pg_advisory_unlock(%s)", key)

    def close(self) -> None:
        self._drop()

    def _connect(self) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in _KEEPALIVES.items())
        self._connection = psycopg.connect(
            self._address, autocommit=True, connect_timeout=5, options=options, application_name="joey worker",
            keepalives_idle=3, keepalives_interval=1, keepalives_count=3, tcp_user_timeout=6000,
        )  # fmt: skip
        self._since = self._clock()
        self._held = False

    def _try(self, key: int) -> bool:
        return self._ask("SELECT pg_try_advisory_lock(%s)", key)

    def _ask(self, query: str, *values: int) -> bool:
        if self._connection is None:
            raise psycopg.OperationalError("not connected")
        row = self._connection.execute(query, values).fetchone()
        return bool(row and row[0])

    def _drop(self) -> None:
        connection, self._connection, self._held = self._connection, None, False
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


def _key(worker: str) -> int:
    return int.from_bytes(hashlib.sha256(f"joey worker {worker}".encode()).digest()[:8], "big", signed=True)
