"""The end of a reply at a stop sequence of the client's.

The gateway looks for them itself, in the text of the answer: to the model's server a call that is written in a protocol
is text as well, and it would cut calls and reasoning. It also does not say which one it found, or takes none at all.

Text that may be the beginning of a stop sequence is held until that is known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from joey.gateway.pieces import CallEnd, Piece, ReplyEnd, TextEnd, TextPiece
from joey.usage import Usage


class StopSearch:
    """Looks for stop sequences in a text that comes in pieces."""

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(sequences)
        self._held = ""
        self.found: str | None = None

    def feed(self, text: str) -> str:
        """What of the text is certainly in front of any stop sequence. `found` says whether one is there."""
        text = self._held + text
        places = [(text.index(each), -len(each), each) for each in self._sequences if each in text]
        if places:
            place, _, self.found = min(places)
            self._held = ""
            return text[:place]
        self._held = text[len(text) - self._may_begin(text) :]
        return text[: len(text) - len(self._held)]

    def finish(self) -> str:
        """The text has ended: what was held is no stop sequence."""
        held, self._held = self._held, ""
        return held

    def _may_begin(self, text: str) -> int:
        """How many characters at the end may be the beginning of a stop sequence."""
        return max((_overlap(text, each) for each in self._sequences), default=0)


def _overlap(text: str, sequence: str) -> int:
    sizes = range(min(len(text), len(sequence) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(sequence[:size])), 0)


async def until_stop(
    pieces: AsyncGenerator[Piece, None], sequences: Sequence[str], used: Callable[[], Usage]
) -> AsyncGenerator[Piece, None]:
    """The pieces up to a stop sequence, which is not shown. What comes behind it is not waited for; `used` says what
    the reply took until then."""
    search = StopSearch(sequences)
    called = False
    async with aclosing(pieces):
        async for piece in pieces:
            called = called or isinstance(piece, CallEnd)
            if not isinstance(piece, TextPiece):
                if held := search.finish():
                    yield TextPiece(held)
                yield piece
                continue
            if shown := search.feed(piece.text):
                yield TextPiece(shown)
            if search.found is not None:
                break
    if search.found is not None:
        yield TextEnd()
        yield ReplyEnd("tool_calls", used()) if called else ReplyEnd("stop_sequence", used(), search.found)
