"""What a provider sent, uninterpreted. Every provider yields these six and nothing else.

Interpreting them is a protocol's work: a TextChunk may hold half an XML tag, a ToolCallChunk half a JSON escape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from joey.messages import StopReason
from joey.usage import Usage
from joey.wire import Codec


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next characters of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """The next characters of the model's reasoning; the signature comes with the last piece, if at all."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A piece of a native tool call. Providers leave out any of the four, and some never send an index or an id."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class UsageChunk(Usage):
    """Tokens counted so far in this reply. Input excludes what was read from or written to the prompt cache."""


@dataclass(frozen=True, slots=True)
class StopChunk:
    """Why the model stopped. `detail` is the provider's own word for it."""

    reason: StopReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PromptChunk:
    """How many tokens of the prompt the server has read so far, of how many. Only local servers report it, before the
    first piece of the reply."""

    read: int
    total: int


Chunk: TypeAlias = TextChunk | ReasoningChunk | ToolCallChunk | UsageChunk | StopChunk | PromptChunk

CHUNKS = Codec(Chunk)
