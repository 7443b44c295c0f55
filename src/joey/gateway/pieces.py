"""The answer as it is written out: what every wire has in common.

Blocks follow each other and never interleave: text, reasoning, one call after another. `CallPiece` texts, put together,
are the JSON of the arguments (for a custom tool: its input), and end only with `CallEnd`. A call that must not run ends
in `CallBroken`: its JSON is never closed, and the reply stops for `length`, so that no client takes it for a call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from joey.gateway.offered import OfferedTool
from joey.messages import StopReason
from joey.usage import Usage
from joey.wire import JsonObject


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More of the text."""

    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The block of text is complete."""


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """More of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """The block of reasoning is complete; `sealed` is all of it, for the client to hand back."""

    text: str
    sealed: str


@dataclass(frozen=True, slots=True)
class CallBegin:
    """A call of a tool that the client offered."""

    call_id: str
    tool: OfferedTool


@dataclass(frozen=True, slots=True)
class CallPiece:
    """More of the call's arguments, as JSON; of a custom tool's input, as it is."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The call is complete, and these are its arguments; `written` is all its pieces together."""

    call_id: str
    tool: OfferedTool
    arguments: JsonObject
    written: str


@dataclass(frozen=True, slots=True)
class CallBroken:
    """The call must not run. `source` is what the model wrote."""

    call_id: str
    source: str


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """The reply has ended, and why."""

    stop: StopReason
    usage: Usage = field(default_factory=Usage)
    stop_sequence: str | None = None
    """The one of the client's that ended it."""


Piece: TypeAlias = (
    TextPiece | TextEnd | ReasoningPiece | ReasoningEnd | CallBegin | CallPiece | CallEnd | CallBroken | ReplyEnd
)
