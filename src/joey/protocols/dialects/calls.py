"""A call as far as it has come.

Its pieces wait until its name is known; then the call starts, and pieces go out as they come. A call whose opener is
plain text may turn out to be none: `abandon` gives back what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol as Interface

from joey.events import StreamEvent, ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.messages import StopReason
from joey.protocols.buffer import Pieces
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.toolspec import ToolSpec
from joey.wire import ArgumentPath, JsonObject, JsonValue

MARKUP: ArgumentPath = ()


class Sink(Interface):
    """What a reader reports to."""

    tools: dict[str, ToolSpec]

    def emit(self, event: StreamEvent) -> None: ...
    def text(self, text: str) -> None: ...
    def reasoning(self, text: str) -> None: ...
    def markup(self, text: str) -> None: ...
    def call_begins(self, given_id: str) -> str:
        """Close what is open; the answer is the id of the new call."""

    def own_id(self, given_id: str) -> str: ...
    def call_started(self, call: OpenCall) -> None: ...
    def call_finished(self, call: OpenCall, arguments: JsonValue) -> None: ...
    def call_failed(self, call: OpenCall, message: str) -> None: ...

    @property
    def stop_reason(self) -> StopReason | None: ...

    @property
    def in_word(self) -> bool:
        """Whether the text so far ends with a word or a tag, and nothing came behind it."""


class OpenCall:
    """One call that is being read."""

    __slots__ = ("_raws", "_sink", "_waiting", "call_id", "ended", "given_id", "lead", "name", "repairs", "snapshot")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._raws = Pieces()
        self._waiting: list[tuple[ArgumentPath, str, str, bool]] = []
        self.name: str | None = None
        self.call_id = ""
        self.given_id = ""
        self.lead = ""
        """What it began with: its opener, or the header of its message."""
        self.ended = False
        self.repairs: list[str] = []
        self.snapshot: Callable[[], JsonValue] = dict

    @property
    def source(self) -> str:
        return self._raws.text()

    def start(self, name: str) -> None:
        self.name = name
        self.call_id = self._sink.call_begins(self.given_id)
        self._sink.emit(ToolCallStarted(self.call_id, name))
        self._sink.call_started(self)
        for path, text, raw, literal in self._waiting:
            self._sink.emit(ToolCallDelta(self.call_id, path, text, raw, literal))
        self._waiting.clear()

    def markup(self, raw: str) -> None:
        if raw:
            self.piece(MARKUP, "", raw)

    def piece(self, path: ArgumentPath, text: str, raw: str, literal: bool = False) -> None:
        if raw:
            self.lead = self.lead or raw
            self._raws.add(raw)
        if self.name is None:
            self._waiting.append((path, text, raw, literal))
        else:
            self._sink.emit(ToolCallDelta(self.call_id, path, text, raw, literal))

    def grow(self, path: ArgumentPath, text: str) -> None:
        """A piece that is written as it is meant, of a call that has started."""
        self._raws.add(text)
        self._sink.emit(ToolCallDelta(self.call_id, path, text, text))

    def repair(self, what: str) -> None:
        if what not in self.repairs:
            self.repairs.append(what)

    def finish(self, arguments: JsonValue) -> None:
        assert self.name is not None
        self.ended = True
        self.given_id = self._sink.own_id(self.given_id) if self.given_id else ""
        self._sink.emit(
            ToolCallFinished(self.call_id, self.name, arguments, self.source, tuple(self.repairs), self.given_id)
        )
        self._sink.call_finished(self, arguments)

    def fail(self, message: str) -> None:
        self.ended = True
        if self.name is None:
            self.call_id = self._sink.call_begins("")
        self._sink.emit(ToolCallMalformed(self.call_id, self.name, self.source, message))
        self._sink.call_failed(self, message)

    def abandon(self) -> str:
        """It is no call after all: the text that was read."""
        self.ended = True
        return self.source


def skip_broken(
    source: Source, call: OpenCall, opens: tuple[str, ...], closes: tuple[str, ...], fault: str
) -> Wait[None]:
    """The call cannot be read: it ends with the next closer, or before the next opener.

    If there is an opener inside what was read of it, calls are quoted there, and somebody forgot to escape them. They
    are passed over up to their closers, and so are all that follow before the call's own: none of them was meant.
    """
    openers, ends = Markers(opens), Markers((*opens, *closes))
    depth = quoted = openers.count(call.source) - openers.count(call.lead)
    while (found := (yield from source.until(ends, call.markup))) is not None:
        if found in opens and not quoted:
            source.unread(found)
            break
        call.markup(found)
        if found in closes and not depth:
            break
        depth += 1 if found in opens else -1
    call.fail(f"the call cannot be read: {fault}")


def known(sink: Sink, name: str) -> bool:
    return name in sink.tools


def schema_of(sink: Sink, name: str) -> JsonObject:
    tool = sink.tools.get(name)
    return tool.schema if tool is not None else {}
