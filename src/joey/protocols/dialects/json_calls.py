"""The call grammar `json`: the name stands inside the JSON.

    <tool_call>␤{"name": "read_file", "arguments": {"path": "a.py"}}␤</tool_call>

What stands behind an opener is read as it comes: one object, an array, objects one after another, in a code fence or
not. A value ends where JSON ends, so markers in strings are text, and a missing closer costs nothing: at the end of a
reply that was not cut by its length, complete JSON is a call. A call that holds something else where its arguments
should be is malformed: without them it would be another call.

Without an opener (`bare`) a brace or bracket begins a call only if the first key may be one of a call, and the name is
one of the tools; at the very beginning of a reply an unknown name will do, if arguments follow. Everything else is
text, and is read to its end as such: what is quoted in it is no call.
"""

from __future__ import annotations

import re

from joey.protocols.dialects.calls import OpenCall, Sink, known, schema_of, skip_broken
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Json
from joey.protocols.json.relaxed.reader import RelaxedPiece, RelaxedReader
from joey.schema.references import properties
from joey.wire import ArgumentPath, JsonObject, JsonValue

FENCES = ("```json\n", "```json\r\n", "```\n", "```JSON\n", "```tool_call\n", "```")
_BEGINS = Markers(("{", "[", *FENCES))
_MAX_PEEK, _MAX_NAMED = 48, 160
_OTHER_ARGUMENTS = ("arguments", "parameters", "args", "input", "params")
_NO_ARGUMENTS = {"type", "id", "index", "function", "call_id", "tool_call_id"}
_NAMELESS = "the call has no name"


class JsonCallReader:
    """Reads the calls behind one opener."""

    def __init__(self, sink: Sink, source: Source, spec: Json, repair: str = "") -> None:
        self._sink, self._source, self._spec, self._repair = sink, source, spec, repair
        self._close = Markers(spec.close)
        self._after = Markers((*spec.close, *spec.open, "{", "[", "}", "]", ";", ",", "```"))
        keys = "|".join(map(re.escape, (*spec.names, *spec.arguments, *spec.id, "type", "function")))
        self._first_key = re.compile(rf'\[?\s*\{{\s*"(?:{keys})"\s*:')

    # Where a call may be

    def read(self, opener: str, lead: str = "") -> Wait[bool]:
        """What follows an opener that was taken, with the space before it. False if it was none: then it is text."""
        start = yield from self._body_start()
        if start is None:
            self._sink.text(lead + opener)
            return False
        yield from self._values(lead + opener + self._source.take(start))
        return True

    def follows(self, opener: str) -> Wait[bool]:
        """Whether a call follows an opener that was taken. Nothing more is taken."""
        del opener
        return (yield from self._body_start()) is not None

    def names_a_call(self, offset: int = 0) -> Wait[bool]:
        """Whether JSON follows that names a tool on offer. Nothing is taken."""
        source = self._source
        start = inner = yield from source.space(offset)
        if (yield from source.peek(1, start)) == "[":
            inner = yield from source.space(start + 1)
        if (yield from source.peek(1, inner)) != "{":
            return False
        ahead = yield from source.peek(_MAX_NAMED, start)
        match = self._first_key.match(ahead)
        name = re.match(r'\s*"([^"]+)"', ahead[match.end() :]) if match else None
        return name is not None and known(self._sink, name[1])

    def read_bare(self, first: str, blank: bool) -> Wait[bool]:
        """A call without opener, at a bracket or fence that was taken. `blank`: only space came before it."""
        source = self._source
        lead, start = "", 0
        if first in FENCES:
            lead, start = first, (yield from source.space())
        else:
            source.unread(first)
        ahead = yield from source.peek(_MAX_PEEK, start)
        if not self._first_key.match(ahead):
            self._sink.text(first if lead else source.take(len(first)))
            return False
        return (yield from self._values(lead + source.take(start), bare=True, blank=blank))

    def _body_start(self) -> Wait[int | None]:
        start = yield from self._source.space()
        found = yield from self._source.here(_BEGINS, start)
        if found in FENCES:
            start = yield from self._source.space(start + len(found))
            found = yield from self._source.here(_BEGINS, start)
        return start if found in ("{", "[") else None

    # One value after another

    def _values(self, lead: str, *, bare: bool = False, blank: bool = False) -> Wait[bool]:
        while True:
            value = _Value(self._sink, self._source, self._spec, lead, bare, blank, self._repair)
            yield from value.read()
            if value.was_text:
                return False
            if value.failed and value.vessel is not None:
                call, fault = value.vessel, value.fault or ""
                yield from skip_broken(self._source, call, self._spec.open, self._spec.close, fault)
                return True
            more = yield from self._after_value(value, bare)
            if more is None:
                return True
            lead, blank = more, True

    def _after_value(self, value: _Value, bare: bool) -> Wait[str | None]:
        """Read up to the closer. The answer is what leads to another value, None if there is none."""
        source = self._source
        while True:
            found, end = yield from source.after_space(self._after)
            if found is None or found in self._spec.open or (bare and found in ("{", "[")):
                at_end = found is None and source.last and end >= len(source.text) - source.at
                value.end_without_closer(at_end)
                return None
            if found in self._spec.close:
                value.end(source.take(end))
                return None
            if found in ("{", "["):
                if not self._spec.close and not self._first_key.match((yield from source.peek(_MAX_PEEK, end - 1))):
                    value.end_without_closer(False)
                    return None
                value.end("")
                return source.take(end - 1)
            if found in (";", ",") and (not bare or self._spec.between):
                following, _ = yield from source.after_space(_BEGINS, end)
                if following not in ("{", "["):
                    value.end_without_closer(False)
                    return None
                value.end("")
                return source.take(end)
            if found == "```" and (value.fenced or (yield from source.after_space(self._close, end))[0]):
                value.add(source.take(end), "")
                value.fenced = False
                continue
            if found in ("}", "]") and not bare:
                value.add(source.take(end), "an extra closing bracket")
                continue
            value.end_without_closer(False)
            return None


