"""A reply of messages with headers, as gpt-oss, Inkling, Muse and Beam write it.

    <|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{…}<|call|>

The header says to whom a message goes: to a tool (it is a call, and one of the call grammars reads its body), to the
model itself (reasoning), or to the user. What has no header is text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol as Interface

from joey.protocols.dialects.calls import OpenCall, Sink
from joey.protocols.dialects.frame import ANY_THINK
from joey.protocols.dialects.json_calls import JsonCallReader
from joey.protocols.dialects.named_json import NamedJsonReader
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Channels, Frame, Json, NamedJson
from joey.protocols.dialects.tagged import TaggedReader

MAX_MESSAGE_HEADER = 400
_THINK, _THINK_CLOSE = Markers(ANY_THINK[:1]), Markers(ANY_THINK[1:])


class MessageSink(Sink, Interface):
    """What messages are reported to."""

    def quoted(self, marker: str) -> bool:
        """Whether a marker that comes next is only quoted."""

    def message_ended(self, *, was_call: bool) -> None:
        """The next message begins on a clean page."""


class MessageReader:
    """Reads a whole reply."""

    def __init__(self, sink: MessageSink, source: Source, spec: Channels, frame: Frame) -> None:
        self._sink, self._source, self._spec = sink, source, spec
        self._body = _body_reader(sink, source, spec, frame)
        self._begins = Markers(spec.start)
        self._anywhere = Markers((*spec.start_anywhere, *spec.ends))
        self._in_text = Markers((*spec.start_anywhere, *spec.start_in_text, *spec.ends))
        self._headers = Markers((*spec.message, *spec.ends))
        self._never_closed = False  # reasoning was opened, and the whole reply holds nothing that closes it
        self._sections, self._section_close = Markers(frame.section[0]), frame.section[1]

    def read(self) -> Wait[None]:
        source, spec = self._source, self._spec
        while True:
            opening, end = yield from source.after_space(self._begins)
            lead = source.take(end - len(opening)) if opening is not None else ""
            if opening is None:
                if (yield from self._foreign_reasoning()):
                    continue
                found = yield from self._words(thinks=False)
                if found is None:
                    return
                if found in spec.ends:
                    self._sink.markup(found)
                    continue
                source.unread(found)
            yield from self._message(opening or "", lead)

    def _foreign_reasoning(self) -> Wait[bool]:
        """Reasoning as other models write it, where a message is expected: what stands in it is no message."""
        source = self._source
        opening, end = (None, 0) if self._never_closed else (yield from source.after_space(_THINK))
        if opening is None:
            return False
        lead, held = source.take(end), list[str]()
        closing = yield from source.until(_THINK_CLOSE, held.append)
        if closing is None:
            self._never_closed = True
            self._sink.text(lead)
            source.unread("".join(held))
            return False
        self._sink.markup(lead)
        self._sink.reasoning("".join(held))
        self._sink.markup(closing)
        self._sink.message_ended(was_call=False)
        return True

    def _message(self, opening: str, lead: str) -> Wait[None]:
        """A message behind the space that was taken; text if it has no header."""
        source, spec = self._source, self._spec
        header, end = yield from source.within(self._headers, MAX_MESSAGE_HEADER)
        if end is None or end in spec.ends:
            self._sink.text(lead + source.take(max(1, len(opening))))
            return
        header = lead + source.take(len(header) + len(end))
        call = re.search(spec.recipient, header)
        if call is not None:
            yield from self._call(header, call["name"])
            self._sink.message_ended(was_call=True)
            return
        self._sink.markup(header)
        thinks = re.search(spec.reasoning, header) is not None
        found = yield from self._words(thinks=thinks)
        self._sink.message_ended(was_call=False)
        if found is not None and found not in spec.ends:
            source.unread(found)
        else:
            self._sink.markup(found or "")

    def _words(self, *, thinks: bool) -> Wait[str | None]:
        """The text of a message up to what ends it. In text, a header that is only quoted does not."""
        give = self._sink.reasoning if thinks else self._sink.text
        while True:
            found = yield from self._source.until(self._anywhere if thinks else self._in_text, give)
            if thinks or found is None or found in self._spec.ends or not self._sink.quoted(found):
                return found
            give(found)

    def _call(self, header: str, name: str) -> Wait[None]:
        reader = self._body
        if isinstance(reader, JsonCallReader):
            yield from reader.read("", header)
        elif isinstance(reader, TaggedReader) and self._section_close:
            found, end = yield from self._source.after_space(self._sections)
            self._sink.markup(header + (self._source.take(end) if found is not None else ""))
            yield from self._section(reader)
        else:
            call = OpenCall(self._sink)
            call.markup(header)
            call.start(name)
            yield from reader.body(call, False) if isinstance(reader, TaggedReader) else reader.arguments(call)

    def _section(self, reader: TaggedReader) -> Wait[None]:
        source = self._source
        markers = Markers((*reader.openers, *self._section_close))
        while True:
            found, end = yield from source.after_space(markers)
            if found is None:
                return
            self._sink.markup(source.take(end - len(found)))
            source.take(len(found))
            if found in self._section_close:
                self._sink.markup(found)
                return
            if not (yield from reader.read(found, in_section=True)):
                return


def _body_reader(
    sink: Sink, source: Source, spec: Channels, frame: Frame
) -> JsonCallReader | NamedJsonReader | TaggedReader:
    body = spec.body
    if isinstance(body, Json):
        return JsonCallReader(sink, source, replace(body, open=spec.start_anywhere))
    if isinstance(body, NamedJson):
        return NamedJsonReader(sink, source, replace(body, open=spec.start_anywhere))
    return TaggedReader(sink, source, body, frame.section, spec.ends, spec.message)
