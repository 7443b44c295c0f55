"""Reads the `xml` protocol: the tags of Cline and Roo Code.

    I will write it.                         text
    <write_to_file>                          a call begins: the tag of a known tool, outside code
    <path>a.py</path>                        parameters, under the names in the tool's schema
    <file_text>
    print("</file_text>")
    </file_text>
    </write_to_file>                         the call is complete

States, one method each, and what moves between them:

    text   --<tool>-->  call  --<param>-->  value  --</param>-->  after
    text  <--</tool>--  call  <---- white space, then a tag of the call ----  after
                        call  --<json_parameter name=-->  json  --</json_parameter>-->  call
                        value  <-- anything else, and the parameter is long --  after
                        doubt  <-- anything else --  after
                        doubt  --</param>-->  after,  doubt  --any other tag of the call-->  call

In `value` nothing is looked for but the parameter's own closing tag; every other markup is part of the value. Whether
a closing tag is one shows in what follows it, so that `echo '</command>'` and files full of tags come through. If
something odd follows, a long parameter (see `tags`) simply goes on. Any other is in doubt: the odd text belongs
to the value if one more closing tag comes, and to nothing if not, as in the real systems. A long one that is still
open at the end of the reply ends at the call's closing tag, if that is the last line.

What the model sees as text of an argument is shown as soon as it is sure: half a closing tag, the white space before
one, and everything in doubt are kept out of the `text` of the deltas until then. Their `raw` is not held back, but
for a beginning tag, which is at most as long as the longest tag. Nothing is looked at twice but such a beginning.

Deliberately not handled: attributes or spaces in tags, other case, entities in strings, calls inside code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from joey.chunks import Chunk, TextChunk
from joey.errors import UsageError
from joey.events import StreamEvent, TextDelta, ToolCallDelta, ToolCallStarted
from joey.protocols.base import BaseParser, OnError
from joey.protocols.buffer import Pieces
from joey.protocols.prose import Prose
from joey.protocols.xml.shown import CollectedValue, ShownValue
from joey.protocols.xml.tags import (
    CUT_TAG,
    JSON_CLOSE,
    JSON_OPEN,
    WHITE_SPACE,
    CallShape,
    Parameter,
    TagSet,
    can_be_tag,
)
from joey.protocols.xml.values import leaves, read_json_parameter, read_value
from joey.toolspec import ToolSpec
from joey.wire import ArgumentPath, JsonValue

_SPACES = re.compile(f"[{WHITE_SPACE}]*")
_SHOWN_JUNK = 60


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the value of a string parameter stands in the source of its call."""

    start: int
    end: int
    parameter: Parameter


class _Call:
    """A call as far as it has come."""

    __slots__ = ("arguments", "fault", "id", "junk", "repairs", "shape", "source")

    def __init__(self, call_id: str, shape: CallShape) -> None:
        self.id = call_id
        self.shape = shape
        self.source = Pieces()
        self.arguments: dict[str, JsonValue | _Span] = {}
        self.junk = ""
        self.fault = ""
        self.repairs: tuple[str, ...] = ()

    def read_arguments(self) -> dict[str, JsonValue]:
        source = self.source.text()
        return {
            name: value.parameter.trim(source[value.start : value.end]) if isinstance(value, _Span) else value
            for name, value in self.arguments.items()
        }

    def close(self, arguments: dict[str, JsonValue]) -> None:
        """Keep the arguments alone, for those who ask for them later."""
        self.arguments = dict(arguments)
        self.source = Pieces()

    def note_junk(self, text: str) -> None:
        """Text of the call that belongs to no parameter; the beginning of it is enough to name it."""
        if len(self.junk) < _SHOWN_JUNK:
            self.junk = (self.junk + text).lstrip(WHITE_SPACE)[:_SHOWN_JUNK]


