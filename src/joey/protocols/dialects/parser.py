"""The frame: what of a reply is text, what is reasoning, and where calls are.

    TEXT       looks for the markers that mean something here, gives away everything else
    REASONING  the same up to its closing marker, or to a call's opener where the dialect allows that
    CALLS      the call grammar reads; inside a section, one call after another

Markup of the frame is reported as such. A closer that closes nothing is markup directly behind a call, and text
elsewhere; a token that ends the turn is markup at the end of the reply only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TypeAlias

from joey.chunks import Chunk, TextChunk
from joey.errors import UsageError
from joey.events import MarkupDelta, ReasoningDelta, ReasoningStarted, StreamEvent
from joey.protocols.base import BaseParser, OnError
from joey.protocols.dialects.calls import OpenCall
from joey.protocols.dialects.function import FunctionReader
from joey.protocols.dialects.json_calls import FENCES, JsonCallReader
from joey.protocols.dialects.named_json import NamedJsonReader
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Channels, Dialect, Function, Json, NamedJson, Tagged
from joey.protocols.dialects.tagged import TaggedReader
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

MAX_MESSAGE_HEADER = 400

CallReader: TypeAlias = JsonCallReader | NamedJsonReader | TaggedReader | FunctionReader


class Marks:
    """The markers of a dialect's frame, put together once."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        frame, calls = dialect.frame, dialect.calls
        pairs = ((frame.think,) if frame.think else ()) + frame.more_think
        self.think_open = {form: opening for opening, _ in pairs for form in _forms(opening, after=True)}
        self.think_close = {form for _, closing in pairs for form in _forms(closing, before=True, after=True)}
        self.plain_opens = tuple(opening.strip() for opening, _ in pairs)
        wraps = calls.wrap[0] if isinstance(calls, Tagged) else ()
        openers = () if isinstance(calls, Channels) else (*wraps, *calls.open)
        self.call_open = {form: opening for opening in openers for form in _forms(opening, before=True, sep=frame.sep)}
        self.section_open = {
            form for opening in frame.section[0] for form in _forms(opening, before=True, sep=frame.sep)
        }
        self.section_close = set(frame.section[1])
        self.call_openers = set(openers)
        closes = () if isinstance(calls, Channels) else calls.close
        self.closers = {*closes, *(calls.wrap[1] if isinstance(calls, Tagged) else ()), *self.section_close}
        self.bare = _bare_marks(calls)
        self.stops = set(frame.stops)

    @cached_property
    def in_text(self) -> Markers:
        frame = self.dialect.frame
        openers = (*self.think_open, *self.call_open, *self.section_open, *self.bare)
        return Markers((*openers, *self.think_close, *self.closers, *frame.removed, *self.stops))

    @cached_property
    def in_reasoning(self) -> Markers:
        frame = self.dialect.frame
        openers = (*self.call_open, *self.section_open) if frame.call_ends_think else ()
        return Markers((*self.think_close, *openers, *frame.think_ends))

    @cached_property
    def in_section(self) -> Markers:
        return Markers((*self.call_openers, *self.section_close))


def _forms(marker: str, *, before: bool = False, after: bool = False, sep: str = "") -> list[str]:
    """A marker with and without the line breaks around it."""
    core = marker.strip("\n") if before or after else marker
    starts = {"", "\n", sep, marker[: len(marker) - len(marker.lstrip("\n"))]} if before else {""}
    ends = {"", "\n", marker[len(marker.rstrip("\n")) :]} if after else {""}
    return [start + core + end for start in starts for end in ends]


def _bare_marks(calls: object) -> tuple[str, ...]:
    if isinstance(calls, Json) and calls.bare:
        return ("{", "[", *(FENCES[:4] if calls.fenced else ()))
    return ("[",) if isinstance(calls, Function) and calls.bare else ()


@cache
def marks_of(dialect: Dialect) -> Marks:
    return Marks(dialect)


def call_reader(parser: DialectParser, source: Source, calls: object, section_close: tuple[str, ...]) -> CallReader:
    if isinstance(calls, Json):
        return JsonCallReader(parser, source, calls)
    if isinstance(calls, NamedJson):
        return NamedJsonReader(parser, source, calls)
    if isinstance(calls, Tagged):
        return TaggedReader(parser, source, calls, section_close)
    assert isinstance(calls, Function)
    return FunctionReader(parser, source, calls)


