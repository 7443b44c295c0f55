"""The contract of a protocol: a codec between our conversation and one model's habits.

A Protocol is stateless and shared. A Parser reads one reply: chunks in, events out, no I/O, no clock, no randomness.
It keeps the laws written in `joey.events`. To add a protocol, subclass Protocol and BaseParser, and register it in
`protocols/__init__`.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

from joey.chunks import Chunk, PromptChunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.errors import UsageError
from joey.events import (
    PromptProgressed,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningStarted,
    StreamEvent,
    StreamFinished,
    TextDelta,
    TextFinished,
    TextStarted,
    ToolCallFinished,
    ToolCallMalformed,
    UsageReported,
)
from joey.messages import Block, StopReason, ToolResultBlock, ToolUseBlock
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ParseError:
    """What `on_error` gets: what went wrong, and the piece of the model's text it went wrong in."""

    message: str
    segment: str
    name: str | None = None


OnError: TypeAlias = Callable[[ParseError], None]


class Parser(typing.Protocol):
    """Reads one reply. Whatever has these three methods is a parser: one of ours, or a wrapper around one."""

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk adds. A plain string is a TextChunk."""

    def finish(self) -> list[StreamEvent]:
        """The stream ended: what was held back, what stays unfinished, and the end itself. Safe to call twice."""

    def arguments(self, call_id: str) -> JsonValue:
        """A snapshot of a call's arguments so far, complete or not, made on demand. Costs a reading of the call."""


class BaseParser(ABC):
    """What all parsers share: text and reasoning blocks, usage, the end.

    A subclass must implement `_text`, `_close` and `arguments`; `_tool_call` too if calls come in chunks of their own.
    It appends events to `self._out`, or calls the methods under "What a subclass uses".
    """

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        if not all(isinstance(tool, ToolSpec) for tool in tools):
            raise UsageError("a parser takes tools as ToolSpec; read other tool objects with ToolSpec.read(tool)")
        self.tools = {tool.name: tool for tool in tools}
        self._on_error = on_error
        self._out: list[StreamEvent] = []
        self._text_open = False
        self._reasoning_open = False
        self._calls = 0
        self._any_call_finished = False
        self._stop: StopChunk | None = None
        self._finished = False

    # What a caller uses

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        if self._finished:
            raise UsageError("this parser has finished; a parser reads one reply")
        if isinstance(chunk, str):
            self._text(chunk)
        elif isinstance(chunk, TextChunk):
            self._text(chunk.text)
        elif isinstance(chunk, ToolCallChunk):
            self._tool_call(chunk)
        elif isinstance(chunk, ReasoningChunk):
            self._reasoning(chunk)
        elif isinstance(chunk, UsageChunk):
            self._out.append(UsageReported.of(chunk))
        elif isinstance(chunk, PromptChunk):
            self._out.append(PromptProgressed(chunk.read, chunk.total))
        else:
            self._stop = chunk
        return self._take()

    def finish(self) -> list[StreamEvent]:
        if not self._finished:
            self._close()
            self._close_reasoning()
            self._close_text()
            self._finished = True
            stop = self._stop or StopChunk("tool_calls" if self._any_call_finished else "end")
            self._out.append(StreamFinished(stop.reason, stop.detail))
        return self._take()

    # What a subclass implements

    @abstractmethod
    def arguments(self, call_id: str) -> JsonValue:
        """A snapshot of a call's arguments so far; see Parser."""

    @abstractmethod
    def _text(self, text: str) -> None:
        """The next characters of the answer."""

    def _tool_call(self, chunk: ToolCallChunk) -> None:
        """A native piece in a text protocol: the provider was given no tools, so this is its mistake."""
        self._report(f"a native tool call came in a reply read as {type(self).__name__}", chunk.arguments or "")

    @abstractmethod
    def _close(self) -> None:
        """The stream ended: release what was held back, end what is open."""

    # What a subclass uses

    @property
    def stop_reason(self) -> StopReason | None:
        return self._stop.reason if self._stop else None

    def _emit_text(self, text: str) -> None:
        if not text:
            return
        if not self._text_open:
            self._close_reasoning()
            self._text_open = True
            self._out.append(TextStarted())
        self._out.append(TextDelta(text))

    def _close_text(self) -> None:
        if self._text_open:
            self._text_open = False
            self._out.append(TextFinished())

    def _new_call_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def _report(self, message: str, segment: str, name: str | None = None) -> None:
        if self._on_error is not None:
            self._on_error(ParseError(message, segment, name))

    def _call_finished(
        self, call_id: str, name: str, arguments: JsonObject, source: str, repairs: tuple[str, ...] = ()
    ) -> None:
        self._any_call_finished = True
        self._out.append(ToolCallFinished(call_id, name, arguments, source, repairs))

    def _malformed(self, call_id: str, name: str | None, source: str, message: str) -> None:
        self._out.append(ToolCallMalformed(call_id, name, source, message))
        self._report(message, source, name)

    # Common to all protocols

    def _reasoning(self, chunk: ReasoningChunk) -> None:
        if chunk.text:
            if not self._reasoning_open:
                self._close_text()
                self._reasoning_open = True
                self._out.append(ReasoningStarted())
            self._out.append(ReasoningDelta(chunk.text))
        if chunk.signature is not None:
            self._close_reasoning(chunk.signature)

    def _close_reasoning(self, signature: str | None = None) -> None:
        if self._reasoning_open:
            self._reasoning_open = False
            self._out.append(ReasoningFinished(signature))
        elif signature is not None:
            self._out += [ReasoningStarted(), ReasoningFinished(signature)]

    def _take(self) -> list[StreamEvent]:
        out, self._out = self._out, []
        return out