class XmlParser(BaseParser):
    """Reads one reply. `rescanned` counts the characters looked at a second time, for the tests."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        super().__init__(tools, on_error)
        self.rescanned = 0
        self._openings = {f"<{tool.name}>": tool for tool in tools if can_be_tag(tool.name)}
        self._opening_tags = TagSet(self._openings)
        self._shapes: dict[str, CallShape] = {}
        self._prose = Prose()
        self._held = ""  # may be the beginning of a tag; not yet read
        self._step: Callable[[str, int], int] = self._read_text
        self._call: _Call | None = None
        self._calls_seen: dict[str, _Call] = {}
        self._json = Pieces()  # the JSON parameter that is open
        # The parameter that is open.
        self._parameter: Parameter | None = None
        self._value: ShownValue | None = None
        self._value_start = 0
        self._value_end = -1  # where the value ends if the last closing tag was one
        self._growing = False  # whether the state is `value`

    def arguments(self, call_id: str) -> JsonValue:
        call = self._calls_seen.get(call_id)
        if call is None:
            raise UsageError(f"there is no call {call_id!r} in this reply; there are: {', '.join(self._calls_seen)}")
        arguments = call.read_arguments()
        if call is self._call and self._parameter is not None:
            arguments.update(self._open_argument(call, self._parameter))
        return arguments

    def _open_argument(self, call: _Call, parameter: Parameter) -> dict[str, JsonValue]:
        if isinstance(self._value, CollectedValue):
            value = read_value(self._value.text(), parameter.schema, call.shape.root)
            return {parameter.name: value} if isinstance(value, (dict, list)) and value else {}
        end = call.source.length if self._growing else self._value_end
        return {parameter.name: parameter.trim(call.source.text()[self._value_start : end])}

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk brings. A plain string is a TextChunk."""
        text = chunk if type(chunk) is str else chunk.text if type(chunk) is TextChunk else ""
        if text and "<" not in text and not self._held:
            # Most pieces of a long value or text: there is nothing in them to look at.
            if self._growing:
                return [self._grown(text)]
            if self._text_open and self._prose.passes(text):
                return [TextDelta(text)]
        return super().feed(chunk)

    def _text(self, text: str) -> None:
        self.rescanned += len(self._held)
        text, self._held = self._held + text, ""
        at = 0
        while at < len(text):
            at = self._step(text, at)

    def _hold(self, text: str, place: int) -> int:
        self._held = text[place:]
        return len(text)

    # text

    def _read_text(self, text: str, at: int) -> int:
        place = self._prose.next_tag(text, at)
        while place < len(text):
            tag = self._opening_tags.at(text, place)
            if tag is not None:
                self._emit_text(text[at:place])
                self._start_call(tag)
                return place + len(tag)
            if self._opening_tags.may_begin(text, place):
                break
            place = self._prose.next_tag(text, place + 1)
        self._emit_text(text[at:place])
        return self._hold(text, place)

    def _start_call(self, tag: str) -> None:
        self._close_reasoning()
        self._close_text()
        tool = self._openings[tag]
        if tool.name not in self._shapes:
            self._shapes[tool.name] = CallShape(tool)
        self._call = call = _Call(self._new_call_id(), self._shapes[tool.name])
        self._calls_seen[call.id] = call
        self._step = self._read_call
        self._out.append(ToolCallStarted(call.id, tool.name))
        self._send(tag)

    # call

    def _read_call(self, text: str, at: int) -> int:
        call = self._open_call
        place = text.find("<", at)
        self._drop(text[at:] if place < 0 else text[at:place])
        if place < 0:
            return len(text)
        tag = call.shape.tags.at(text, place)
        if tag is None:
            if call.shape.tags.may_begin(text, place):
                return self._hold(text, place)
            self._drop("<")
            return place + 1
        self._send(tag)
        if tag == call.shape.close:
            self._finish_call(call)
        elif tag == JSON_OPEN:
            self._json = Pieces()
            self._step = self._read_json
        else:
            self._open_parameter(call.shape.parameters[tag])
        return place + len(tag)

    def _drop(self, text: str) -> None:
        """Text of the call that belongs to no parameter."""
        if text:
            self._send(text)
            self._open_call.note_junk(text)

    def _finish_call(self, call: _Call) -> None:
        source, name = call.source.text(), call.shape.name
        junk = call.junk.rstrip(WHITE_SPACE)
        repairs = (*call.repairs, *((f"left out what stood outside the parameters: {junk!r}",) if junk else ()))
        arguments = call.read_arguments()
        if call.fault:
            self._malformed(call.id, name, source, call.fault)
        else:
            self._call_finished(call.id, name, arguments, source, repairs)
        call.close(arguments)
        self._call = None
        self._step = self._read_text

    # json

    def _read_json(self, text: str, at: int) -> int:
        place = text.find(JSON_CLOSE, at)
        end = place + len(JSON_CLOSE)
        if place < 0:
            place = end = _beginning(text, at, JSON_CLOSE)
        self._json.add(text[at:place])
        self._send(text[at:end])
        if end == place:
            return self._hold(text, place)
        self._read_json_parameter(self._json.text())
        self._step = self._read_call
        return end

    def _read_json_parameter(self, source: str) -> None:
        try:
            name, value = read_json_parameter(source)
        except (ValueError, RecursionError) as error:
            self._open_call.fault = (
                f"a <json_parameter> in the call of {self._open_call.shape.name} cannot be read: {error}. "
                f'Write <json_parameter name="NAME">JSON</json_parameter>'
            )
            return
        self._open_call.arguments[name] = value
        self._send_leaves(value, (name,))

    # value, after, doubt

    def _open_parameter(self, parameter: Parameter) -> None:
        self._parameter = parameter
        self._value = CollectedValue(parameter) if parameter.typed else ShownValue(parameter)
        self._value_start, self._value_end = self._open_call.source.length, -1
        self._enter_value()

    def _enter_value(self) -> None:
        self._growing = True
        self._step = self._read_value

    def _read_value(self, text: str, at: int) -> int:
        close = self._now_open[0].close
        place = text.find(close, at)
        if place < 0:
            place = _beginning(text, at, close)
            self._grow(text[at:place])
            return self._hold(text, place)
        self._grow(text[at:place])
        self._suspend_close(close)
        return place + len(close)

    def _suspend_close(self, close: str) -> None:
        """A closing tag has come. What follows will show whether it is one."""
        self._value_end = self._open_call.source.length
        self._withhold(close)
        self._growing = False
        self._step = self._read_after

    def _read_after(self, text: str, at: int) -> int:
        parameter, _ = self._now_open
        spaces = _SPACES.match(text, at)
        place = spaces.end() if spaces else at
        self._withhold(text[at:place])
        if place == len(text):
            return place
        if text[place] == "<":
            if parameter.followers.at(text, place):
                self._close_parameter()
                return place
            if parameter.followers.may_begin(text, place):
                return self._hold(text, place)
        if parameter.long:
            self._enter_value()
        else:
            self._step = self._read_unclear
        return place

    def _read_unclear(self, text: str, at: int) -> int:
        parameter, value = self._now_open
        place = text.find("<", at)
        self._withhold(text[at:] if place < 0 else text[at:place])
        if place < 0:
            return len(text)
        tag = parameter.after_unclear.at(text, place)
        if tag == parameter.close:
            self._send("", value.path, value.confirm())
            self._suspend_close(tag)
            return place + len(tag)
        if tag is not None:
            self._open_call.note_junk(value.unclear.split(parameter.close, 1)[-1])
            self._close_parameter()
            return place
        if parameter.after_unclear.may_begin(text, place):
            return self._hold(text, place)
        self._withhold("<")
        return place + 1

    def _close_parameter(self) -> None:
        call, (parameter, value) = self._open_call, self._now_open
        if isinstance(value, CollectedValue):
            read = read_value(value.text(), parameter.schema, call.shape.root)
            call.arguments[parameter.name] = read
            self._send_leaves(read, value.path)
        else:
            call.arguments[parameter.name] = _Span(self._value_start, self._value_end, parameter)
        self._end_parameter()

    def _end_parameter(self) -> None:
        self._parameter = self._value = None
        self._growing = False
        self._step = self._read_call

    # Deltas

    def _grow(self, text: str) -> None:
        if text:
            self._out.append(self._grown(text))

    def _grown(self, text: str) -> ToolCallDelta:
        call, value = self._call, self._value
        assert call is not None
        assert value is not None
        call.source.add(text)
        return ToolCallDelta(call.id, value.path, value.grow(text), text)

    def _withhold(self, text: str) -> None:
        if text:
            self._now_open[1].withhold(text)
            self._send(text)

    def _send(self, raw: str, path: ArgumentPath = (), text: str = "") -> None:
        call = self._open_call
        if raw:
            call.source.add(raw)
        if raw or text:
            self._out.append(ToolCallDelta(call.id, path, text, raw))

    def _send_leaves(self, value: JsonValue, path: ArgumentPath) -> None:
        for place, text, literal in leaves(value, path):
            self._out.append(ToolCallDelta(self._open_call.id, place, text, "", literal))

    @property
    def _open_call(self) -> _Call:
        assert self._call is not None
        return self._call

    @property
    def _now_open(self) -> tuple[Parameter, ShownValue]:
        assert self._parameter is not None
        assert self._value is not None
        return self._parameter, self._value

    # The end of the stream

    def _close(self) -> None:
        held, self._held = self._held, ""
        if self._call is None:
            self._release_text(held)
            return
        if self._growing:
            self._grow(held)
        else:
            self._send(held)
        if not self._close_at_last_chance(self._call):
            self._give_up(self._call)

    def _release_text(self, held: str) -> None:
        """What could have been the tag of a tool. A good part of one is a call that was cut off."""
        if len(held) < CUT_TAG:
            self._emit_text(held)
            return
        self._close_text()
        self._malformed(self._new_call_id(), None, held, f"the reply ended inside the tag {held!r}{self._cut()}")

    def _close_at_last_chance(self, call: _Call) -> bool:
        """A long value in a call that was closed: its own closing tag was followed by something odd, or forgotten."""
        parameter, end = self._parameter, self._value_end
        if parameter is None or not self._growing or self.stop_reason == "length":
            return False
        source = call.source.text().rstrip(WHITE_SPACE)
        if end < 0:
            return self._close_forgotten(call, parameter, source)
        junk = source[end + len(parameter.close) : len(source) - len(call.shape.close)]
        if not source.endswith(call.shape.close) or end + len(parameter.close) + len(call.shape.close) > len(source):
            return False
        call.note_junk(junk)
        self._close_parameter()
        self._finish_call(call)
        return True

    def _close_forgotten(self, call: _Call, parameter: Parameter, source: str) -> bool:
        """A long value without a closing tag, if that of the call stands in a line of its own, at the end of the reply.
        So small models end a file of HTML."""
        if parameter.end_of_call is None or not source.endswith(parameter.end_of_call):
            return False
        self._value_end = len(source) - len(call.shape.close)
        call.repairs += (f"took {call.shape.close} for the end of {parameter.tag} as well",)
        self._close_parameter()
        self._finish_call(call)
        return True

    def _give_up(self, call: _Call) -> None:
        parameter, name = self._parameter, call.shape.name
        missing = call.shape.close
        inside = f"the call of {name}"
        if parameter is not None:
            inside = f"the parameter {parameter.tag} of {name}"
            if self._growing:
                is_there = missing in call.source.text()[self._value_start :]
                missing = parameter.close if is_there else f"{parameter.close} and {missing}"
            call.arguments.update(self._open_argument(call, parameter))
            self._end_parameter()
        self._call = None
        source = call.source.text()
        call.close(call.read_arguments())
        self._malformed(call.id, name, source, f"the reply ended inside {inside}: {missing} is missing{self._cut()}")

    def _cut(self) -> str:
        if self.stop_reason != "length":
            return ". The call was not run; write it again, complete"
        return ". The reply was cut off at its length limit, so the call was not run; do it in smaller steps"


def _beginning(text: str, at: int, tag: str) -> int:
    """Where the end of the text begins to look like this tag, or the length of the text."""
    place = text.rfind("<", max(at, len(text) - len(tag) + 1))
    return place if place >= 0 and tag.startswith(text[place:]) else len(text)