class DialectParser(BaseParser):
    """Reads one reply in a dialect. `prompt_tail` is what the prompt ended with."""

    def __init__(
        self, dialect: Dialect, tools: Sequence[ToolSpec], on_error: OnError | None = None, prompt_tail: str = ""
    ) -> None:
        super().__init__(tools, on_error)
        self._dialect = dialect
        self._marks = marks_of(dialect)
        self._source = Source()
        self._open: OpenCall | None = None
        self._finished_arguments: dict[str, JsonValue] = {}
        self._ids: set[str] = set()
        self._given: list[str] = []
        self._blank = True  # nothing but space and markup came
        self._behind_call = False  # nothing but space and markup came since a call
        self._prompt_tail = prompt_tail
        self._steps = self._reply()
        self._done = False

    @property
    def scanned(self) -> int:
        """How many characters were looked at, those that were held back more than once."""
        return self._source.scanned

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk adds. A plain string is a TextChunk."""
        quick = self._source.quick
        if quick is not None and not self._finished:
            text = chunk if type(chunk) is str else chunk.text if type(chunk) is TextChunk else ""
            if text and quick(text):
                return self._take()
        return super().feed(chunk)

    # What BaseParser wants

    def _text(self, text: str) -> None:
        if text:
            self._source.feed(text)
            self._go_on()

    def _close(self) -> None:
        self._source.end()
        self._go_on()

    def _go_on(self) -> None:
        if not self._done:
            self._done = next(self._steps, True) is True

    def arguments(self, call_id: str) -> JsonValue:
        if call_id in self._finished_arguments:
            return self._finished_arguments[call_id]
        if self._open is None or self._open.call_id != call_id:
            raise UsageError(f"there is no call {call_id!r} in this reply, or it was malformed")
        return self._open.snapshot()

    # What the readers report

    def emit(self, event: StreamEvent) -> None:
        self._out.append(event)

    def text(self, text: str) -> None:
        if not text:
            return
        if self._blank or self._behind_call:
            words = text.lstrip()
            self.markup(text[: len(text) - len(words)])
            if not words:
                return
            text, self._blank, self._behind_call = words, False, False
        self._emit_text(text)

    def reasoning(self, text: str) -> None:
        if text:
            if not self._reasoning_open:
                self._close_text()
                self._reasoning_open = True
                self._out.append(ReasoningStarted())
            self._out.append(ReasoningDelta(text))

    def markup(self, text: str) -> None:
        if text:
            self._out.append(MarkupDelta(text))

    def call_begins(self, given_id: str) -> str:
        self._close_reasoning()
        self._close_text()
        call_id = self._new_call_id()
        call_id = given_id if given_id and given_id not in self._ids else call_id
        self._ids.add(call_id)
        return call_id

    def own_id(self, given_id: str) -> str:
        """The id that the model wrote. One that counts calls and was given before is counted on."""
        if given_id in self._given and given_id.isdigit():
            given_id = str(len(self._given))
        self._given.append(given_id)
        return given_id

    def call_started(self, call: OpenCall) -> None:
        self._open = call

    def call_finished(self, call: OpenCall, arguments: JsonValue) -> None:
        self._open = None
        self._any_call_finished = True
        self._finished_arguments[call.call_id] = arguments
        self._blank, self._behind_call = False, True

    def call_failed(self, call: OpenCall, message: str) -> None:
        self._open = None
        self._blank = False
        self._report(message, call.source, call.name)

    # The frame

    def _reply(self) -> Wait[None]:
        if isinstance(self._dialect.calls, Channels):
            yield from self._messages(self._dialect.calls)
            return
        self._call_reader = call_reader(self, self._source, self._dialect.calls, tuple(self._marks.section_close))
        tail = self._prompt_tail.rstrip()
        if tail and self._marks.plain_opens and tail.endswith(self._marks.plain_opens):
            yield from self._reasoning_block()
        elif isinstance(self._dialect.calls, NamedJson) and self._dialect.calls.prompt_opens:
            yield from self._call_reader.read("")
        while True:
            found = yield from self._source.until(self._marks.in_text, self.text, self._cut_marker)
            if found is None:
                return
            yield from self._marker(found)

    def _cut_marker(self, text: str) -> None:
        """The reply ended with what may be the beginning of a marker: behind a call it is one."""
        (self.markup if self._behind_call and len(text) > 1 else self.text)(text)

    def _marker(self, found: str) -> Wait[None]:
        marks = self._marks
        if found in marks.section_open:
            yield from self._section(found)
        elif found in marks.call_open:
            yield from self._one_call(found)
        elif found in marks.think_open:
            self.markup(found)
            self._close_text()
            yield from self._reasoning_block()
        elif found in marks.bare:
            yield from self._bare_call(found)
        elif found in self._dialect.frame.removed or found in marks.think_close:
            self.markup(found)
        elif found in marks.stops:
            end = yield from self._source.space()
            at_end = self._source.last and self._source.at + end >= len(self._source.text)
            (self.markup if at_end or self._behind_call else self.text)(found)
        else:
            (self.markup if self._behind_call else self.text)(found)

    def _one_call(self, found: str) -> Wait[None]:
        opener = self._marks.call_open[found]
        if not found.endswith(opener):
            opener = found
        yield from self._call_reader.read(opener, found.removesuffix(opener))

    def _bare_call(self, found: str) -> Wait[None]:
        assert isinstance(self._call_reader, (JsonCallReader, FunctionReader))
        yield from self._call_reader.read_bare(found, self._blank or self._behind_call)

    def _section(self, found: str) -> Wait[None]:
        """Calls one after another, up to the section's close or to what is no call."""
        source, marks = self._source, self._marks
        first, _ = yield from source.after_space(marks.in_section)
        if first is None:
            at_end = source.last
            (self.markup if at_end and self._blank else self.text)(found)
            return
        self._close_reasoning()
        self.markup(found)
        while True:
            marker, end = yield from source.after_space(marks.in_section)
            if marker is None:
                return
            self.markup(source.take(end - len(marker)))
            source.take(len(marker))
            if marker in marks.section_close:
                self.markup(marker)
                self._behind_call = True
                return
            if isinstance(self._call_reader, TaggedReader):
                went = yield from self._call_reader.read(marker, in_section=True)
            else:
                went = yield from self._call_reader.read(marker)
            if not went:
                return

    def _reasoning_block(self) -> Wait[None]:
        marks = self._marks
        found = yield from self._source.until(marks.in_reasoning, self.reasoning)
        while found is not None and found not in marks.think_close:
            if (yield from self._call_follows(found)):
                self._close_reasoning()
                self._source.unread(found)
                return
            self.reasoning(found)
            found = yield from self._source.until(marks.in_reasoning, self.reasoning)
        self._close_reasoning()
        if found is not None:
            self.markup(found)

    def _call_follows(self, found: str) -> Wait[bool]:
        """Whether an opener inside reasoning begins a call, and is not merely mentioned there."""
        marks = self._marks
        if found in self._dialect.frame.think_ends:
            return True
        if found in marks.section_open:
            opener, _ = yield from self._source.after_space(marks.in_section)
            return opener in marks.call_openers
        return (yield from self._call_reader.follows(marks.call_open[found]))

    # Messages with headers

    def _messages(self, spec: Channels) -> Wait[None]:
        source = self._source
        inner = spec.body
        section = self._dialect.frame.section
        reader = call_reader(self, source, inner, section[1])
        begins, anywhere = Markers(spec.start), Markers((*spec.start_anywhere, *spec.ends))
        body_ends = Markers((*spec.ends, *spec.start_anywhere))
        messages = Markers((*spec.message, *spec.ends))
        while True:
            opening = yield from source.here(begins)
            if opening is None:
                found = yield from source.until(anywhere, self.text)
                if found is None:
                    return
                if found in spec.ends:
                    self.markup(found)
                    continue
                source.unread(found)
            header, message = yield from source.within(messages, MAX_MESSAGE_HEADER)
            if message is None or message in spec.ends:
                self.text(source.take(max(1, len(opening or ""))))
                continue
            header = source.take(len(header) + len(message))
            call = re.search(spec.recipient, header)
            if call is not None:
                yield from self._message_call(reader, header, call["name"])
            else:
                self.markup(header)
                thinks = re.search(spec.reasoning, header) is not None
                found = yield from source.until(body_ends, self.reasoning if thinks else self.text)
                self._close_reasoning()
                self._close_text()
                self._blank = True
                if found is not None and found not in spec.ends:
                    source.unread(found)
                else:
                    self.markup(found or "")

    def _message_call(self, reader: CallReader, header: str, name: str) -> Wait[None]:
        source = self._source
        if isinstance(reader, JsonCallReader):
            yield from reader.read("", header)
        elif isinstance(reader, TaggedReader) and self._dialect.frame.section[0]:
            found, end = yield from source.after_space(Markers(self._dialect.frame.section[0]))
            self.markup(header + source.take(end))
            if found is not None:
                yield from self._message_section(reader)
        elif not isinstance(reader, FunctionReader):
            call = OpenCall(self)
            call.markup(header)
            call.start(name)
            yield from reader.body(call, False) if isinstance(reader, TaggedReader) else reader.arguments(call)
        self._behind_call = True

    def _message_section(self, reader: TaggedReader) -> Wait[None]:
        source = self._source
        markers = Markers((*reader.openers, *self._dialect.frame.section[1]))
        while True:
            found, end = yield from source.after_space(markers)
            if found is None:
                return
            self.markup(source.take(end - len(found)))
            source.take(len(found))
            if found in self._dialect.frame.section[1]:
                self.markup(found)
                return
            if not (yield from reader.read(found, in_section=True)):
                return