class Protocol(ABC):
    """How one family of models learns about tools, calls them, and gets the results."""

    name: ClassVar[str]
    in_text: ClassVar[bool] = True
    """Whether calls are written in the answer's text. If not, the provider carries them."""
    forced: ClassVar[bool] = False
    """Whether a reply is one call and nothing else, for requests that force a tool. No task is held in it."""
    thinks_in_text: ClassVar[bool] = False
    """Whether reasoning is written in the answer's text too, between markers."""
    broken_as_text: bool = True
    """Whether a call that cannot be read is text in an answer that has no other way to say so."""
    options: ClassVar[Sequence[str]] = ()
    """The names that `with_options` takes."""

    def with_options(self, /, **options: Any) -> Self:
        """The same protocol with other options, such as other tags. Raises UsageError for one it does not have."""
        for name in options:
            if name not in self.options:
                takes = f"it takes: {', '.join(self.options)}" if self.options else "it takes none"
                raise UsageError(f"the protocol {self.name} has no option {name!r}; {takes}")
        return self._with(**options) if options else self

    def _with(self, **options: Any) -> Self:
        """A copy with these of `options` set. A protocol that has any checks their values."""
        raise NotImplementedError(f"{type(self).__name__} names options but does not set them")

    @abstractmethod
    def describe(self, tools: Sequence[ToolSpec]) -> str:
        """The part of the system prompt that teaches the protocol; empty for native calls."""

    @abstractmethod
    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> Parser:
        """A parser for one reply."""

    @abstractmethod
    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> Block:
        """A call of ours in the model's own words, for the history. `tools` are those on offer, if known."""

    def encode_turn(self, calls: Sequence[ToolUseBlock], tools: Sequence[ToolSpec] = ()) -> tuple[Block, ...]:
        """Calls of one turn that follow each other, with what stands around and between them."""
        return tuple(self.encode_call(call, tools) for call in calls)

    @abstractmethod
    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        """What the tools answered, as content of the next user message. `calls` are those they answer, if known."""

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str | None:
        """What a legal reply is, in llama.cpp's GBNF, for servers that let a model write nothing else.

        `auto` is free text and any number of calls; `required` is one call or more and nothing else; `one` is one call
        and nothing else; `none` is free text without calls. Without `parallel` there is one call at most. None if the
        protocol has no grammar, as native calls do not: the provider sees to those.
        """
        return None

    @abstractmethod
    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        """What to send the model after a badly formed call, or when it called no tool: how a call is written."""


class FirstCallOnly:
    """A parser without the events behind the first call, except those that end the reply.

    Where a reply should be one call and nothing makes sure of it, some models continue with what they think the tool
    answers, and with the next call. What comes behind the first complete call is not read.
    """

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._has_call = False

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        return self._first(self._parser.feed(chunk))

    def finish(self) -> list[StreamEvent]:
        return self._first(self._parser.finish())

    def arguments(self, call_id: str) -> JsonValue:
        return self._parser.arguments(call_id)

    def _first(self, events: list[StreamEvent]) -> list[StreamEvent]:
        kept: list[StreamEvent] = []
        for event in events:
            if not self._has_call or isinstance(event, (UsageReported, StreamFinished)):
                kept.append(event)
            self._has_call = self._has_call or isinstance(event, ToolCallFinished)
        return kept
