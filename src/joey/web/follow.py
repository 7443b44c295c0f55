"""One running task, followed for everybody who watches it: its feed is read once, and each watcher is given the same
bytes. So fifty watchers cost little more than one.

A watcher's place is `RUN.OFFSET`, the run and how far its feed was read, or `jOFFSET`, how long the journal was when
nothing ran. The browser sends it back when it reconnects (`Last-Event-ID`), and continues exactly there. Where that
cannot be, because the run is over and its feed gone, it gets `reset` and loads the task again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from joey.journal.live import LiveReader

_MARK = b'{"type":"turn_started"'
_REQUESTS = ("approval_requested", "question_requested", "completion_requested", "continue_requested")
_ANSWERS = ("approval_answered", "question_answered", "completion_answered", "continue_answered")
_FINISHED = b'{"type":"task_finished"'
_OF_REQUESTS = tuple(b'{"type":"' + name.encode() for name in (*_REQUESTS, *_ANSWERS))


def frame(event: str, data: bytes, place: str = "") -> bytes:
    """A server-sent event. The data is JSON, so it has no line breaks."""
    head = f"id: {place}\n" if place else ""
    return f"{head}event: {event}\ndata: ".encode() + data + b"\n\n"


class Watching(Protocol):
    """Whoever is given what is new."""

    def give(self, data: bytes) -> None: ...


class Follower:
    """The run of one task. `poll` reads what is new and hands it on."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or ValueError if there is no feed."""
        self._reader = LiveReader(path)
        self._task_id = path.parent.name
        self.run = self._reader.run
        self.offset = self._reader.start
        self.mark = (self._reader.start, self._reader.journal)
        """Where the present turn begins: in the feed, and in the journal."""
        self.pending: dict[str, dict[str, Any]] = {}
        """The requests that wait for an answer."""
        self.finished = False
        """Whether the task has reported its end."""
        self.watchers: set[Watching] = set()

    @property
    def place(self) -> str:
        return f"{self.run}.{self.offset}"

    @property
    def journal(self) -> int:
        """How long the journal was when the run began."""
        return self._reader.journal

    def poll(self) -> bool:
        """Whether something was new."""
        new = False
        while lines := self._reader.read(self.offset):
            new = True
            for end, line in lines:
                self._take(line, end - len(line) - 1)
            self.offset = lines[-1][0]
            if self.watchers:
                message = self._message([line for _, line in lines])
                for watcher in self.watchers:
                    watcher.give(message)
        return new

    def _message(self, lines: list[bytes]) -> bytes:
        return frame("events", b"[" + b",".join(lines) + b"]", self.place)

    def _take(self, line: bytes, start: int) -> None:
        if line.startswith(_MARK):
            length = json.loads(line).get("journal")
            if isinstance(length, int):
                self.mark = (start, length)
        elif line.startswith(_FINISHED):
            self.finished |= json.loads(line).get("task") == self._task_id
        elif line.startswith(_OF_REQUESTS):
            event = json.loads(line)
            if event["type"] in _REQUESTS:
                self.pending[event["request_id"]] = event
            else:
                self.pending.pop(event["request_id"], None)

    def since_mark(self) -> list[bytes]:
        """The events of the present turn."""
        return self._between(self.mark[0])

    def _between(self, start: int) -> list[bytes]:
        found: list[bytes] = []
        while start < self.offset and (lines := self._reader.read(start)):
            found += [line for end, line in lines if end <= self.offset]
            start = lines[-1][0]
        return found

    def missed(self, place: str) -> bytes | None:
        """What a watcher has not seen who was at this place; None if that place is not in this run."""
        if place == f"j{self.journal}":
            place = f"{self.run}.{self._reader.start}"
        run, _, offset = place.partition(".")
        if run != self.run or not offset.isdigit() or not self._reader.start <= int(offset) <= self.offset:
            return None
        lines = self._between(int(offset))
        return self._message(lines) if lines else b""

    @property
    def is_over(self) -> bool:
        return self._reader.is_replaced

    def close(self) -> None:
        self._reader.close()
