"""Anthropic's Messages, streamed or whole, to chunks.

A stream is blocks that start, grow and stop, each with an index. A thinking block's signature comes with its last
piece. A redacted thinking block has no text, only data that must go back unchanged: it travels as a signature that
begins with `REDACTED`. Blocks of tools that Anthropic runs itself, and whatever else is not ours, are passed over
with all their pieces: they are not calls for us.

Servers that only resemble Anthropic leave fields out, so each is looked up by name and may have any shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.messages import StopReason
from joey.providers import errors
from joey.providers.decoding.reader import ReplyReader, unexpected
from joey.providers.decoding.shapes import count, index, items, json_text, mapping, text, word
from joey.providers.error_body import message_in

REDACTED = "redacted_thinking:"

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "pause_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
}
_OURS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


class MessagesReader(ReplyReader):
    """The events of a stream, or a whole message, to chunks."""

    def __init__(self) -> None:
        self._usage = UsageChunk()
        self._reason: str | None = None
        self._ended = False
        self._answered = False
        self._called = False
        self._signatures: dict[int, list[str]] = {}
        self._passed_over: set[int] = set()
        self._open = 0

    @property
    def is_complete(self) -> bool:
        return bool(self._reason)

    def read(self, name: str, data: Any) -> Iterator[Chunk]:
        if data is None:
            return
        if not isinstance(data, dict):
            raise unexpected("a piece", data)
        kind = text(data.get("type")) or name
        if (kind == "error" or data.get("error")) and not self.is_complete:
            raise errors.from_body(data, began=True)
        self._answered = True
        yield from self._event(kind, data)

    def read_whole(self, body: Any) -> Iterator[Chunk]:
        message = mapping(body)
        if not isinstance(message.get("content"), (list, str)) or message.get("type") == "error":
            raise errors.from_body(body) if message_in(body) else unexpected("the body", body)
        self._answered = True
        yield from self._content(message["content"])
        yield _usage(message.get("usage"), UsageChunk())
        self._end_with(message)

    def end(self, *, marked: bool) -> Iterator[Chunk]:
        if self._reason is None and not (self._answered and (marked or self._ended)):
            raise errors.CutStreamError("the reply broke off before its end")
        reason = self._reason or ""
        stop: StopReason = "tool_calls" if self._called else "end"
        yield StopChunk(_STOPS.get(reason, "unknown") if reason else stop, reason)

    def _event(self, kind: str, data: Mapping[str, Any]) -> Iterator[Chunk]:
        if kind == "content_block_delta":
            yield from self._delta(self._place(data), mapping(data.get("delta")))
        elif kind == "content_block_start":
            self._open = self._place(data)
            yield from self._block(self._open, mapping(data.get("content_block")))
        elif kind == "content_block_stop":
            signature = "".join(self._signatures.pop(self._place(data), ()))
            if signature:
                yield ReasoningChunk("", signature)
        elif kind == "message_start":
            yield from self._begin(mapping(data.get("message")))
        elif kind == "message_delta":
            yield from self._count(data.get("usage"))
            self._end_with(mapping(data.get("delta")))
        elif kind == "message_stop":
            self._ended = True

    def _place(self, data: Mapping[str, Any]) -> int:
        """The index of a block; without one it is the block that was opened last."""
        place = index(data.get("index"))
        return self._open if place is None else place

    def _begin(self, message: Mapping[str, Any]) -> Iterator[Chunk]:
        yield from self._count(message.get("usage"))
        yield from self._content(message.get("content"))

    def _content(self, content: Any) -> Iterator[Chunk]:
        if isinstance(content, str) and content:
            yield TextChunk(content)
        for place, block in enumerate(items(content)):
            yield from self._block(place, mapping(block))

    def _block(self, place: int, block: Mapping[str, Any]) -> Iterator[Chunk]:
        """What the start of a block brings, or the whole block when the reply was not streamed."""
        kind = text(block.get("type"))
        self._passed_over.discard(place)
        if kind == "text" and text(block.get("text")):
            yield TextChunk(block["text"])
        elif kind == "tool_use":
            self._called = True
            yield ToolCallChunk(place, word(block.get("id")) or None, text(block.get("name")) or None, _given(block))
        elif kind == "thinking" and (text(block.get("thinking")) or text(block.get("signature"))):
            yield ReasoningChunk(text(block.get("thinking")), text(block.get("signature")) or None)
        elif kind == "redacted_thinking":
            yield ReasoningChunk("", REDACTED + text(block.get("data")))
        elif kind not in _OURS:
            self._passed_over.add(place)

    def _delta(self, place: int, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        kind = delta.get("type")
        if place in self._passed_over:
            return
        if kind == "text_delta" and text(delta.get("text")):
            yield TextChunk(delta["text"])
        elif kind == "input_json_delta" and text(delta.get("partial_json")):
            self._called = True
            yield ToolCallChunk(place, arguments=delta["partial_json"])
        elif kind == "thinking_delta" and text(delta.get("thinking")):
            yield ReasoningChunk(delta["thinking"])
        elif kind == "signature_delta":
            self._signatures.setdefault(place, []).append(text(delta.get("signature")))

    def _count(self, usage: Any) -> Iterator[Chunk]:
        counted = _usage(usage, self._usage)
        if counted != self._usage:
            self._usage = counted
            yield counted

    def _end_with(self, holder: Mapping[str, Any]) -> None:
        self._reason = text(holder.get("stop_reason")) or self._reason


def _given(block: Mapping[str, Any]) -> str | None:
    """The arguments that the start of a call brings; usually they are empty, and come in pieces."""
    return json_text(block.get("input") or None)


def _usage(usage: Any, before: UsageChunk) -> UsageChunk:
    def latest(name: str, known: int) -> int:
        value = count(mapping(usage).get(name))
        return known if value is None else value

    return UsageChunk(
        latest("input_tokens", before.input_tokens),
        latest("output_tokens", before.output_tokens),
        latest("cache_creation_input_tokens", before.cache_write_tokens),
        latest("cache_read_input_tokens", before.cache_read_tokens),
    )
