"""Replies of models as people write them down and read them: for `joey parse`, and for the page that shows the same."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from joey import protocols
from joey.chunks import CHUNKS, Chunk, ToolCallChunk
from joey.errors import UsageError, WireError
from joey.events import ToolCallMalformed
from joey.messages import ReasoningBlock, TextBlock, ToolUseBlock
from joey.protocols import ParseError, Reply
from joey.toolspec import ToolSpec

_WITHOUT_MARKERS = re.compile(r"\s*(?:\{|\[\s*\{|\[\s*[\w.]+\s*\()")
FALLBACK_DIALECT = "hermes"
"""The most common one: it leaves a reply text that calls no tool."""
_CALL_FIELDS = {"index", "id", "name", "arguments"}


def chunk_from_json(data: Any) -> str | Chunk:
    """A chunk as people write it down: a string, a piece of a call, or the wire form of any chunk."""
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        raise UsageError(f"expected a string or an object, got {json.dumps(data)[:60]}")
    if "type" not in data:
        data = {"type": "tool_call_chunk", **{key: value for key, value in data.items() if key in _CALL_FIELDS}}
    chunk: str | Chunk = CHUNKS.decode(data)
    if isinstance(chunk, ToolCallChunk) and chunk == ToolCallChunk():
        raise WireError('expected at least one of "index", "id", "name", "arguments"')
    return chunk


def likely_dialect(text: str, tools: Sequence[ToolSpec]) -> str | None:
    """The dialect that could have written a reply; None if it calls no tool in a way that is known."""
    return next(iter(protocols.likely_dialects(reply=text, tools=tools)), None)


def reply_as_json(
    reply: Reply, errors: Iterable[ParseError], *, in_dialect: bool = False, broken_as_text: bool = False
) -> dict[str, Any]:
    """A reply's text and calls in the form that `joey parse` writes. Calls that cannot be read are among the errors;
    those of a dialect are parts of their own too, or text where its servers leave them so."""
    repairs = {call.call_id: {"repairs": list(call.repairs)} for call in reply.calls if call.repairs}
    given = {call.call_id: call.given_id for call in reply.calls if call.given_id}
    written = {call.call_id: call.arguments for call in reply.calls}
    typed = in_dialect and not broken_as_text
    malformed = [call for call in reply.malformed if typed and not _WITHOUT_MARKERS.match(call.source)]
    parts: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, TextBlock):
            for part in _text_and_malformed(block.text, malformed):
                if part["type"] == "text" and parts and parts[-1]["type"] == "text":
                    parts[-1]["text"] += part["text"]  # only reasoning that is not shown stood between them
                else:
                    parts.append(part)
        elif isinstance(block, ReasoningBlock) and in_dialect:
            parts.append({"type": "reasoning", "text": block.text})
        elif isinstance(block, ToolUseBlock):
            own_id = given.get(block.id, block.id)
            call = {"type": "tool_call", "name": block.name, "input": written[block.id], "id": own_id}
            parts.append({**call, **repairs.get(block.id, {})})
    return {"content": parts, "errors": [dataclasses.asdict(error) for error in errors]}


def _text_and_malformed(text: str, malformed: list[ToolCallMalformed]) -> Iterator[dict[str, Any]]:
    """A text with the malformed calls that stand in it, which are taken off the list."""
    while malformed and malformed[0].source in text:
        call = malformed.pop(0)
        before, _, text = text.partition(call.source)
        if before:
            yield {"type": "text", "text": before}
        yield {"type": "malformed_call", "name": call.name, "source": call.source, "message": call.message}
    if text:
        yield {"type": "text", "text": text}
