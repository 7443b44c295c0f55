"""The parsers made visible: a raw reply is fed piece by piece, and what each piece made of it is kept with its place.

A reply is text in one of the protocols, lines of JSON chunks as `joey parse --chunks` reads them, or a recording of a
provider's stream (`data: {…}` lines), whose wire format is recognized.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from joey import protocols
from joey.app.parsing import FALLBACK_DIALECT, chunk_from_json, likely_dialect, reply_as_json
from joey.chunks import Chunk
from joey.errors import JoeyError, UsageError
from joey.events import StreamEvent
from joey.protocols import ParseError, collect
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.decoding.messages import MessagesReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.decoding.responses import ResponsesReader
from joey.tools.builtin import builtin_tools
from joey.toolspec import ToolSpec
from joey.wire import encode

AUTO = "auto"
MAX_TEXT = 200_000
MAX_STEPS = 20_000


def protocol_names() -> list[str]:
    return [AUTO, *protocols.names(), *protocols.dialect_names()]


def play(text: str, protocol: str, tools: Any, size: int) -> dict[str, Any]:
    """What the parser made of a reply: steps, each with how much of the input it had seen, and the whole at the end."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"this reply is too long to play; at most {MAX_TEXT:,} characters")
    specs = _specs(tools)
    pieces = [*_pieces(text, max(size, 1))]
    name = protocol
    if protocol == AUTO:
        in_text = all(isinstance(piece, str) for _, piece in pieces)
        name = (likely_dialect(text, specs) or FALLBACK_DIALECT) if in_text else "native"
    codec = protocols.get(name)
    errors: list[ParseError] = []
    parser = codec.parser(specs, on_error=errors.append)
    events: list[StreamEvent] = []
    steps: list[dict[str, Any]] = []
    for end, made in _fed(parser, pieces, len(text)):
        events += made
        if made and len(steps) < MAX_STEPS:
            steps.append({"end": end, "events": [encode(event) for event in made]})
    whole = reply_as_json(collect(events), errors, in_dialect=True)
    return {"protocol": name, "length": len(text), "steps": steps, "reply": whole}


def _fed(
    parser: protocols.Parser, pieces: list[tuple[int, str | Chunk]], length: int
) -> Iterator[tuple[int, list[StreamEvent]]]:
    for end, piece in pieces:
        yield end, parser.feed(piece)
    yield length, parser.finish()


def _specs(tools: Any) -> list[ToolSpec]:
    """The tools that were offered; Joey's own if nobody says."""
    if not tools:
        return [tool.spec for tool in builtin_tools()]
    if not isinstance(tools, list):
        raise UsageError("the tools are a JSON array of tool objects")
    return [ToolSpec.read(tool) for tool in tools]


def _pieces(text: str, size: int) -> Iterator[tuple[int, str | Chunk]]:
    """The reply in pieces, each with where in the input it ends."""
    if text.lstrip().startswith(("data:", "event:")):
        yield from _recording(text)
    elif (chunks := _chunk_lines(text)) is not None:
        yield from chunks
    else:
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            yield start + len(piece), piece


def _chunk_lines(text: str) -> list[tuple[int, str | Chunk]] | None:
    """Lines of JSON chunks; None if it is something else."""
    found: list[tuple[int, str | Chunk]] = []
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            if not isinstance(data, str) and not (isinstance(data, dict) and {"type", "index", "id"} & set(data)):
                return None
            found.append((end, chunk_from_json(data)))
        except (ValueError, RecursionError, JoeyError):
            return None
    return found or None


def _recording(text: str) -> Iterator[tuple[int, str | Chunk]]:
    decoder = ReplyDecoder(_reader(text), ReplyLimits())
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        for chunk in decoder.feed(line.encode("utf-8", "replace")):
            yield end, chunk
    try:
        for chunk in decoder.finish():
            yield end, chunk
    except JoeyError:
        return  # a recording that ends early is one that can be looked at


def _reader(text: str) -> ReplyReader:
    if '"message_start"' in text or '"content_block_' in text:
        return MessagesReader()
    return ResponsesReader() if '"response.' in text else ChatReader()
