"""What happened, as frozen facts. Front ends watch these and nothing else.

`ToolCall…` is what the model said. The laws of the stream events, which every parser keeps:

* TextStarted, TextDelta…, TextFinished: text blocks do not nest, and a call starts only after open text was closed.
* Every ToolCallStarted is followed by exactly one ToolCallFinished or ToolCallMalformed with its call_id.
* A call that never showed a name has no ToolCallStarted, only a ToolCallMalformed with name None.
* Lossless: the TextDelta texts, the ToolCallDelta raws and the sources of malformed calls that were never started,
  put together in order, are the text the model sent. (In the native protocol, where calls may interleave: per call.)
* A call's ToolCallDelta raws, put together, are the `source` of its ToolCallFinished or ToolCallMalformed.
* Chunk-blind: how the stream was cut changes only how text and calls are spread over deltas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from joey.messages import StopReason
from joey.wire import Codec, JsonValue

ArgumentPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class TextStarted:
    """A block of plain answer text begins."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next characters of the open text block."""

    text: str


@dataclass(frozen=True, slots=True)
class TextFinished:
    """The open text block is complete."""


@dataclass(frozen=True, slots=True)
class ReasoningStarted:
    """The model begins to think."""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next characters of the open reasoning block."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFinished:
    """The open reasoning block is complete. The signature, if any, goes back to the provider unchanged."""

    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The model is calling a tool; its arguments follow."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call, decoded.

    `path` is the argument that grew (`("file_text",)`, `("args", 0, "path")`) and `text` the new characters of it.
    When `literal` is true, text is instead a whole JSON value that is no string: a number, true, false or null.
    `raw` is the piece as the model wrote it. A piece of mere markup has an empty text and an empty path.
    """

    call_id: str
    path: ArgumentPath
    text: str
    raw: str
    literal: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallFinished:
    """A complete call. `repairs` says what had to be mended before its arguments could be read."""

    call_id: str
    name: str
    arguments: JsonValue
    source: str = ""
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCallMalformed:
    """A call that must not run. `message` says what is wrong with it, `source` is what the model wrote."""

    call_id: str
    name: str | None
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens counted so far in this reply."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0


@dataclass(frozen=True, slots=True)
class StreamFinished:
    """The reply has ended, and why. `detail` is the provider's own word for it."""

    reason: StopReason
    detail: str = ""


StreamEvent: TypeAlias = (
    TextStarted
    | TextDelta
    | TextFinished
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningFinished
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallFinished
    | ToolCallMalformed
    | UsageReported
    | StreamFinished
)

STREAM_EVENTS = Codec(StreamEvent)
