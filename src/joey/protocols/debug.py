"""What a parser was given and what it made of it, written out for people who want to know.

    parser = debug.wrap(protocol.parser(tools), "parse", "bg", sys.stderr.write)

Modes: `off` (the parser as it is), `stream` (every chunk and every event, as they flow) and `parse` (also a summary at
the end: the whole reply with its calls highlighted where they stood, and what became of each). Rendering is pure:
`render_chunk`, `render_event` and `render_summary` turn data into text; the wrapper only passes it on.

Nothing the model says reaches the terminal as a control sequence: such characters are shown as escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from joey.chunks import Chunk, TextChunk
from joey.errors import UsageError
from joey.events import (
    StreamEvent,
    StreamFinished,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
)
from joey.protocols.base import Parser
from joey.wire import JsonValue, encode

Write: TypeAlias = Callable[[str], object]

MODES = ("off", "stream", "parse")
STYLES = {"bg": "\x1b[30;43m", "inverse": "\x1b[7m", "underline": "\x1b[4m", "bold": "\x1b[1m"}
MODE_VARIABLE = "JOEY_DEBUG_PARSER"
STYLE_VARIABLE = "JOEY_DEBUG_PARSER_STYLE"

_RESET = "\x1b[0m"
_CONTROL = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What a terminal would obey or not show."""


def wrap(parser: Parser, mode: str, style: str, write: Write) -> Parser:
    """The parser, watched. `write` is given whole lines."""
    check(mode, style)
    return parser if mode == "off" else _Watched(parser, mode == "parse", style, write)


def settings(environment: Mapping[str, str]) -> tuple[str, str]:
    """The mode and the style that an environment asks for."""
    mode = environment.get(MODE_VARIABLE) or "off"
    style = environment.get(STYLE_VARIABLE) or "bg"
    check(mode, style)
    return mode, style


def check(mode: str, style: str) -> None:
    if mode not in MODES:
        raise UsageError(f"{MODE_VARIABLE} must be one of {', '.join(MODES)}, got {mode!r}")
    if style not in STYLES:
        raise UsageError(f"{STYLE_VARIABLE} must be one of {', '.join(STYLES)}, got {style!r}")


class _Watched:
    """A parser that says what it sees."""

    def __init__(self, parser: Parser, summary: bool, style: str, write: Write) -> None:
        self._parser, self._summary, self._style, self._write = parser, summary, style, write
        self._seen: list[StreamEvent] = []
        self._ended = False

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        self._write(f"{render_chunk(chunk)}\n")
        return self._watch(self._parser.feed(chunk))

    def finish(self) -> list[StreamEvent]:
        events = self._watch(self._parser.finish())
        if self._summary and not self._ended:
            self._write(f"{render_summary(self._seen, self._style)}\n")
        self._ended = True
        return events

    def arguments(self, call_id: str) -> JsonValue:
        return self._parser.arguments(call_id)

    def _watch(self, events: list[StreamEvent]) -> list[StreamEvent]:
        for event in events:
            self._write(f"{render_event(event)}\n")
        if self._summary:
            self._seen += events
        return events


def render_chunk(chunk: str | Chunk) -> str:
    """One line for what the provider sent."""
    return f"raw   {_line(encode(TextChunk(chunk) if isinstance(chunk, str) else chunk))}"


def render_event(event: StreamEvent) -> str:
    """One line for what the parser made of it."""
    return f"  out {_line(encode(event))}"


def render_summary(events: Iterable[StreamEvent], style: str = "bg") -> str:
    """The reply with its calls highlighted where they stood, and what became of each."""
    reply: list[str] = []
    ends: list[str] = []
    started: set[str] = set()
    for event in events:
        if isinstance(event, TextDelta):
            reply.append(safe(event.text))
        elif isinstance(event, ToolCallStarted):
            started.add(event.call_id)
        elif isinstance(event, ToolCallDelta):
            reply.append(highlight(event.raw, style))
        elif isinstance(event, ToolCallFinished):
            ends.append(_finished(event))
        elif isinstance(event, ToolCallMalformed):
            reply += [] if event.call_id in started else [highlight(event.source, style)]
            ends.append(f"{event.call_id}: {safe(event.name or 'no name')}, malformed: {safe(event.message)}")
        elif isinstance(event, StreamFinished):
            ends.append(f"the reply ended: {event.reason}")
    return "\n".join(["--- the reply, its calls highlighted", _joined(reply, style), "--- what it came to", *ends])


def highlight(text: str, style: str) -> str:
    """The text in the style, line by line, so that a style never runs on behind the line."""
    start = STYLES[style]
    return "\n".join(f"{start}{safe(line)}{_RESET}" if line else "" for line in text.split("\n"))


def safe(text: str) -> str:
    """The text without control characters; they are shown as escapes."""
    return re.sub(_CONTROL, lambda match: match.group().encode("unicode_escape").decode(), text)


def _joined(parts: list[str], style: str) -> str:
    return "".join(parts).replace(_RESET + STYLES[style], "")


def _finished(event: ToolCallFinished) -> str:
    repairs = f" (repaired: {', '.join(event.repairs)})" if event.repairs else ""
    return f"{event.call_id}: {safe(event.name)} {_line(event.arguments)}{repairs}"


def _line(value: JsonValue) -> str:
    return safe(json.dumps(value, ensure_ascii=False))
