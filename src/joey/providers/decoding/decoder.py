"""The bytes of one reply, in any pieces, to chunks, within bounds. No I/O.

    decoder = ReplyDecoder(ChatReader(), ReplyLimits())
    for piece in pieces: chunks += decoder.feed(piece)
    chunks += decoder.finish()

The bytes are lines, and these make server-sent events; the pieces are cut anywhere. A line ends with LF, CRLF or CR,
also where a piece ends between the two. Lines with a field collect into an event; an empty line ends it. What follows
the last empty line still counts: some servers leave the last one out. A body that is no stream but JSON (an error, or a
server that does not stream) begins with a bracket and is one event without name. A field that nobody knows is left out.
Where bytes that are no field came before a piece of the reply, in its line, that piece is lost, and so is the reply.

Nothing grows without bound: a line, the fields of one event and a body have at most `limit` bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from joey.chunks import Chunk, ReasoningChunk, TextChunk, ToolCallChunk
from joey.providers.decoding.reader import ReplyReader
from joey.providers.error_body import message_in
from joey.providers.errors import CutStreamError, ReplyTooLargeError

_MARK = b"\xef\xbb\xbf"
_UNUSED = (b"", b"id", b"retry")
"""Comments, and fields that are for connecting again."""
_FIELD = re.compile(rb"[\w.-]{1,40}")
_MAX_FOREIGN = 100
"""Lines, and bytes of each, that are kept of what is no stream."""
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


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
            _bound(self._size, self._limit, "a line of the reply")
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
        self._foreign: list[str] = []
        self._has_hole = False

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        for line in self._lines.feed(piece):
            yield from self._line(line)

    def finish(self) -> Iterator[ServerEvent]:
        yield from self._line(self._lines.rest())
        if self._data:
            yield self._event()

    @property
    def foreign(self) -> str:
        """The beginning of what came in place of a stream, such as a web page."""
        return "\n".join(self._foreign)

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
        elif name not in _UNUSED:
            self._has_hole = self._has_hole or (b"data:" in line and not _FIELD.fullmatch(name))
            if len(self._foreign) < _MAX_FOREIGN:
                self._foreign.append(line[:_MAX_FOREIGN].decode("utf-8", "replace").rstrip(_UNREADABLE))

    def _add(self, line: bytes) -> None:
        self._data.append(line)
        self._size += len(line)
        _bound(self._size, self._limit, "one piece of the reply")

    def _event(self) -> ServerEvent:
        if self._has_hole:
            raise CutStreamError("a piece of the reply is lost: the server wrote other output into the event stream")
        event = ServerEvent(self._name, b"\n".join(self._data).strip(), not self._is_body)
        self._name, self._data, self._size = "", [], 0
        return event


def _bound(size: int, limit: int, what: str = "the reply", unit: str = "MiB") -> None:
    if size > limit:
        raise ReplyTooLargeError(f"{what} is longer than {limit / 2**20:g} {unit}")


_DONE = (b"", b"[DONE]", b'"[DONE]"')
_SIGN_OF_LIFE = re.compile(r"ping|heart|keep", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """How large a reply may grow before it is refused. Far beyond any real one, far below a machine's memory."""

    piece: int = 32 * 2**20
    """Bytes of one line, of one event, or of a reply that is not streamed."""
    content: int = 8 * 2**20
    """Characters of text, reasoning and arguments together."""
    wire: int = 512 * 2**20
    """Bytes in all."""
    error: int = 2**16
    """Bytes of the body of an error; the rest is not read."""


class ReplyDecoder:
    """Feed it the body of a reply. Whether that was streamed is seen in the body, not in the request: there are
    servers that never stream, and some that always do. `is_over` says that an end mark came: nothing follows it."""

    def __init__(self, reader: ReplyReader, limits: ReplyLimits) -> None:
        self.is_over = False
        self._reader = reader
        self._limits = limits
        self._events = EventReader(limits.piece)
        self._began = False
        self._size = 0
        self._content = 0

    @property
    def is_complete(self) -> bool:
        """Whether the reply is whole, so that nothing that goes wrong afterwards matters."""
        return self.is_over or self._reader.is_complete

    def feed(self, piece: bytes) -> Iterator[Chunk]:
        self._size += len(piece)
        _bound(self._size, self._limits.wire)
        yield from self._chunks(self._events.feed(piece))

    def finish(self) -> Iterator[Chunk]:
        """The last chunks. Raises CutStreamError if the reply is not whole."""
        yield from self._chunks(self._events.finish())
        if not self._began:
            raise CutStreamError(_instead_of_a_reply(self._events.foreign) if self._size else "the reply is empty")
        yield from self.end()

    def end(self) -> Iterator[Chunk]:
        """The same, of a connection that broke: what came last may be half a line."""
        yield from self._reader.end(marked=self.is_over)

    def _chunks(self, events: Iterator[ServerEvent]) -> Iterator[Chunk]:
        for event in events:
            if self.is_over:
                return
            for chunk in self._event(event):
                self._content += _length(chunk)
                _bound(self._content, self._limits.content, unit="million characters")
                yield chunk

    def _event(self, event: ServerEvent) -> Iterator[Chunk]:
        self._began = self._began or bool(event.data)
        try:
            if event.data in _DONE:
                self.is_over = bool(event.data) or self.is_over
            elif event.streamed:
                yield from self._reader.read(event.name, _data_of(event))
            else:
                yield from self._reader.read_whole(_json(event.data))
                self.is_over = True
        except RecursionError as error:
            raise CutStreamError("a piece of the reply is nested too deeply") from error


def _data_of(event: ServerEvent) -> Any:
    """The JSON of an event. An error may be words alone, and a sign of life anything."""
    try:
        return _json(event.data)
    except CutStreamError:
        if event.name == "error":
            return {"error": event.data.decode("utf-8", "replace")}
        if _SIGN_OF_LIFE.search(event.name):
            return None
        raise


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        raise CutStreamError(f"a piece of the reply could not be read ({error})") from error
    except ValueError as error:
        raise CutStreamError("a number in the reply is too long to be one") from error


def _instead_of_a_reply(foreign: str) -> str:
    """What is wrong with something that is no reply, in its own words if it has some."""
    words = "bytes that are no text" if _UNREADABLE in foreign else message_in(foreign)
    return f"the server sent no reply, but this: {words}" if words else "the server sent no reply"


def _length(chunk: Chunk) -> int:
    if isinstance(chunk, TextChunk):
        return len(chunk.text)
    if isinstance(chunk, ReasoningChunk):
        return len(chunk.text) + len(chunk.signature or "")
    return len(chunk.arguments or "") if isinstance(chunk, ToolCallChunk) else 0
