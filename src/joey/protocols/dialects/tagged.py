"""The call grammar `tagged`: a header with the name, then one element per argument.

    <tool_call>␤<function=read_file>␤<parameter=path>␤a.py␤</parameter>␤</function>␤</tool_call>

Where a value ends. Values have no escapes, so a close tag in the text looks like the one that ends it. What follows
decides, after white space:

* the opener of another argument that was not given yet, or the call's close (and behind that the wrapper's, or another
  call, or the end, where a wrapper was opened): the value ends here;
* anything else: the tag is text.

A whole call that is quoted in a value has an opener of its own: its tags are passed over, up to its close. If it has
none, the tags at the very end of the reply end the value all the same. A value that begins with `<![CDATA[` ends at the
`]]>` before a close tag: this is how a value is written that nothing else could tell from markup.

White space inside a value is kept, but for one line break at each side where the template writes it (`trim`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from joey.protocols.dialects.calls import OpenCall, Sink, known, schema_of
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Tagged
from joey.protocols.dialects.values import any_value, is_text, parameter_kinds, typed
from joey.protocols.xml.values import leaves
from joey.wire import JsonObject, JsonValue

MAX_HEADER = 200
CDATA, CDATA_END, CDATA_SPLIT = "<![CDATA[", "]]>", "]]]]><![CDATA[>"
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NAME_ATTRIBUTES = ("name", "tool", "key")
_NAME = re.compile(r"[^\s<>\"'{}\[\]()=]+")
_ENTITIES = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}


class Header(NamedTuple):
    """A name and the attributes beside it."""

    name: str
    attributes: dict[str, str]


def read_header(text: str) -> Header | None:
    """What stands between an opener and its end: `path`, `"path" string="true"`, `key="path" type="string"`."""
    text = text.strip()
    attributes = {name: _unescape(a or b) for name, a, b in _ATTRIBUTE.findall(text)}
    for key in _NAME_ATTRIBUTES:
        if key in attributes:
            return Header(attributes[key], attributes)
    quoted = re.match(r"\"([^\"]*)\"|'([^']*)'", text)
    name = (quoted[1] or quoted[2] or "") if quoted else text.split(None, 1)[0] if text else ""
    name = name.strip()
    return Header(name, attributes) if _NAME.fullmatch(name) else None


def _unescape(text: str) -> str:
    for entity, char in _ENTITIES.items():
        text = text.replace(entity, char)
    return text


@dataclass(slots=True)
class _Value:
    """The value that is being read."""

    key: str
    kinds: tuple[str, ...]
    streams: bool
    parts: list[str] = field(default_factory=list)


class TaggedReader:
    """Reads one call behind its opener."""

    def __init__(self, sink: Sink, source: Source, spec: Tagged, section_close: tuple[str, ...] = ()) -> None:
        self._sink, self._source, self._spec = sink, source, spec
        breaks = ("\r\n", "\n", "") if spec.trim else ("",)
        self._value_ends = {lead + end: end for end in spec.value_end for lead in breaks}
        self._in_value = Markers((*self._value_ends, *spec.open))
        self._in_quoted = Markers((*self._value_ends, *spec.open, *spec.close))
        self._cdata_ends = Markers((*(CDATA_END + end for end in self._value_ends), CDATA_SPLIT))
        self._next = Markers((*spec.key, *spec.close, *spec.wrap[1], *section_close))
        self._after_call = Markers((*spec.wrap[1], *spec.wrap[0], *spec.open, *section_close))
        self._opens, self._wrap_close = Markers(spec.open), Markers(spec.wrap[1])
        self._name_ends = Markers((*spec.name_end, *spec.key, *spec.close, *([] if spec.name_end else ["\n"])))
        self._key_ends = Markers(spec.key_end)
        self._value_opens, self._kind_opens = Markers(spec.value), Markers(spec.kind[:1] if spec.kind else ())
        self._section_close = section_close
        self.openers = spec.open

    # Headers

    def read(self, opener: str, lead: str = "", *, in_section: bool = False) -> Wait[bool]:
        """What follows an opener that was taken, with the space before it. False if it was none: then it is text."""
        source = self._source
        lead += opener
        wrapped = opener in self._spec.wrap[0]
        if wrapped:
            found, end = yield from source.after_space(self._opens)
            if found is None:
                self._sink.text(lead)
                return False
            lead += source.take(end)
        header, length = yield from self._header(0)
        if header is None or (self._spec.loose and not wrapped and not in_section and not known(self._sink, header.name)):
            self._sink.text(lead)
            return False
        call = OpenCall(self._sink)
        call.markup(lead + source.take(length))
        call.start(header.name)
        yield from self.body(call, wrapped)
        return True

    def _header(self, offset: int) -> Wait[tuple[Header | None, int]]:
        """The name behind an opener, and where the header ends."""
        source = self._source
        text, found = yield from self._within(self._name_ends, offset)
        if found is None or (self._spec.name_end and found not in self._spec.name_end):
            return None, 0
        length = offset + len(text) + (len(found) if found in self._spec.name_end else 0)
        del source
        return read_header(text), length

    def _within(self, ends: Markers, offset: int) -> Wait[tuple[str, str | None]]:
        """A short text from an offset up to one of these markers, and the marker."""
        source = self._source
        while True:
            stop, found = ends.find(source.text, source.at + offset, source.last)
            length = stop - source.at - offset
            if found is not None and length <= MAX_HEADER:
                return source.text[source.at + offset : stop], found
            if length > MAX_HEADER or not (yield from source.more()):
                return "", None

    # The body

    def body(self, call: OpenCall, wrapped: bool) -> Wait[None]:
        """The arguments and what closes the call."""
        source, spec = self._source, self._spec
        arguments: dict[str, JsonValue] = {}
        current: list[_Value] = []
        call.snapshot = lambda: self._so_far(arguments, current)
        schema = schema_of(self._sink, call.name or "")
        while True:
            found, end = yield from source.after_space(self._next)
            if found in spec.key:
                header, length = yield from self._key(end)
                if header is None:
                    yield from self._skip(call, "an argument's name cannot be read")
                    return
                call.markup(source.take(length))
                value = self._begin(header, schema)
                current[:] = [value]
                ended = yield from self._value(call, value, arguments, wrapped)
                if not ended:
                    call.fail(f"the reply ended inside the argument {header.name!r}")
                    return
                arguments[header.name] = self._end_value(call, value, header)
                current.clear()
                continue
            if found in spec.close:
                call.markup(source.take(end))
                yield from self._close_wrapper(call, wrapped)
                call.finish(arguments)
                return
            if found is not None:
                call.repair("the call's close is missing")
                if found in spec.wrap[1]:
                    call.markup(source.take(end))
                call.finish(arguments)
                return
            if source.last and source.at + end >= len(source.text):
                call.markup(source.take(end))
                call.fail(f"the reply ended before {spec.close[0]}")
                return
            yield from self._skip(call, "expected an argument or the call's close")
            return

    def _close_wrapper(self, call: OpenCall, wrapped: bool) -> Wait[None]:
        if self._spec.wrap[1]:
            found, end = yield from self._source.after_space(self._wrap_close)
            if found is not None:
                call.markup(self._source.take(end))
        del wrapped

    def _skip(self, call: OpenCall, message: str) -> Wait[None]:
        """The call cannot be read: it ends with its close, or before the next opener."""
        ends = Markers((*self._spec.close, *self._spec.wrap[0], *self._spec.open, *self._section_close))
        found = yield from self._source.until(ends, call.markup)
        if found in self._spec.close:
            call.markup(found or "")
            yield from self._close_wrapper(call, True)
        elif found is not None:
            self._source.at -= len(found)
        call.fail(f"the call cannot be read: {message}")

    def _key(self, offset: int) -> Wait[tuple[Header | None, int]]:
        """The name of an argument behind its opener, and where its value begins."""
        source, spec = self._source, self._spec
        text, found = yield from self._within(self._key_ends, offset)
        if found is None:
            return None, 0
        header, length = read_header(text), offset + len(text) + len(found)
        if header is None:
            return None, 0
        if spec.kind is not None:
            kind, end = yield from source.after_space(self._kind_opens, length)
            if kind is not None:
                text, found = yield from self._within(Markers(spec.kind[1:]), end)
                header = Header(header.name, {"type": text.strip()})
                length = end + len(text) + len(found or "")
        if spec.value:
            opening, end = yield from source.after_space(self._value_opens, length)
            if opening is None:
                return None, 0
            length = end
        if spec.trim:
            ahead = yield from source.peek(2, length)
            length += 2 if ahead == "\r\n" else ahead.startswith("\n")
        return header, length

    # Values

    def _begin(self, header: Header, schema: JsonObject) -> _Value:
        kinds = parameter_kinds(schema, header.name)
        attributes = header.attributes
        stated = attributes.get("string") if self._spec.typing == "attribute" else None
        type_ = attributes.get("type") if self._spec.typing == "attribute" or self._spec.kind else None
        if stated == "true" or type_ == "string":
            kinds = ("string",)
        elif stated == "false" or type_ is not None:
            kinds = ("any",)
        return _Value(header.name, kinds, is_text(kinds))

    def _value(self, call: OpenCall, value: _Value, given: JsonObject, wrapped: bool) -> Wait[bool]:
        """Read a value and its close tag. False if the reply ended before."""
        source = self._source

        def give(text: str) -> None:
            value.parts.append(text)
            if value.streams:
                call.piece((value.key,), text, text)
            else:
                call.markup(text)

        if (yield from source.peek(len(CDATA))) == CDATA:
            return (yield from self._cdata(call, value))
        nested = 0
        while True:
            found = yield from source.until(self._in_quoted if nested else self._in_value, give)
            if found is None:
                return False
            if found in self._spec.open:
                nested += yield from self._quotes_call()
            elif found in self._value_ends:
                if (yield from self._ends_here(given, value.key, wrapped, to_the_end=nested > 0)):
                    call.markup(found)
                    return True
            else:
                nested -= 1
            give(found)

    def _cdata(self, call: OpenCall, value: _Value) -> Wait[bool]:
        source = self._source
        call.markup(source.take(len(CDATA)))

        def give(text: str, raw: str | None = None) -> None:
            value.parts.append(text)
            if value.streams:
                call.piece((value.key,), text, text if raw is None else raw)
            else:
                call.markup(text if raw is None else raw)

        while True:
            found = yield from source.until(self._cdata_ends, give)
            if found is None:
                return False
            if found != CDATA_SPLIT:
                call.markup(found)
                return True
            give(CDATA_END, found)

    def _quotes_call(self) -> Wait[int]:
        """Whether a whole header follows an opener inside a value: then a call is quoted there."""
        header, length = yield from self._header(0)
        if header is None:
            return 0
        found, _ = yield from self._source.after_space(self._next, length)
        return int(found in self._spec.key or found in self._spec.close)

    def _ends_here(self, given: JsonObject, key: str, wrapped: bool, to_the_end: bool) -> Wait[bool]:
        """Whether a close tag that was taken ends its value, by what follows it."""
        source, spec = self._source, self._spec
        found, end = yield from source.after_space(self._next)
        if found in spec.key:
            if to_the_end:
                return False
            header, _ = yield from self._key(end)
            return header is not None and header.name != key and header.name not in given
        if found is None:
            return not to_the_end and source.last and source.at + end >= len(source.text)
        if found in spec.close and (wrapped or to_the_end):
            after, stop = yield from source.after_space(self._after_call, end)
            if after is None:
                return bool(source.last and source.at + stop >= len(source.text))
            if to_the_end:
                stop = yield from source.space(stop)
                return bool(source.last and source.at + stop >= len(source.text))
        return True

    def _end_value(self, call: OpenCall, value: _Value, header: Header) -> JsonValue:
        text = "".join(value.parts)
        if value.streams:
            if not text:
                call.piece((value.key,), "", "")
            return text
        result = any_value(text) if value.kinds == ("any",) else typed(text, value.kinds)
        for path, new, literal in leaves(result, (value.key,)):
            call.piece(path, new, "", literal)
        del header
        return result

    def _so_far(self, arguments: JsonObject, current: list[_Value]) -> JsonValue:
        partial: Iterator[tuple[str, str]] = ((value.key, "".join(value.parts)) for value in current if value.streams)
        return {**arguments, **dict(partial)}
