"""The body of a request as the bytes that go over the wire.

The conversation is nearly all of it, and nearly all of the conversation was in the request before. So its bytes are
kept, and not only those of each message: runs of messages are kept as pieces, which are sent as they are. Nothing
joins the whole conversation again.

    head │ piece, piece, … (kept; each of a smaller class than the one before) │ what is new

A run becomes a piece when it is large enough to be worth a write of its own. A piece takes in the one before it if
that is of its own class or below, and a class has 32 times the size of the next: N bytes are log N pieces, and a byte
is copied a few times for each class, however often it is sent.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from joey.messages import Message
from joey.providers.encoding.memo import Memo, same_beginning

_MIN_PIECE = 64 * 2**10
"""A write costs about as much as copying twice as many bytes."""
_CLASS_BITS = 5


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def entry(value: Any) -> bytes:
    """A value of a list: JSON after a comma."""
    return b"," + to_json(value)


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a request, in a few pieces. They can be sent any number of times."""

    pieces: tuple[bytes, ...]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


@dataclass(frozen=True, slots=True)
class _Piece:
    """The messages up to `end`, and from where the piece before it ended."""

    end: int
    data: bytes


class BodyEncoder:
    """Bodies of a conversation that grows from request to request."""

    def __init__(self, encode: Callable[[Message], bytes], field: str = "messages") -> None:
        """`encode` makes the entries of a message in the list that is called `field`."""
        self._encode = Memo(encode)
        self._field = field
        self._parameters: Mapping[str, Any] = {}
        self._head = b""
        self._messages: tuple[Message, ...] = ()
        self._entries: list[bytes] = []
        self._kept: list[_Piece] = []

    def __call__(
        self,
        parameters: Mapping[str, Any],
        messages: tuple[Message, ...],
        *,
        opening: bytes = b"",
        own: Mapping[int, bytes] | None = None,
    ) -> Body:
        """The body with these parameters, which are not empty. `opening` is an entry before those of the messages, and
        `own` are entries for some of the last messages, by place, that are for this request only."""
        head = self._head_for(parameters) + opening.removeprefix(b",") + (b"," if opening and messages else b"")
        *kept, rest = self._pieces(messages, own or {})
        return Body((head, *kept, rest + b"]}") if kept else (b"".join((head, rest, b"]}")),))

    def _head_for(self, parameters: Mapping[str, Any]) -> bytes:
        if parameters != self._parameters:
            self._parameters = parameters
            self._head = to_json(parameters)[:-1] + f',"{self._field}":['.encode()
        return self._head

    def _pieces(self, messages: tuple[Message, ...], own: Mapping[int, bytes]) -> list[bytes]:
        unchanged = min(self._encode_new(messages), *own, len(messages))
        while self._kept and self._kept[-1].end > unchanged:
            self._kept.pop()
        start = self._kept[-1].end if self._kept else 0
        run = b"".join(self._entries[start:unchanged])
        if len(run) >= _MIN_PIECE:
            self._keep(unchanged, run)
            run = b""
        new = (_in_place(place, own.get(place, self._entries[place])) for place in range(unchanged, len(messages)))
        return [*(piece.data for piece in self._kept), b"".join((run, *new))]

    def _encode_new(self, messages: tuple[Message, ...]) -> int:
        """Make the entries of these messages. How many of them were in the request before."""
        self._encode.next_round()
        same = same_beginning(messages, self._messages)
        self._entries[same:] = (_in_place(place, self._encode(messages[place])) for place in range(same, len(messages)))
        self._messages = messages
        return same

    def _keep(self, end: int, data: bytes) -> None:
        while self._kept and _class_of(self._kept[-1].data) <= _class_of(data):
            data = self._kept.pop().data + data
        self._kept.append(_Piece(end, data))


def _class_of(data: bytes) -> int:
    return (len(data) // _MIN_PIECE).bit_length() // _CLASS_BITS


def _in_place(place: int, entries: bytes) -> bytes:
    """The first entry of a list has no comma before it."""
    return entries if place else entries.removeprefix(b",")
