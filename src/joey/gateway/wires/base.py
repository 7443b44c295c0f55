"""What a wire is: how a request is read, and how an answer is written, streamed or whole, and an error in its place."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from joey.errors import UsageError
from joey.gateway.pieces import (
    CallBroken,
    CallEnd,
    Piece,
    ReasoningEnd,
    ReplyEnd,
    TextPiece,
)
from joey.gateway.refusal import Refusal, invalid
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest
from joey.gateway.seal import Seal
from joey.gateway.wires.fields import check_fields
from joey.wire import JsonObject, sendable

KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"


def new_id(prefix: str) -> str:
    return f"{prefix}{secrets.token_hex(12)}"


def encoded(data: Any) -> bytes:
    """JSON as it goes out. Half of a surrogate pair is replaced: Codex, for one, reads no JSON that has one escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return sendable(text).encode()


def sse(data: Any, event: str = "") -> bytes:
    """One event of a stream."""
    heading = f"event: {event}\n".encode() if event else b""
    return b"%sdata: %s\n\n" % (heading, encoded(data))


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """What is needed to understand a request besides its body."""

    seal: Seal
    replies: KeptReplies
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class WholeReply:
    """An answer that is sent in one piece. A call that must not run is the text it was."""

    parts: list[TextPiece | ReasoningEnd | CallEnd]
    end: ReplyEnd

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> WholeReply:
        parts: list[TextPiece | ReasoningEnd | CallEnd] = []
        end = ReplyEnd("end")
        for piece in pieces:
            match piece:
                case TextPiece(text) | CallBroken(_, text):
                    if parts and isinstance(last := parts[-1], TextPiece):
                        parts[-1] = TextPiece(last.text + text)
                    elif text:
                        parts.append(TextPiece(text))
                case ReasoningEnd() | CallEnd():
                    parts.append(piece)
                case ReplyEnd():
                    end = piece
                case _:
                    pass
        return cls(parts, end)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPiece))

    @property
    def reasoning(self) -> list[ReasoningEnd]:
        return [part for part in self.parts if isinstance(part, ReasoningEnd)]

    @property
    def calls(self) -> list[CallEnd]:
        return [part for part in self.parts if isinstance(part, CallEnd)]


class WireWriter(ABC):
    """Writes one answer."""

    keep_alive: ClassVar[bytes] = KEEP_ALIVE
    expected_input: int = 0
    """About how many tokens the request has, for a wire that says so before the model does."""

    @abstractmethod
    def begin(self) -> bytes:
        """What a stream begins with."""

    @abstractmethod
    def write(self, piece: Piece) -> bytes:
        """The events of a piece. A ReplyEnd ends the stream."""

    @abstractmethod
    def fail(self, refusal: Refusal) -> bytes:
        """An error after the stream began, and its end."""

    @abstractmethod
    def body(self, pieces: Sequence[Piece]) -> JsonObject:
        """The answer in one piece."""


class Wire(ABC):
    """One wire format."""

    name: ClassVar[str]
    path: ClassVar[str]
    call_prefix: ClassVar[str] = "call_"

    @abstractmethod
    def read(self, body: JsonObject, context: ReadingContext) -> ClientRequest:
        """The request, understood. Raises Refusal, or UsageError for a part that is not what it should be."""

    @abstractmethod
    def writer(self, request: ClientRequest, replies: KeptReplies) -> WireWriter:
        """For the answer to this request."""

    @abstractmethod
    def error(self, refusal: Refusal) -> JsonObject:
        """The body of an error."""

    def status(self, refusal: Refusal) -> int:
        return refusal.status

    def understood(self, body: Any, context: ReadingContext) -> ClientRequest:
        """The request of a body. Whatever is wrong with it is a Refusal."""
        if not isinstance(body, dict):
            raise invalid("the request body must be a JSON object")
        check_fields(self.name, body)
        try:
            return self.read(body, context)
        except UsageError as error:
            raise invalid(str(error)) from None
