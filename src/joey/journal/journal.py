"""One append-only file per task: JSON lines, the first of which names the format.

    {"format": "joey-journal", "version": 1}
    {"type": "task_opened", …, "at": 1767225600.0}

A record is handed to the operating system in one write before `append` returns, so a killed process loses nothing that
was appended; `sync` makes it survive a power cut too, and is called before anything irreversible. Appending never
reads, so it costs the same at turn 1,000 as at turn 1.

A write that the disk has no room for is taken back, so that the next record does not continue half a line.
A torn last line (the machine died while it was being written) was never acted upon: it is cut off when the journal is
opened for writing, and skipped when it is read. A line elsewhere that cannot be read stays where it is: reading leaves
it out, names it, and continues with what is whole. So does reading a journal of a newer version; but nothing is added
to that one, since what this version writes is not what its first line says.

One writer at a time: the file is locked, so that a task cannot be resumed twice at once. A process that was killed
while it started a command leaves its lock to that command's process until the command itself begins, a moment later;
so whoever finds the file locked waits a little before giving up.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from joey.errors import JoeyError, WireError
from joey.journal.records import RECORDS, VERSION, LeftOut, Record
from joey.journal.replay import replay
from joey.system.folders import make_private
from joey.system.user_files import append_lines, append_whole
from joey.wire import encode, sendable

FORMAT = "joey-journal"
_MAY_HOLD_HALVES = re.compile(rb"\\u[dD]|\xed")
_RECORD_BEGINS = re.compile(r'\{"type":"')
_MAX_ATTEMPTS = 200
_END_OF_TIME = 253_402_300_800.0
"""The year 10000: a time behind it was damaged."""
_MAX_HEADER = 1000
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
            raise _unwritable(self.path, error) from error

    def close(self) -> None:
        self._file = -1
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self) -> int:
        try:
            make_private(self.path.parent)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        if not _locked(file, self._timeout):
            busy = _open_elsewhere(self.path, file)
            os.close(file)
            raise busy
        if not _leads_to(self.path, file):
            os.close(file)
            raise JournalError(f"this task was deleted ({self.path})")
        try:
            _begin(file, os.fstat(file).st_size)
        except JournalError:
            os.close(file)
            raise
        except OSError as error:
            os.close(file)
            raise _unwritable(self.path, error) from error
        return file

    def _write(self, data: bytes) -> None:
        try:
            append_lines(self._file, data)
        except OSError as error:
            raise _unwritable(self.path, error) from error


def _unwritable(path: Path, error: OSError) -> JournalError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "free some space, then `joey resume` continues" if full else "check the folder and its permissions"
    return JournalError(f"cannot write {path}: {error.strerror}; {advice}")


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


def _open_elsewhere(path: Path, file: int) -> JournalError:
    holder = _lock_holder(file)
    if " on " in holder and _shows_result(path):
        words = "and may only be showing its result: accept it there, or close it there"
        return JournalError(f"this task is open elsewhere ({holder}) {words}")
    return JournalError(f"this task is open elsewhere ({holder or path}); close it there first")


def _shows_result(path: Path) -> bool:
    """Whether whoever has this task open may wait for no more than that the user accepts its result. Checks and hooks
    may still run before it is shown. A plan is not accepted like that."""
    try:
        state = replay(read_journal(path))
    except (OSError, JournalError):
        return False
    if state.ended is not None or not state.messages or state.messages[-1].role != "assistant":
        return False
    if state.allowed.profile == "plan":
        return False
    calls = [call for call in state.unanswered if call.id not in state.calls.results]
    return all(call.name == "attempt_completion" and call.id in state.calls.begun for call in calls)


def _leads_to(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _begin(file: int, size: int) -> None:
    if size == 0:
        append_whole(file, _HEADER.encode())
        return
    if other := _other_version(_named_format(os.pread(file, _MAX_HEADER, 0).partition(b"\n")[0])):
        raise JournalError(f"the journal of this task {other}; `joey tasks repair` writes a copy that can be resumed")
    _cut_torn_line(file, size)


def _named_format(line: bytes) -> dict[str, Any]:
    """What the first line of a journal says; nothing, if it is damaged."""
    try:
        return _loads(line)
    except ValueError:
        return {}


def _other_version(named: dict[str, Any]) -> str | None:
    """Which version of the format that is, in words, if it is not this one."""
    if named.get("format") != FORMAT or named.get("version") == VERSION:
        return None
    return f"has version {named.get('version')} of the format, and this Joey writes version {VERSION}"


def is_held(path: Path) -> bool:
    """Whether a process has the task of this journal open, at this moment."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(file)


