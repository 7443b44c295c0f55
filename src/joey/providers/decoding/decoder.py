"""The bytes of one reply, in any pieces, to chunks, within bounds. No I/O.

decoder = ReplyDecoder(ChatReader(), ReplyLimits())
for piece in pieces: chunks += decoder.feed(piece)
chunks += decoder.finish()
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from joey.chunks import Chunk, ReasoningChunk, TextChunk, ToolCallChunk
from joey.providers.decoding.reader import ReplyReader
from joey.providers.decoding.sse import EventReader, ServerEvent
from joey.providers.errors import CutStreamError, ReplyTooLargeError

_DONE = b"[DONE]"


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
        self._size = 0
        self._content = 0

    @property
    def is_complete(self) -> bool:
        """Whether the reply is whole, so that nothing that goes wrong afterwards matters."""
        return self.is_over or self._reader.is_complete

    def feed(self, piece: bytes) -> Iterator[Chunk]:
        self._size += len(piece)
        _bound(self._size, self._limits.wire, "MiB")
        yield from self._chunks(self._events.feed(piece))

    def finish(self) -> Iterator[Chunk]:
        """The last chunks. Raises CutStreamError if the reply is not whole."""
        yield from self._chunks(self._events.finish())
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
                _bound(self._content, self._limits.content, "million characters")
                yield chunk

    def _event(self, event: ServerEvent) -> Iterator[Chunk]:
        if event.data.strip() == _DONE:
            self.is_over = True
        elif event.streamed:
            yield from self._reader.read(event.name, _json(event.data))
        else:
            yield from self._reader.read_whole(_json(event.data))
            self.is_over = True


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CutStreamError(f"a piece of the reply could not be read ({error})") from error


def _length(chunk: Chunk) -> int:
    if isinstance(chunk, (TextChunk, ReasoningChunk)):
        return len(chunk.text)
    return len(chunk.arguments or "") if isinstance(chunk, ToolCallChunk) else 0


def _bound(size: int, limit: int, unit: str) -> None:
    if size > limit:
        raise ReplyTooLargeError(f"the reply is longer than {limit / 2**20:g} {unit}")
