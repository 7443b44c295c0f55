"""The frame: what of a reply is text, what is reasoning, and where calls are.

    TEXT       looks for the markers that mean something here, gives away everything else
    REASONING  the same up to its closing marker, or to a call's opener where the dialect allows that
    CALLS      the call grammar reads; inside a section, one call after another

Markup of the frame is reported as such. A closer that closes nothing is markup directly behind a call (if the
table does not say otherwise), and text elsewhere; a token that ends the turn is markup at the end of the reply only.

What is only quoted or thought of is no call. A marker inside Markdown code or in a quotation is text (`prose`). A call
inside reasoning is reasoning: only if the reply ends without the closing marker did the call end it, so that it is
held back until the end. At the beginning of a reply `<think>` opens reasoning in every dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from joey.protocols.base import OnError
from joey.protocols.dialects.frame import ANY_THINK, ReasoningMarks, marks_of
from joey.protocols.dialects.function import FunctionReader
from joey.protocols.dialects.json_calls import JsonCallReader
from joey.protocols.dialects.messages import MessageReader
from joey.protocols.dialects.named_json import NamedJsonReader
from joey.protocols.dialects.source import Source, Wait
from joey.protocols.dialects.spec import Channels, Dialect, Frame, Function, Json, NamedJson, Tagged
from joey.protocols.dialects.stepped import SteppedParser
from joey.protocols.dialects.tagged import TaggedReader
from joey.protocols.prose import Prose
from joey.toolspec import ToolSpec

CallReader: TypeAlias = JsonCallReader | NamedJsonReader | TaggedReader | FunctionReader


class DialectParser(SteppedParser):
    """Reads one reply in a dialect. `prompt_tail` is what the prompt ended with."""

    def __init__(
        self, dialect: Dialect, tools: Sequence[ToolSpec], on_error: OnError | None = None, prompt_tail: str = ""
    ) -> None:
        super().__init__(tools, on_error)
        self._dialect = dialect
        self._marks = marks_of(dialect)
        self._prompt_tail = prompt_tail

    def _reply(self) -> Wait[None]:
        calls, source, marks = self._dialect.calls, self._source, self._marks
        if isinstance(calls, Channels):
            yield from MessageReader(self, source, calls, self._dialect.frame).read()
            return
        self._call_reader = _call_reader(self, source, calls, self._dialect.frame)
        tail = self._prompt_tail.rstrip()
        if tail and marks.plain_opens and tail.endswith(marks.plain_opens):
            yield from self._reasoning_block(marks.reasoning)
        elif tail.endswith(ANY_THINK[0]):
            yield from self._reasoning_block(marks.foreign_reasoning)
        elif isinstance(calls, NamedJson) and calls.prompt_opens:
            assert isinstance(self._call_reader, NamedJsonReader)
            yield from self._call_reader.read("")
        while True:
            found = yield from source.until(marks.in_text, self.text, self._cut_marker)
            if found is None:
                return
            yield from self._marker(found)

    def _cut_marker(self, text: str) -> None:
        """The reply ended with what may be the beginning of a marker: behind a call it is one."""
        (self.markup if self._behind_call and len(text) > 1 else self.text)(text)

    def _marker(self, found: str) -> Wait[None]:
        marks = self._marks
        if found in marks.stops:
            yield from self._stop_token(found)
        elif found in self._dialect.frame.removed:
            self.markup(found)
        elif self.quoted(found, runs_on=found not in marks.bare, opens=found not in marks.closers):
            self.text(found)
        elif found in marks.section_open:
            yield from self._section(found)
        elif found in marks.call_open:
            yield from self._one_call(found)
        elif found in marks.think_open or (found in marks.foreign_think and (self._blank or self._behind_call)):
            self.markup(found)
            self._close_text()
            yield from self._reasoning_block(marks.reasoning if found in marks.think_open else marks.foreign_reasoning)
        elif found in marks.bare:
            yield from self._bare_call(found)
        elif found in marks.think_close:
            self.markup(found)
        else:
            is_markup = self._behind_call and found not in marks.foreign_think
            (self.markup if is_markup and not self._dialect.frame.stray_closers else self.text)(found)

    def _stop_token(self, found: str) -> Wait[None]:
        end = yield from self._source.space()
        at_end = self._source.last and self._source.at + end >= len(self._source.text)
        (self.markup if at_end or self._behind_call else self.text)(found)

    def _one_call(self, found: str) -> Wait[None]:
        opener = self._marks.call_open[found]
        if not found.endswith(opener):
            opener = found
        yield from self._call(opener, found.removesuffix(opener))

    def _call(self, opener: str, lead: str = "", *, in_section: bool = False) -> Wait[bool]:
        """A call behind an opener that was taken, with the space before it. False if it was none: then it is text."""
        if (yield from self._json_call(lead + opener)):
            return True
        if isinstance(self._call_reader, TaggedReader):
            return (yield from self._call_reader.read(opener, lead, in_section=in_section))
        return (yield from self._call_reader.read(opener, lead))

    def _bare_call(self, found: str) -> Wait[None]:
        assert isinstance(self._call_reader, (JsonCallReader, FunctionReader))
        yield from self._call_reader.read_bare(found, self._blank or self._behind_call)

    def _json_call(self, opener: str) -> Wait[bool]:
        """JSON where the dialect has another grammar: a model that fell back into the form that is the most common."""
        return (yield from self._json_follows()) and (yield from self._json_reader(opener).read(opener))

    def _json_follows(self, offset: int = 0) -> Wait[bool]:
        calls = self._dialect.calls
        if isinstance(calls, Json) or (isinstance(calls, NamedJson) and calls.prompt_opens):
            return False
        return (yield from self._json_reader("").names_a_call(offset))

    def _json_reader(self, opener: str) -> JsonCallReader:
        spec = Json(open=(opener,), close=tuple(self._marks.closers))
        return JsonCallReader(self, self._source, spec, repair="JSON in place of the dialect's own grammar")

    def _section(self, found: str) -> Wait[None]:
        """Calls one after another, up to the section's close or to what is no call."""
        source, marks = self._source, self._marks
        first, end = yield from source.after_space(marks.in_section)
        reader = self._call_reader
        if (
            first in marks.call_openers
            and isinstance(reader, TaggedReader)
            and not (yield from reader.reads(first, end))
            and not (yield from self._json_follows(end))
        ):
            self.text(found)
            return
        if first is None:
            if not (yield from self._json_call(found)):
                (self.markup if source.last and self._blank else self.text)(found)
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
            if not (yield from self._call(marker, in_section=True)):
                return

    def _reasoning_block(self, marks: ReasoningMarks) -> Wait[None]:
        source = self._source
        found = yield from source.until(marks.all, self.reasoning)
        while found is not None and found not in marks.close:
            if found in marks.ends:
                self._close_reasoning()
                source.unread(found)
                return
            if (yield from self._call_follows(found)):
                found = yield from self._call_or_thought(found, marks)
                break
            self.reasoning(found)
            found = yield from source.until(marks.all, self.reasoning)
        self._close_reasoning()
        self._prose = Prose()
        if found is not None:
            self.markup(found)

    def _call_or_thought(self, opener: str, marks: ReasoningMarks) -> Wait[str | None]:
        """A call stands in reasoning. The closing marker, if it comes: then the call was a thought. If the reply ends
        without it, and was not cut by its length, the call is read again, as one that ended the reasoning."""
        held = [opener]
        found = yield from self._source.until(marks.closing, held.append)
        if found is None and self.stop_reason != "length":
            self._source.unread("".join(held))
        else:
            self.reasoning("".join(held))
        return found

    def _call_follows(self, found: str) -> Wait[bool]:
        """Whether an opener inside reasoning begins a call, and is not merely mentioned there."""
        marks = self._marks
        if found in marks.section_open:
            opener, _ = yield from self._source.after_space(marks.in_section)
            return opener in marks.call_openers
        return (yield from self._call_reader.follows(marks.call_open[found]))


def _call_reader(
    parser: DialectParser, source: Source, calls: Json | NamedJson | Tagged | Function, frame: Frame
) -> CallReader:
    if isinstance(calls, Json):
        return JsonCallReader(parser, source, calls)
    if isinstance(calls, NamedJson):
        return NamedJsonReader(parser, source, calls)
    if isinstance(calls, Tagged):
        return TaggedReader(parser, source, calls, frame.section, frame.stops)
    return FunctionReader(parser, source, calls)
