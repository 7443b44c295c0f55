"""The lines of a reply, and the server-sent events they make, from pieces cut anywhere. No I/O.

A line ends with LF, CRLF or CR, also where a piece ends between the two. Lines with a field collect into an event;
an empty line ends it. What follows the last empty line still counts: some servers leave the last one out. A body that
is no stream but JSON (an error, or a server that does not stream) begins with a bracket and is one event without name.

Nothing grows without bound: a line, the fields of one event and a body have at most `limit` bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from joey.providers.errors import ReplyTooLargeError

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream; `streamed` is False for a body that is no stream."""

    name: str
    data: bytes
    streamed: bool = True


class LineReader:
    """Bytes in any pieces to lines without their ends."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        if not piece:
            return
        if self._after_cr:
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        for part in piece.splitlines(keepends=True):
            self._parts.append(part)
            self._size += len(part)
            _bound(self._size, self._limit, "a line")
            if part[-1] in b"\r\n":
                yield self.rest()

    def rest(self) -> bytes:
        """The line that has no end yet."""
        line = b"".join(self._parts).rstrip(b"\r\n")
        self._parts, self._size = [], 0
        return line


class EventReader:
    """The bytes of a reply, in any pieces, to events."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines = LineReader(limit)
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._began = False
        self._is_body = False

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        for line in self._lines.feed(piece):
            yield from self._line(line)

    def finish(self) -> Iterator[ServerEvent]:
        yield from self._line(self._lines.rest())
        if self._data:
            yield self._event()

    def _line(self, line: bytes) -> Iterator[ServerEvent]:
        if not self._began and line.strip():
            self._began = True
            line = line.removeprefix(_MARK)
            self._is_body = line.lstrip()[:1] in (b"{", b"[")
        if self._is_body:
            self._add(line)
        elif line:
            self._field(line)
        elif self._data:
            yield self._event()
        else:
            self._name = ""

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")

    def _add(self, line: bytes) -> None:
        self._data.append(line)
        self._size += len(line)
        _bound(self._size, self._limit, "one piece")

    def _event(self) -> ServerEvent:
        event = ServerEvent(self._name, b"\n".join(self._data), not self._is_body)
        self._name, self._data, self._size = "", [], 0
        return event


def _bound(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise ReplyTooLargeError(f"{what} of the reply is longer than {limit / 2**20:g} MiB")