class _Value:
    """One JSON value: a call, or an array of calls. `vessel` takes what is read for the call that is to come."""

    def __init__(
        self, sink: Sink, source: Source, spec: Json, lead: str, bare: bool, blank: bool, repair: str = ""
    ) -> None:
        self._sink, self._source, self._spec, self._repair = sink, source, spec, repair
        self._bare, self._blank = bare, blank
        self._argument_keys = (*spec.arguments, *_OTHER_ARGUMENTS)
        self._reader = RelaxedReader(duplicates=True, repair=True, stops="")
        self._reader.python = True
        self._reader.pause_after_string = True  # until it is named: of two names the first counts
        self._call_value: JsonValue = None
        self._begun = False
        self._waits: tuple[OpenCall, JsonValue] | None = None  # a complete call that waits for its closer
        self._mapped: tuple[ArgumentPath, ArgumentPath] = ((), ())
        self._any_started = False
        self._any_concluded = False
        self.vessel: OpenCall | None = self._new()
        self.vessel.markup(lead)
        self.was_text = False
        self.failed = False
        self.fenced = "```" in lead  # until the fence is closed

    @property
    def fault(self) -> str | None:
        return self._reader.fault

    # Reading

    def read(self) -> Wait[None]:
        source, reader = self._source, self._reader
        while not reader.done and reader.fault is None:
            if source.at >= len(source.text) and not (yield from source.more(self._quick)):
                reader.finish()
                break
            pieces, source.at = reader.read(source.text, source.at)
            self._take(pieces)
        if reader.fault is not None:
            self._broken()
        elif self.vessel is not None:
            self._leftover()

    def _quick(self, piece: str) -> bool:
        """More of a string argument, and nothing else."""
        call, where = self.vessel, self._reader.where
        if call is None or call.name is None:
            return False
        if where is not self._mapped[0]:
            self._mapped = (where, self._argument_path(where))
        path = self._mapped[1]
        grown = self._reader.take(piece) if path else None
        if grown is None:
            return False
        self._source.scanned += len(piece)
        call.piece(path, grown, piece)
        return True

    def _take(self, pieces: list[RelaxedPiece]) -> None:
        call, reader = self.vessel, self._reader
        if call is None:
            self._sink.text("".join(piece.raw for piece in pieces))
            return
        for piece in pieces:
            self._give(call, piece)
        level = 2 if isinstance(reader.value, list) else 1
        if not self._begun:
            container = reader.innermost
            if reader.depth == level and isinstance(container, dict):
                self._begun, self._call_value = True, container
            return
        if call.name is None:
            self._start_if_named(call)
        if reader.depth < level:
            self._conclude(call)

    def _give(self, call: OpenCall, piece: RelaxedPiece) -> None:
        path = piece.path
        if path is not self._mapped[0]:
            self._mapped = (path, self._argument_path(path))
        mapped = self._mapped[1]
        if mapped:
            call.piece(mapped, piece.text, piece.raw, piece.literal)
        else:
            call.markup(piece.raw)

    def _argument_path(self, path: ArgumentPath) -> ArgumentPath:
        inside = path[1:] if isinstance(self._reader.value, list) else path
        named = inside and (inside[0] in self._argument_keys or self._is_name(inside[0]))
        return inside[1:] if named else ()

    def _is_name(self, key: str | int) -> bool:
        """Whether a key is the name of the tool."""
        plain = key in self._spec.names or key in self._argument_keys
        return self._spec.keyed and isinstance(key, str) and (not plain or known(self._sink, key))

    def _start_if_named(self, call: OpenCall) -> None:
        given = self._call_value
        name = self._name_in(given)
        if name is None or (self._bare and not self._is_call(name, given)):
            return
        keys = list(given)
        for key in self._spec.id:
            if given.get(key) and not any(name_key in keys[: keys.index(key)] for name_key in self._spec.names):
                call.given_id = str(given[key])
        self._any_started = True
        self._reader.pause_after_string = False
        call.start(name)
        call.snapshot = self._snapshot

    def _name_in(self, given: JsonValue) -> str | None:
        first = next(iter(given), "")
        if self._is_name(first):
            return first or None
        name = next((given[key] for key in self._spec.names if key in given), None)
        return name if isinstance(name, str) and name else None

    def _is_call(self, name: str, given: JsonValue) -> bool:
        has_arguments = any(isinstance(given.get(key), dict) for key in self._spec.arguments)
        return known(self._sink, name) or (has_arguments and (self._blank or self._any_started))

    def _snapshot(self) -> JsonValue:
        value = self._reader.snapshot()
        return self._arguments_in(value[-1] if isinstance(value, list) and value else value) or {}

    def _arguments_in(self, given: JsonValue) -> JsonValue:
        return given.get(self._arguments_key(given)) if isinstance(given, dict) else None

    def _arguments_key(self, given: JsonObject) -> str | None:
        first = next(iter(given), "")
        return first if self._is_name(first) else next((key for key in self._argument_keys if key in given), None)

    def _strays(self, name: str, given: JsonObject) -> list[str]:
        """What stands where the arguments of a call should be, if there are none."""
        if self._is_name(next(iter(given), "")):
            return list(given)[1:]
        takes_none = known(self._sink, name) and not properties(schema_of(self._sink, name))
        if takes_none or self._arguments_key(given) is not None:
            return []
        return [key for key in given if key not in (*self._spec.names, *self._spec.id, *_NO_ARGUMENTS)]

    # Ends

    def _conclude(self, call: OpenCall) -> None:
        """The object is complete."""
        given = self._call_value
        if call.name is None and isinstance(given.get("function"), dict):
            self._call_value = given = given["function"]
            call.repair("a call inside another object")
            self._start_if_named(call)
        self._begun = False
        if call.name is None and self._bare and not self._any_started:
            self._give_up()
            return
        self._any_concluded = True
        if isinstance(self._reader.value, list):
            self._finish(call, given)
            self.vessel = self._new()
            self._reader.pause_after_string = True
        else:
            self._waits = (call, given)
            self.vessel = None

    def _finish(self, call: OpenCall, given: JsonValue) -> None:
        for repair in sorted(self._reader.repairs):
            call.repair(repair)
        for key in self._spec.id:
            if given.get(key) not in (None, ""):
                call.given_id = str(given[key])
        if call.name is None:
            call.fail(_NAMELESS)
        elif strays := self._strays(call.name, given):
            call.fail(f"the call cannot be read: expected a name and its arguments, got {strays[0]!r}")
        else:
            under = self._arguments_key(given)
            if under in _OTHER_ARGUMENTS and under not in self._spec.arguments:
                call.repair(f"the arguments stand under {under!r}")
            arguments = self._arguments_in(given)
            call.finish({} if arguments is None and not (self._spec.null and under) else arguments)

    def end(self, closer: str) -> None:
        """The closer came, or another call."""
        if self._waits is None:
            if closer:
                self._sink.markup(closer)
            return
        call, given = self._waits
        call.markup(closer)
        self._finish(call, given)

    def end_without_closer(self, at_end: bool) -> None:
        """No closer came. If the reply ended there and was cut by its length, the call may not be whole."""
        if self._waits is None:
            return
        call, given = self._waits
        if at_end and self._spec.close:
            call.markup(self._source.take(len(self._source.text)))
            if self._sink.stop_reason == "length":
                call.fail(f"the reply ended before {self._spec.close[0].strip()}")
                return
            call.repair("the closing marker is missing")
        self._finish(call, given)

    def add(self, raw: str, repair: str) -> None:
        if self._waits is None:
            self._sink.markup(raw)
            return
        self._waits[0].markup(raw)
        if repair:
            self._waits[0].repair(repair)

    def _leftover(self) -> None:
        """The value is whole. What followed the last call of an array is markup; a value without a call is no call."""
        call = self.vessel
        assert call is not None
        self.vessel = None
        if not self._bare and not self._any_concluded and self._reader.value != []:
            call.fail("expected an object with a name")
        elif self._any_started or not self._bare:
            self._sink.markup(call.abandon())
        else:
            self.was_text = True
            self._sink.text(call.abandon())

    def _broken(self) -> None:
        call = self.vessel
        if call is None:
            self.failed = self.was_text = True
        elif call.name is None and (self._bare or (not self._begun and self._any_started)):
            self._give_up()
        else:
            self.failed = True

    def _give_up(self) -> None:
        """It is no call: what was read is text, and so is the rest of the value."""
        assert self.vessel is not None
        self._sink.text(self.vessel.abandon())
        self.vessel = None
        self.was_text = not self._any_started

    def _new(self) -> OpenCall:
        call = OpenCall(self._sink)
        if self._repair:
            call.repair(self._repair)
        return call
