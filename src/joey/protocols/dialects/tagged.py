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

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from joey.protocols.dialects import nested
from joey.protocols.dialects.calls import OpenCall, Sink, known, schema_of
from joey.protocols.dialects.headers import Header, read_header
from joey.protocols.dialects.named_json import NamedJsonReader
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import NamedJson, Tagged
from joey.protocols.dialects.values import any_value, is_text, parameter_kinds, typed
from joey.protocols.xml.values import leaves
from joey.schema.references import properties
from joey.wire import JsonObject, JsonValue

MAX_HEADER = 200
_MAX_CLOSERS = 1000
"""Characters of closers at the end of a reply: what has more of them repeats itself."""
CDATA, CDATA_END, CDATA_SPLIT = "<![CDATA[", "]]>", "]]]]><![CDATA[>"
_CDATA_OPENS = Markers((CDATA,))
_CAME_TO_ITS_END = ("end", "tool_calls", "stop_sequence")


@dataclass(slots=True)
class _Value:
    """The value that is being read."""

    key: str
    kinds: tuple[str, ...]
    streams: bool
    parts: list[str] = field(default_factory=list)


class TaggedReader:
    """Reads one call behind its opener."""

    def __init__(
        self,
        sink: Sink,
        source: Source,
        spec: Tagged,
        section: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        stops: tuple[str, ...] = (),
        bodies: tuple[str, ...] = (),
    ) -> None:
        self._sink, self._source, self._spec = sink, source, spec
        self._section_open, self._section_close = section
        section_close = self._section_close
        self._bodies = bodies if not spec.open else ()  # what a call begins with that has no opener of its own
        self._watch(spec.value_end)
        self._next = Markers((*spec.key, *spec.close, *spec.wrap[1], *section_close))
        self._after_call = Markers((*spec.wrap[1], *spec.wrap[0], *spec.open, *section_close))
        self._opens = Markers((*spec.open, *(opener.removeprefix("<") for opener in spec.open)))
        self._wrap_close = Markers(spec.wrap[1])
        self._name_ends = Markers((*spec.name_end, *spec.key, *spec.close, *([] if spec.name_end else ["\n"])))
        self._key_ends = Markers(spec.key_end)
        self._value_opens, self._kind_opens = Markers(spec.value), Markers(spec.kind[:1] if spec.kind else ())
        self._outer = {*spec.wrap[1], *section_close}
        self._closers = Markers((*spec.close, *self._outer, *stops))
        self._declared: JsonObject = {}  # the arguments that the tool of this call declares
        self._more_until = 0  # up to this place of the reply it is known that more than closers follows
        self.openers = spec.open

    def _watch(self, value_end: tuple[str, ...], inner: str = "") -> None:
        """Values end with these tags; `inner` opens an element of the same name in one."""
        spec = self._spec
        self._inner = inner
        breaks = ("\r\n", "\n", "") if spec.trim else ("",)
        self._value_ends = {lead + end for end in value_end for lead in breaks}
        line_keys = tuple(lead + key for key in spec.key for lead in ("\r\n", "\n")) if spec.trim else ()
        line_closes = tuple(lead + close for close in spec.close for lead in ("\r\n", "\n"))
        inside = (*self._value_ends, *spec.open, *self._bodies, *spec.close, *([inner] if inner else []))
        self._in_value, self._in_quoted = Markers((*inside, *line_closes, *line_keys)), Markers(inside)
        self._cdata_ends = Markers((*(CDATA_END + end for end in self._value_ends), CDATA_SPLIT))

    # Headers

    def read(self, opener: str, lead: str = "", *, in_section: bool = False) -> Wait[bool]:
        """What follows an opener that was taken, with the space before it. False if it was none: then it is text."""
        source = self._source
        lead += opener
        wrapped, broken = opener in self._spec.wrap[0], False
        if wrapped:
            found, end = yield from source.after_space(self._opens)
            if found is None:
                self._sink.text(lead)
                return False
            lead += source.take(end)
            broken = found not in self._spec.open
        header, length = yield from self._header(0)
        loose = self._spec.loose and not wrapped and not in_section
        torn = lead == opener and bool(self._outer) and self._sink.in_word
        if header is None or (loose and (torn or not (yield from self._is_certain(header, length)))):
            self._sink.text(lead)
            return False
        call = OpenCall(self._sink)
        call.markup(lead + source.take(length))
        if not header.name:
            yield from self._skip(call, "it has no name")
            return True
        call.start(header.name)
        if broken:
            call.repair("the opener is not whole")
        if not header.closed:
            yield from self.body(call, wrapped)
            return True
        yield from self._close_wrapper(call)
        call.finish({})
        return True

    def _is_certain(self, header: Header, length: int) -> Wait[bool]:
        """Whether a header that may stand in prose begins a call: arguments follow, or the close; or, if it names a
        tool, arguments in another form, or nothing more."""
        source = self._source
        found, _ = yield from source.after_space(self._next, length)
        opens = found in self._spec.key or found in self._spec.close
        if opens or not known(self._sink, header.name):
            return opens and bool(header.name)
        return (yield from source.peek(1, (yield from source.space(length)))) in ("", "{", "<")

    def follows(self, opener: str) -> Wait[bool]:
        """Whether a call follows an opener that was taken. Nothing more is taken."""
        header = yield from self._header_behind(opener, 0)
        return header is not None and bool(header.name)

    def reads(self, opener: str, end: int) -> Wait[bool]:
        """Whether an opener that ends at this place has a header, be it one with an empty name."""
        header = yield from self._header_behind(opener, end)
        return header is not None and bool(header.name or self._spec.name_end)

    def _header_behind(self, opener: str, end: int) -> Wait[Header | None]:
        if opener in self._spec.wrap[0]:
            found, end = yield from self._source.after_space(self._opens, end)
            if found is None:
                return None
        return (yield from self._header(end))[0]

    def _header(self, offset: int) -> Wait[tuple[Header | None, int]]:
        """The name behind an opener, and where the header ends."""
        source = self._source
        text, found = yield from source.within(self._name_ends, MAX_HEADER, offset)
        if found is None or (self._spec.name_end and found not in self._spec.name_end):
            return None, 0
        length = offset + len(text) + (len(found) if found in self._spec.name_end else 0)
        header = read_header(text)
        if header is not None and not header.name and not self._spec.name_end:
            following, _ = yield from source.after_space(self._next, offset + len(text))
            header = header if following in self._spec.key else None
        return (header, length) if header is not None else (None, 0)

    # The body

    def body(self, call: OpenCall, wrapped: bool) -> Wait[None]:
        """The arguments and what closes the call."""
        source, spec = self._source, self._spec
        arguments: dict[str, JsonValue] = {}
        current: list[_Value] = []
        call.snapshot = lambda: self._so_far(arguments, current)
        schema = schema_of(self._sink, call.name or "")
        self._declared = properties(schema)
        while True:
            found, end = yield from source.after_space(self._next)
            if found in spec.key:
                header, length = yield from self._key(end)
                if header is None:
                    key, length = yield from self._valueless(end)
                    if key:
                        call.repair(f"the argument {key!r} has no value")
                        call.markup(source.take(length))
                        continue
                    yield from self._skip(call, "an argument's name cannot be read")
                    return
                call.markup(source.take(length))
                value = self._begin(header, schema)
                current[:] = [value]
                if spec.nested:
                    value.streams = value.streams and not (yield from self._has_elements())
                if spec.own_tags:
                    inner = f"{spec.key[0]}{header.name}>" if spec.nested and not value.streams else ""
                    self._watch((f"{spec.value_end[0]}{header.name}>",), inner)
                ended = yield from self._value(call, value, arguments, wrapped)
                if not ended:
                    call.fail(f"the reply ended inside the argument {header.name!r}")
                    return
                arguments[header.name] = self._end_value(call, value, schema)
                current.clear()
                continue
            if found in spec.close:
                call.markup(source.take(end))
                yield from self._close_wrapper(call)
                call.finish(arguments)
                return
            if found is None and not arguments and (yield from self._other_form(call, wrapped)):
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

    def _other_form(self, call: OpenCall, wrapped: bool) -> Wait[bool]:
        """Arguments that are not written in the dialect's elements: under tags of their own names, or as JSON."""
        source, spec = self._source, self._spec
        if (yield from self._own_tags()):
            call.repair("arguments under tags of their own names")
            yield from self._in_own_tags().body(call, wrapped)
            return True
        if (yield from source.peek(1, (yield from source.space()))) != "{":
            return False
        call.repair("the arguments as JSON")
        yield from NamedJsonReader(self._sink, source, NamedJson(spec.open, "", (), spec.close)).arguments(call)
        return True

    def _has_elements(self) -> Wait[bool]:
        key = self._spec.key[0]
        ahead = yield from self._source.peek(len(key) + 1)
        return ahead.startswith(key) and not ahead.endswith("/")

    def _own_tags(self) -> Wait[bool]:
        """Whether an element follows that has the name of an argument."""
        source = self._source
        ahead = yield from source.peek(MAX_HEADER, (yield from source.space()))
        tag = re.match(r"<([^<>/\s]+)>", ahead)
        return tag is not None and tag[1] in self._declared

    def _in_own_tags(self) -> TaggedReader:
        spec = replace(self._spec, key=("<",), key_end=(">",), value=(), value_end=("</",), own_tags=True)
        return TaggedReader(self._sink, self._source, spec, (self._section_open, self._section_close))

    def _close_wrapper(self, call: OpenCall) -> Wait[None]:
        if self._spec.wrap[1]:
            found, end = yield from self._source.after_space(self._wrap_close)
            if found is not None:
                call.markup(self._source.take(end))

    def _skip(self, call: OpenCall, message: str) -> Wait[None]:
        """The call cannot be read: it ends with its close, or before the next opener."""
        ends = Markers((*self._spec.close, *self._spec.wrap[0], *self._spec.open, *self._section_close))
        found = yield from self._source.until(ends, call.markup)
        if found in self._spec.close:
            call.markup(found or "")
            yield from self._close_wrapper(call)
        elif found is not None:
            self._source.unread(found)
        call.fail(f"the call cannot be read: {message}")

    def _key(self, offset: int) -> Wait[tuple[Header | None, int]]:
        """The name of an argument behind its opener, and where its value begins."""
        source, spec = self._source, self._spec
        text, found = yield from source.within(self._key_ends, MAX_HEADER, offset)
        if found is None:
            return None, 0
        whole, length = text.strip(), offset + len(text) + len(found)
        plain = whole in self._declared or (spec.value and "\n" not in whole and "<" not in whole)
        header = Header(whole, {}) if plain else read_header(text)
        if header is None or not header.name or (spec.own_tags and not spec.nested and not plain):
            return None, 0
        if spec.kind is not None:
            kind, end = yield from source.after_space(self._kind_opens, length)
            if kind is not None:
                text, found = yield from source.within(Markers(spec.kind[1:]), MAX_HEADER, end)
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

    def _valueless(self, offset: int) -> Wait[tuple[str, int]]:
        """The name of an argument behind which the call is closed, and where it ends. If the tool declares it there is
        none: without it, it would be another call."""
        text, found = yield from self._source.within(self._key_ends, MAX_HEADER, offset)
        key, end = text.strip(), offset + len(text) + len(found or "")
        if not self._spec.value or not found or "<" in key or key in self._declared:
            return "", 0
        following, _ = yield from self._source.after_space(self._next, end)
        return (key, end) if following in self._spec.close else ("", 0)

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

        path = (value.key,)

        def give(text: str) -> None:
            value.parts.append(text)
            if value.streams:
                call.grow(path, text)
            else:
                call.markup(text)

        if (yield from source.here(_CDATA_OPENS)):
            if not self._spec.cdata and ("string" in value.kinds or not value.kinds):
                value.kinds, value.streams = (), True
            return (yield from self._cdata(call, value))
        quoted = depth = 0
        while True:
            found = yield from source.until(self._in_quoted if quoted else self._in_value, give)
            if found is None:
                return False
            if found == self._inner:
                depth += 1
            elif depth and found in self._value_ends:
                depth -= 1
            elif found in self._spec.open or found in self._bodies:
                quoted += yield from self._quotes_call(found)
            elif found in self._value_ends:
                if (yield from self._ends_here(wrapped, value if quoted else None)):
                    call.markup(found)
                    return True
            elif quoted:
                quoted -= found in self._spec.close
            elif (yield from self._close_is_missing(found, given, value.key)):
                call.repair(f"the end of the argument {value.key!r} is missing")
                source.unread(found)
                return True
            give(found)

    def _close_is_missing(self, found: str, given: JsonObject, key: str) -> Wait[bool]:
        """Whether a value ends without its close tag: at the call's close, with the line break before it, if nothing
        but closers follows to the end of the reply; or, where values stand on lines of their own, at a line that opens
        another argument which the tool declares and which was not given."""
        if found.lstrip() in self._spec.close:
            return (yield from self._reply_ends(None))
        header, _ = yield from self._key(0)
        name = header.name if header is not None else ""
        return name in self._declared and name != key and name not in given

    def _reply_ends(self, quoting: _Value | None) -> Wait[bool]:
        """Whether nothing but closers follows to the end of the reply, and it was not cut in a text that quotes them:
        there are more closers around the call than a text that quotes calls opens, or the server says so."""
        source, offset, outer = self._source, 0, 0
        if source.position < self._more_until:
            return False
        while True:
            found, end = yield from source.after_space(self._closers, offset)
            if found is None or end > _MAX_CLOSERS:
                break
            outer += found in self._outer
            offset = end
        if found is not None or not source.last or source.at + end < len(source.text):
            self._more_until = source.position + offset
            return False
        if self._sink.stop_reason == "length":
            return False
        text = "".join(quoting.parts) if quoting is not None else ""
        opened = sum(text.count(opener) for opener in (*self._spec.wrap[0], *self._section_open))
        return outer > opened or self._sink.stop_reason in _CAME_TO_ITS_END

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

    def _quotes_call(self, opener: str) -> Wait[int]:
        """Whether a whole header follows an opener inside a value: then a call is quoted there."""
        header, length = (None, 0) if opener in self._bodies else (yield from self._header(0))
        if header is None and opener not in self._bodies:
            return 0
        found, _ = yield from self._source.after_space(self._next, length)
        return int(found in self._spec.key or found in self._spec.close)

    def _ends_here(self, wrapped: bool, quoting: _Value | None) -> Wait[bool]:
        """Whether a close tag that was taken ends its value, by what follows it. `quoting`: a call is quoted in this
        value that was not closed, so that only the end of the reply can tell."""
        source, spec = self._source, self._spec
        if quoting is not None:
            return (yield from self._reply_ends(quoting))
        found, end = yield from source.after_space(self._next)
        if found in spec.key:
            header, _ = yield from self._key(end)
            return header is not None or bool((yield from self._valueless(end))[0])
        if found is None:
            return bool(source.last and source.at + end >= len(source.text))
        if found in spec.close and wrapped:
            after, stop = yield from source.after_space(self._after_call, end)
            return after is not None or bool(source.last and source.at + stop >= len(source.text))
        return True

    def _end_value(self, call: OpenCall, value: _Value, schema: JsonObject) -> JsonValue:
        text = "".join(value.parts)
        if value.streams:
            if not text:
                call.piece((value.key,), "", "")
            return text
        result = self._typed(value, text, schema)
        for path, new, literal in leaves(result, (value.key,)):
            call.piece(path, new, "", literal)
        return result

    def _typed(self, value: _Value, text: str, schema: JsonObject) -> JsonValue:
        if value.kinds == ("any",):
            return any_value(text)
        node = nested.tree(text, self._spec.key[0][:-1]) if self._spec.nested else None
        other = value.kinds and set(value.kinds) != {"string"} and {"object", "array"}.isdisjoint(value.kinds)
        if node is None or other:
            return typed(text, value.kinds, self._spec.reading, python=self._spec.python)
        if is_text(value.kinds) and node.children and value.kinds:
            return json.dumps(nested.value_of(node, {}, schema), ensure_ascii=False)
        return nested.value_of(node, properties(schema).get(value.key), schema, self._spec.reading)

    def _so_far(self, arguments: JsonObject, current: list[_Value]) -> JsonValue:
        partial: Iterator[tuple[str, str]] = ((value.key, "".join(value.parts)) for value in current if value.streams)
        return {**arguments, **dict(partial)}
