"""A running task as other processes see it: what happens in it, and a place for commands to it.

Two files beside the journal, both for the user alone, and gone when the run ends:

    live.jsonl    the events of this run, a line each, in the order in which they happened
    inbox.jsonl   commands of other processes, which the task reads as they come

    {"format": "joey-live", "version": 1, "run": "9f2c41d0", "journal": 5120}
    {"type": "turn_started", "number": 3, "task": "…", "at": 1767225600.0, "journal": 7340}

The journal stays the truth, and nothing here is needed to resume: where these files cannot be written, the task goes on
without them. `journal` says how long the journal was when the run, and each of its turns, began: whoever comes late
reads the journal up to there, and the events from there on. Growing text is written a few times a second, not for every
piece; `raw` and `source`, which only repeat what the model wrote, are left out.

Requests are numbered from 1 in every run. So a command names the run that it is for, and is dropped by any other: what
was sent too late for one run never answers a request of the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joey.bounded.files import size_of
from joey.commands import COMMANDS, Command
from joey.errors import WireError
from joey.events import (
    Event,
    MarkupDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolRunProgressed,
    TurnStarted,
)
from joey.journal.journal import JournalError
from joey.system.folders import private_file
from joey.system.user_files import append_lines, write_all
from joey.wire import encode

LIVE = "live.jsonl"
INBOX = "inbox.jsonl"
FORMAT = "joey-live"
VERSION = 1
MAX_COMMAND = 32 * 1024 * 1024
"""A command may carry images."""
_MAX_PENDING = 32 * 1024
_REPEATED = {ToolCallDelta: ("raw",), ToolCallFinished: ("source",)}


@dataclass(slots=True)
class _Line:
    data: dict[str, Any]
    texts: list[str] = field(default_factory=list)

    def encoded(self) -> bytes:
        data = {**self.data, "text": "".join(self.texts)} if self.texts else self.data
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"


class LiveFeed:
    """Writes the events of one run. `later` has a function called after a moment."""

    def __init__(
        self,
        folder: Path,
        journal: Path,
        run: str,
        later: Callable[[Callable[[], None]], object],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._journal, self._run = folder / LIVE, journal, run
        self._later, self._clock = later, clock
        self._file: int | None = None
        self._pending: list[_Line] = []
        self._growing: tuple[Any, ...] | None = None
        """What the last pending line is about, if it is text that grows."""
        self._size = 0
        self._scheduled = False

    def open(self, journal: int = 0) -> None:
        """`journal` is how much of the journal was there before this run."""
        self._file = _new_file(self._path)
        self._write({"format": FORMAT, "version": VERSION, "run": self._run, "journal": journal})

    def add(self, task_id: str, event: Event, *, own: bool) -> None:
        """`own`: an event of the task itself, not of a subtask."""
        if self._file is None or isinstance(event, MarkupDelta):
            return
        growing = _growing(task_id, event)
        if growing is not None and growing == self._growing:
            self._pending[-1].texts.append(_text(event))
        else:
            self._begin(task_id, event, own=own)
        self._growing = growing
        if growing is None or self._grown(len(_text(event))) > _MAX_PENDING:
            self.flush()
        elif not self._scheduled:
            self._scheduled = True
            self._later(self.flush)

    def _grown(self, more: int) -> int:
        self._size += more
        return self._size

    def _begin(self, task_id: str, event: Event, *, own: bool) -> None:
        data = {name: value for name, value in encode(event).items() if name not in _REPEATED.get(type(event), ())}
        data |= {"task": task_id, "at": round(self._clock(), 3)}
        if own and isinstance(event, TurnStarted):
            data["journal"] = size_of(self._journal)
        text = [_text(event)] if _growing(task_id, event) is not None else []
        self._pending.append(_Line(data, text))

    def flush(self) -> None:
        """Write what waits. Where that fails, the feed ends; the task does not."""
        self._scheduled, self._growing, self._size = False, None, 0
        lines, self._pending = self._pending, []
        if self._file is None or not lines:
            return
        try:
            write_all(self._file, b"".join(line.encoded() for line in lines))
        except OSError:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            _remove(self._path, file)

    def _write(self, data: dict[str, Any]) -> None:
        self._pending.append(_Line(data))
        self.flush()


def _growing(task_id: str, event: Event) -> tuple[Any, ...] | None:
    match event:
        case TextDelta() | ReasoningDelta():
            return task_id, type(event)
        case ToolCallDelta(literal=False):
            return task_id, ToolCallDelta, event.call_id, event.path
        case ToolRunProgressed():
            return task_id, ToolRunProgressed, event.call_id
        case _:
            return None


def _text(event: Event) -> str:
    return getattr(event, "text", "")


class Inbox:
    """Reads the commands that other processes send to one run."""

    def __init__(self, folder: Path, run: str) -> None:
        self._path, self._run = folder / INBOX, run
        self._file: int | None = None
        self._offset = 0

    def open(self) -> None:
        self._file = _new_file(self._path)

    def commands(self) -> Iterator[Command]:
        """What has come since the last time, in order."""
        if self._file is None:
            return
        for line in self._lines(self._file):
            with contextlib.suppress(ValueError, WireError, RecursionError):
                data = json.loads(line)
                if isinstance(data, dict) and data.get("run") == self._run:
                    yield COMMANDS.decode(data.get("command"))

    def _lines(self, file: int) -> list[bytes]:
        size = os.fstat(file).st_size
        if size <= self._offset:
            return []
        data = os.pread(file, min(size - self._offset, MAX_COMMAND), self._offset)
        whole = data.rfind(b"\n") + 1
        self._offset += whole or (len(data) if len(data) == MAX_COMMAND else 0)
        return data[:whole].splitlines()

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            _remove(self._path, file)


def discard_left_over(folder: Path) -> None:
    """Remove what a run that was killed left behind. For whoever holds the journal of the task."""
    for name in (LIVE, INBOX):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def send_command(folder: Path, run: str, command: Command) -> None:
    """Put a command into the inbox of a run. JournalError if it does not run any more. Whether the command comes in
    time shows in the events."""
    line = json.dumps({"run": run, "command": encode(command)}, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_COMMAND:
        raise JournalError("this message is too large; send less, or smaller images")
    try:
        file = private_file(str(folder / INBOX), os.O_RDWR | os.O_APPEND)
    except OSError:
        raise JournalError("this task does not run any more; continue it with a message") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        append_lines(file, line)
    except OSError as error:
        raise JournalError(f"the task cannot be reached: {error.strerror}; free some space") from error
    finally:
        os.close(file)


class LiveReader:
    """Reads the events of one run as they come, without parsing them."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or ValueError if there is no feed at this path."""
        self._path = path
        self._file = private_file(str(path), os.O_RDONLY)
        try:
            head, self.start = self._head()
        except BaseException:
            os.close(self._file)
            raise
        self.run, self.journal = str(head["run"]), int(head["journal"])

    def _head(self) -> tuple[dict[str, Any], int]:
        line = os.pread(self._file, 4096, 0).split(b"\n")[0]
        head = json.loads(line)
        if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
            raise ValueError(f"{self._path} is no feed of a task, or of another version")
        return head, len(line) + 1

    def read(self, offset: int, limit: int = 1 << 20) -> list[tuple[int, bytes]]:
        """The whole lines behind this place, each with the place behind it. A line may be longer than the limit."""
        data = os.pread(self._file, limit, offset)
        while b"\n" not in data and len(more := os.pread(self._file, limit, offset + len(data))):
            data += more
        found = []
        for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
            offset += len(line)
            found.append((offset, line[:-1]))
        return found

    @property
    def is_replaced(self) -> bool:
        """Whether this run is over: its file is gone, or another run has one."""
        try:
            return not os.path.samestat(self._path.lstat(), os.fstat(self._file))
        except OSError:
            return True

    def close(self) -> None:
        os.close(self._file)


def _new_file(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        return private_file(str(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
    return None


def _remove(path: Path, file: int) -> None:
    """Close a file and remove it, unless another run has put its own in its place."""
    with contextlib.suppress(OSError):
        if os.path.samestat(path.lstat(), os.fstat(file)):
            path.unlink()
    os.close(file)
