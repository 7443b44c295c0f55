"""Reading Morph-XML: a call is an element named after the tool, its arguments are elements inside it.

    <write_to_file><path>a.py</path><content>print("hi")</content></write_to_file>

The states of the parser, and what it looks for in each:

    text     `<tool>` or `<tool/>` of a known tool. Everything else is text.
    body     the call is open, no argument is. `</tool>` ends the call, `<name …>` opens an argument.
    value    an argument is open: its closing tag, by the rules of `rxml.StringEnd`, which need to know what follows it.
             A string argument is given away as it grows, entities decoded; others when the call is complete.
    section  inside a comment or a CDATA section, up to its end.

`rxml` and `coerce` make the final arguments out of the whole body, so the pieces shown while it grew and the result
are read by one set of rules.

An argument may hold its own closing tag and that of its tool. When one of them comes where it ends nothing for sure,
what follows is held back until that is settled: by a closing tag that is certain (all of it was text of the argument),
by the beginning of another call, or by the end of the stream (the call ended at the first `</tool>`; what came
after it is read again, this time without holding anything back, so that no text is read a third time).

Not handled on purpose: attributes on the tool's tag, tools that are not known (their tags are text), and recovery
of a call that was never closed: it is malformed and its source stands in the content as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from joey.chunks import Chunk, TextChunk
from joey.events import StreamEvent, TextDelta, ToolCallDelta, ToolCallMalformed, ToolCallStarted
from joey.protocols.base import BaseParser, OnError
from joey.protocols.buffer import Pieces
from joey.protocols.morph_xml.call import OpenElement, Tags, leaves, read_body
from joey.protocols.xml import relaxed as rxml
from joey.protocols.xml.entities import decode_entities
from joey.schema.references import Schema, resolve
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

_SPACE = re.compile(r"\s*")
_ANYTHING = re.compile(r"(?s).")
_TAG_EDGE = re.compile(r"[<>]")
_NOT_SPACE = re.compile(r"\S")
_ELEMENT = re.compile(r"<([^\s<>/=\"'!?&][^\s<>/=]*)([^<>]*)>")
_TAG_HEAD = re.compile(r"<(?:/\s*)?")
_PARTIAL_ENTITY = re.compile(r"&(?:[a-z]{0,4}|#[0-9]{0,7}|#[xX][0-9a-fA-F]{0,6})\Z")
_BLOCK = 8192
"""Longer chunks are read in blocks of this size, so that reading on after an early end copies no more than that."""
_SECTIONS = {"<!--": "-->", rxml.CDATA: rxml.CDATA_END}


class MorphXmlParser(BaseParser):
    """Reads one reply. `scanned` counts the characters looked at, for the tests."""

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        on_error: OnError | None = None,
        *,
        original_schemas: Mapping[str, Schema] | None = None,
    ) -> None:
        super().__init__(tools, on_error)
        self._schemas = {name: tool.schema for name, tool in self.tools.items()} | dict(original_schemas or {})
        names = sorted(self.tools, key=len, reverse=True)
        either = "|".join(map(re.escape, names)) or r"(?!)"
        self._start_tag = re.compile(rf"<({either})\s*(/?)>")
        self._start_partly = re.compile(rf"<(?:{either})\s*/?\Z")
        self._start_prefixes = {f"<{name[:end]}" for name in names for end in range(len(name) + 1)}
        self._first_letters = {"", *(name[:1] for name in names)} if names else set()
        self._call: OpenElement | None = None
        self._arguments: dict[str, JsonValue] = {}
        self._tags: dict[str, Tags] = {}
        self._waiting: list[str] = []
        self._until: re.Pattern[str] | None = None
        self._buffer = ""
        self._offset = 0
        self._read_before = 0
        self.scanned = 0

    def arguments(self, call_id: str) -> JsonValue:
        call = self._call
        if call is None or call.id != call_id:
            return self._arguments.get(call_id, {})
        return call.arguments_so_far()

    # Reading

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk brings. A plain string is a TextChunk."""
        text = chunk if type(chunk) is str else chunk.text if type(chunk) is TextChunk else ""
        if text and self._text_open and "<" not in text and not self._waiting:  # most pieces of a long text
            self.scanned += len(text)
            self._offset += len(text)
            return [TextDelta(text)]
        return super().feed(chunk)

    def _text(self, text: str) -> None:
        if len(text) > _BLOCK:
            for start in range(0, len(text), _BLOCK):
                self._text(text[start : start + _BLOCK])
            return
        self.scanned += len(text)
        if self._waiting:
            self._waiting.append(text)
            if self._until is None or self._until.search(text):
                waiting, self._waiting = self._waiting, []
                self._scan("".join(waiting))
            return
        call = self._call
        if call is None:
            if "<" not in text or not self._may_hold_start(text):
                self._offset += len(text)
                self._emit_text(text)
                return
        elif call.flows and "<" not in text and text and not ("&" in text and _PARTIAL_ENTITY.search(text)):
            self._offset += len(text)
            call.source.add(text)
            self._out.append(ToolCallDelta(call.id, call.path, decode_entities(text), text))
            return
        self._scan(text)

    def _close(self) -> None:
        tail = "".join(self._waiting)
        self._waiting = []
        call = self._call
        if call is None:
            self._emit_text(tail)
            return
        if call.kept is not None and call.ended is not None:
            call.kept.add(tail)
            self._offset += len(tail)
            self._buffer = ""
            self._end_early(call, 0)
            rest, self._buffer = self._buffer, ""
            self._text(rest)
            self._close()
            return
        self._release(call)
        call.path = ()
        call.out.append(tail)
        self._flush()
        self._call = None
        # A reply that was cut off is reported by the event alone; on_error is for what the model wrote wrongly.
        message = f"the call of {call.name} was never finished: </{call.name}> is missing"
        self._out.append(ToolCallMalformed(call.id, call.name, call.source.text(), message))

    def _scan(self, text: str) -> None:
        self._buffer, self._until = text, None
        at = 0
        while at < len(self._buffer) and self._until is None:
            at = self._step(at)
        self._offset += at
        if at < len(self._buffer):
            self._waiting = [self._buffer[at:]]
            self.scanned += len(self._buffer) - at
        self._flush()

    def _step(self, at: int) -> int:
        """Read on from here: the new place, the same one (with `_until` set) when more must be seen first."""
        call = self._call
        if call is None:
            return self._in_text(at)
        if call.section:
            return self._in_section(call, at)
        if call.key is None:
            return self._in_body(call, at)
        return self._in_value(call, at)

    def _wait(self, at: int, until: re.Pattern[str] = _ANYTHING) -> int:
        self._until = until
        return at

    # Text

    def _in_text(self, at: int) -> int:
        buffer = self._buffer
        start = buffer.find("<", at)
        while start >= 0:
            match = self._start_tag.match(buffer, start)
            if match:
                self._emit_text(buffer[at:start])
                self._begin(match[1], match.group(), start, empty=bool(match[2]))
                return match.end()
            if self._may_start(start):
                self._emit_text(buffer[at:start])
                return self._wait(start, _NOT_SPACE if buffer[-1].isspace() else _ANYTHING)
            start = buffer.find("<", start + 1)
        self._emit_text(buffer[at:])
        return len(buffer)

    def _may_hold_start(self, text: str) -> bool:
        """Whether a `<` stands before what some tool's name begins with: most text has none and can go at once."""
        start = text.find("<")
        while start >= 0:
            if text[start + 1 : start + 2] in self._first_letters:
                return True
            start = text.find("<", start + 1)
        return False

    def _may_start(self, start: int) -> bool:
        rest = self._buffer[start : start + 200]
        return rest in self._start_prefixes or self._start_partly.match(self._buffer, start) is not None

    def _begin(self, name: str, tag: str, at: int, *, empty: bool) -> None:
        self._close_text()
        eager = self._offset + at < self._read_before
        call = self._call = OpenElement(self._new_call_id(), name, self._schemas[name], eager=eager)
        self._out.append(ToolCallStarted(call.id, name))
        call.out.append(tag)
        call.body_start = len(tag)
        if empty:
            self._end(call, "")

    # Between arguments

    def _in_body(self, call: OpenElement, at: int) -> int:
        buffer = self._buffer
        if call.is_json is None and not buffer[at:].isspace():
            call.is_json = buffer[at:].lstrip().startswith("{")
        start = buffer.find("<", at)
        if start < 0:
            call.out.append(buffer[at:])
            return len(buffer)
        call.out.append(buffer[at:start])
        end = call.end_tag.match(buffer, start)
        if end:
            self._end(call, end.group())
            return end.end()
        if not call.is_json:
            after = self._open(call, start)
            if after:
                return after
        if _TAG_EDGE.search(buffer, start + 1) is None:
            return self._wait(start, _TAG_EDGE)
        call.out.append("<")
        return start + 1

    def _open(self, call: OpenElement, start: int) -> int:
        """Open the section or the argument that begins here, and go behind its tag; 0 if none does."""
        for opening, closing in _SECTIONS.items():
            if self._buffer.startswith(opening, start):
                call.section = closing
                call.out.append(opening)
                return start + len(opening)
        element = _ELEMENT.match(self._buffer, start)
        if element is None:
            return 0
        self._open_element(call, element)
        return element.end()

    def _open_element(self, call: OpenElement, element: re.Match[str]) -> None:
        self._flush()
        call.out.append(element.group())
        if element[2].endswith("/"):
            return
        key = element[1]
        root = resolve(call.schema, call.schema)
        schema = rxml.child_schema(root, key, root)
        string = rxml.takes_raw_text(schema, root)
        start = call.source.length
        self._flush()
        chosen = isinstance(schema, Mapping) and "enum" in schema
        live = string and not chosen and not element[2].strip() and key not in call.given
        call.open_value(key, self._tags_inside(key), live=live)
        call.element_start, call.value_start = start, call.source.length

    def _tags_inside(self, key: str) -> Tags:
        if key not in self._tags:
            names = sorted({key, *self.tools}, key=len, reverse=True)
            pattern = re.compile(rf"<(/\s*)?({'|'.join(map(re.escape, names))})(?=[\s/>])")
            self._tags[key] = Tags(pattern, {name[:end] for name in names for end in range(len(name) + 1)})
        return self._tags[key]

    def _in_section(self, call: OpenElement, at: int) -> int:
        """Inside a comment or a CDATA section: all of it is passed on, its end included."""
        buffer = self._buffer
        end = buffer.find(call.section, at)
        if end < 0:
            held = next((size for size in (2, 1) if buffer.endswith(call.section[:size], at)), 0)
            safe = len(buffer) - held
            call.pass_on(buffer[at:safe])
            return self._wait(safe) if safe < len(buffer) else safe
        after = end + len(call.section)
        call.pass_on(buffer[at:after])
        call.section = ""
        return after

    # Inside an argument

    def _in_value(self, call: OpenElement, at: int) -> int:
        buffer = self._buffer
        start = buffer.find("<", at)
        while start >= 0:
            tag = call.tag.match(buffer, start)
            if tag:
                edge = _TAG_EDGE.search(buffer, tag.end())
                if edge is None or edge.group() == ">":
                    call.pass_on(buffer[at:start])
                    return self._wait(start, _TAG_EDGE) if edge is None else self._at_tag(call, tag, edge.end())
            elif self._may_be_tag(call, start):
                call.pass_on(buffer[at:start])
                return self._wait(start, _NOT_SPACE if buffer[-1].isspace() else _ANYTHING)
            start = buffer.find("<", start + 1)
        partial = _PARTIAL_ENTITY.search(buffer, max(at, len(buffer) - 10)) if call.live else None
        end = partial.start() if partial else len(buffer)
        call.pass_on(buffer[at:end])
        return self._wait(end) if partial else end

    def _may_be_tag(self, call: OpenElement, start: int) -> bool:
        head = _TAG_HEAD.match(self._buffer, start).end()  # type: ignore[union-attr]
        return len(self._buffer) - head < 200 and self._buffer[head:] in call.prefixes

    def _at_tag(self, call: OpenElement, tag: re.Match[str], after: int) -> int:
        text = self._buffer[tag.start() : after]
        closing, empty = bool(tag[1]), text.endswith("/>")
        if tag[2] == call.key:
            if closing:
                return self._at_own_closing_tag(call, text, after)
            call.depth += not empty
        elif closing:
            if tag[2] == call.name:
                return self._at_tool_closing_tag(call, text, after)
        elif call.ended is not None and self._start_tag.fullmatch(text):
            begins = True if empty else self._goes_on_as_call(after)
            if begins is None:
                return self._wait(tag.start())
            if begins:
                return self._end_early(call, tag.start())
        elif tag[2] == call.name:
            call.tool_depth += not empty
        call.pass_on(text)
        return after

    def _at_own_closing_tag(self, call: OpenElement, text: str, after: int) -> int:
        certain = call.ends_value(self._buffer, after)
        if certain is None:
            return self._wait(after - len(text), _NOT_SPACE if self._buffer[-1].isspace() else _ANYTHING)
        if certain:
            self._release(call)
            self._flush()
            call.close_value()
            call.out.append(text)
            return after
        if call.depth:
            call.depth -= 1
        else:
            call.ambiguous = True
            call.hold()
        call.pass_on(text)
        return after

    def _at_tool_closing_tag(self, call: OpenElement, text: str, after: int) -> int:
        if call.tool_depth:
            call.tool_depth -= 1
        elif call.ended is None:
            kept = call.hold()
            call.ended, call.end_tag_length = kept.length + len(text), len(text)
        call.pass_on(text)
        return self._end_early(call, after) if call.eager and call.ended is not None else after

    def _goes_on_as_call(self, after: int) -> bool | None:
        """Whether what follows the opening tag of a tool looks like the inside of a call; None if not seen yet."""
        following = _SPACE.match(self._buffer, after).end()  # type: ignore[union-attr]
        rest = self._buffer[following : following + 2]
        if rest in ("", "<"):
            return None
        return rest == "</" or rxml.OPENING.match(rest) is not None

    # Passing on

    def _release(self, call: OpenElement) -> None:
        """What was held back is text of the argument after all."""
        if call.kept is None:
            return
        held, call.kept = call.kept.text(), None
        self._flush()
        call.out.append(held)
        self._flush()

    def _flush(self) -> None:
        delta = self._call.take_delta() if self._call else None
        if delta:
            self._out.append(delta)

    # Ends

    def _end_early(self, call: OpenElement, at: int) -> int:
        """The call ended at its first `</tool>`: finish it there and read what came after it again."""
        held = call.hold().text()
        mine, rest = held[: call.ended], held[call.ended :]
        call.kept = None
        self._flush()
        call.path = ()
        call.out.append(mine)
        self._end(call, "")
        self._read_before = max(self._read_before, self._offset + at)
        self._offset += at - len(rest)
        self._buffer = rest + self._buffer[at:]
        self.scanned += len(rest)
        return 0

    def _end(self, call: OpenElement, tag: str) -> None:
        call.out.append(tag)
        self._flush()
        self._call = None
        source = call.source.text()
        call.source = Pieces()  # a long call should not stay in memory in pieces as well
        body = source[call.body_start : len(source) - (len(tag) or call.end_tag_length)]
        try:
            arguments = read_body(body, call.schema)
        except rxml.RxmlError as error:
            self._malformed(call.id, call.name, source, f"the arguments of {call.name} cannot be read: {error}")
            return
        for key, value in arguments.items():
            if key not in call.streamed:
                self._out += [
                    ToolCallDelta(call.id, path, text, "", literal) for path, text, literal in leaves((key,), value)
                ]
        self._arguments[call.id] = arguments
        self._call_finished(call.id, call.name, arguments, source)