@contextmanager
def held(path: Path, timeout: float = 1.0) -> Iterator[None]:
    """Hold the lock of a journal without changing it, whatever is in it. Raises JournalError if its task runs."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not _locked(file, timeout):
            raise _open_elsewhere(path, file)
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
    """The records of a journal, in order, without what is damaged."""
    return (record for _at, record in read_timed(path) if not isinstance(record, LeftOut))


def read_timed(path: Path) -> Iterator[tuple[float, Record | LeftOut]]:
    """The records with the time at which each was written, and what had to be left out. A torn last line was never
    acted upon, and counts for nothing."""
    found, damage = False, None
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                for at, record in _header(line) if number == 1 else _records(number, line):
                    if isinstance(record, LeftOut):
                        damage = damage or record
                    else:
                        found = True
                    yield at, record
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error
    if damage and not found:
        raise JournalError(f"{path}, {damage}")


def read_line(number: int, line: bytes) -> Iterator[tuple[float, Record | LeftOut]]:
    """The records in one line of a journal, any but the first: for readers that do not begin there."""
    return _records(number, line)


_Read: TypeAlias = Iterator[tuple[float, Record | LeftOut]]


def _header(line: bytes) -> _Read:
    named = _named_format(line)
    if other := _other_version(named):
        yield 0.0, LeftOut(1, f"the journal {other}", whole=False)
    elif named.get("format") != FORMAT:
        yield 0.0, LeftOut(1, "it is not a journal of Joey's", whole=False)
        yield from _rescued(line)


def _records(number: int, line: bytes) -> _Read:
    try:
        data = _loads(line)
    except ValueError as error:
        yield 0.0, LeftOut(number, f"not JSON ({error})")
        yield from _rescued(line)
        return
    unknown: list[str] = []
    try:
        at, record = _record(data, unknown)
    except WireError as error:
        yield 0.0, LeftOut(number, str(error))
        return
    for problem in unknown:
        yield at, LeftOut(number, problem, whole=False)
    yield at, record


def _rescued(line: bytes) -> _Read:
    """The whole records in a damaged line: half a record and the next one, or two whose line end is gone."""
    text, decoder, end = line.decode("utf-8", "replace"), json.JSONDecoder(), 0
    for begin in itertools.islice(_RECORD_BEGINS.finditer(text), _MAX_ATTEMPTS):
        if begin.start() < end:
            continue
        try:
            data, stop = decoder.raw_decode(text, begin.start())
            if "at" in data:  # a block within a record has no time
                yield _record(sendable(data), [])
                end = stop
        except (ValueError, RecursionError, WireError):
            continue


def _loads(line: bytes) -> dict[str, Any]:
    """The object in a line. Raises ValueError."""
    try:
        data = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("expected an object")  # noqa: TRY004 - as json.loads does for what is not JSON
    return sendable(data) if _MAY_HOLD_HALVES.search(line) else data


def _record(data: dict[str, Any], unknown: list[str]) -> tuple[float, Record]:
    at = data.pop("at", 0.0)
    record: Record = RECORDS.decode(data, unknown)
    return float(at) if isinstance(at, (int, float)) and 0 <= at < _END_OF_TIME else 0.0, record


def _lock_holder(file: int) -> str:
    """The process that holds the lock (flock) of an open file, in words; empty where nothing says so (not on Linux)."""
    inode = str(os.fstat(file).st_ino)
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
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
