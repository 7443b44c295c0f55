"""One append-only file per task: JSON lines, the first of which names the format.

    {"format": "joey-journal", "version": 1}
    {"type": "task_opened", …, "at": 1767225600.0}

A record is handed to the operating system in one write before `append` returns, so a killed process loses nothing that
was appended; `sync` makes it survive a power cut too, and is called before anything irreversible. Appending never
reads, so it costs the same at turn 1,000 as at turn 1.

A write that the disk has no room for is taken back, so that the next record does not continue half a line.
A torn last line (the machine died while it was being written) was never acted upon: it is cut off when the journal is
opened for writing, and skipped when it is read. A line elsewhere that cannot be read is an error that names it.

One writer at a time: the file is locked, so that a task cannot be resumed twice at once. A process that was killed
while it started a command leaves its lock to that command's process until the command itself begins, a moment later;
so whoever finds the file locked waits a little before giving up.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from joey.errors import JoeyError, WireError
from joey.journal.records import RECORDS, VERSION, Record
from joey.sendable import sendable
from joey.system.appending import append_lines, append_whole
from joey.system.folders import make_private
from joey.wire import encode

FORMAT = "joey-journal"
_MAY_HOLD_HALVES = re.compile(rb"\\u[dD]|\xed")
_HEADER = json.dumps({"format": FORMAT, "version": VERSION}) + "\n"


class JournalError(JoeyError):
    """A journal cannot be read or written."""


class Journal:
    """The open journal of a running task. One that nobody has any more is closed, and its lock released with it."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time, timeout: float = 5.0) -> None:
        self.path = path
        self._timeout = timeout
        self._clock = clock
        self._file = self._open()
        self._close = weakref.finalize(self, os.close, self._file)

    def append(self, record: Record) -> Record:
        """Write a record; returns it as it was written, with nothing in it that cannot be sent."""
        record = sendable(record)
        line = json.dumps({**encode(record), "at": round(self._clock(), 3)}, separators=(",", ":")) + "\n"
        self._write(line.encode("utf-8"))
        return record

    def sync(self) -> None:
        """Wait until what was appended is on the disk itself."""
        try:
            os.fdatasync(self._file)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        self._file = -1
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self) -> int:
        make_private(self.path.parent)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if not _locked(file, self._timeout):
            os.close(file)
            raise JournalError(f"this task is open elsewhere ({self.path}); close it there first")
        if not _leads_to(self.path, file):
            os.close(file)
            raise JournalError(f"this task was deleted ({self.path})")
        try:
            _begin(file, os.fstat(file).st_size)
        except OSError as error:
            os.close(file)
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error
        return file

    def _write(self, data: bytes) -> None:
        try:
            append_lines(self._file, data)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error


def _locked(file: int, timeout: float) -> bool:
    """Whether the lock could be had within so many seconds."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _leads_to(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _begin(file: int, size: int) -> None:
    if size == 0:
        append_whole(file, _HEADER.encode())
    else:
        _cut_torn_line(file, size)


@contextmanager
def held(path: Path, timeout: float = 1.0) -> Iterator[None]:
    """Hold the lock of a journal without changing it, whatever is in it. Raises JournalError if its task runs."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not _locked(file, timeout):
            raise JournalError(f"this task is open elsewhere ({path}); close it there first")
        yield
    finally:
        os.close(file)


def _cut_torn_line(file: int, size: int) -> None:
    """Cut off what follows the last newline."""
    end = size
    while end > 0:
        start = max(0, end - 65536)
        block = os.pread(file, end - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            keep = start + newline + 1
            if keep < size:
                os.ftruncate(file, keep)
            return
        end = start
    os.ftruncate(file, 0)
    append_whole(file, _HEADER.encode())


def read_journal(path: Path) -> Iterator[Record]:
    """The records of a journal, in order. A torn last line is left out."""
    for _at, record in read_timed(path):
        yield record


def read_timed(path: Path) -> Iterator[tuple[float, Record]]:
    """The records with the time at which each was written."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return
                data = _loads(path, number, line)
                if number == 1:
                    _check_header(path, data)
                else:
                    yield _record(path, number, data)
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def _loads(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line)
        if _MAY_HOLD_HALVES.search(line):
            data = sendable(data)
    except ValueError as error:
        raise JournalError(f"{path}, line {number}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise JournalError(f"{path}, line {number}: expected a JSON object")
    return data


def _check_header(path: Path, data: dict[str, Any]) -> None:
    if data.get("format") != FORMAT:
        raise JournalError(f"{path} is not a journal of Joey's")
    if data.get("version") != VERSION:
        raise JournalError(f"{path} is of version {data.get('version')}; this Joey reads version {VERSION}")


def _record(path: Path, number: int, data: dict[str, Any]) -> tuple[float, Record]:
    at = data.pop("at", 0.0)
    try:
        record: Record = RECORDS.decode(data)
    except WireError as error:
        raise JournalError(f"{path}, line {number}: {error}") from None
    return float(at), record
