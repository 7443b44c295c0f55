"""The call grammar `function`: `[read_file(path='a.py'), ping()]`, or `call:read_file{path:<|"|>a.py<|"|>}`.

Calls stand in a list, on lines, or each between its own markers. A call is complete with its closing bracket. Values
are literals (`literals`); where every value is written as text (`escaped`), the schema says what it is.

Without an opener (`bare`) a bracket begins calls only if a name and a parenthesis follow, and the name is one of the
tools; at the very beginning of a reply another plain name with keyword arguments will do. A list that continues with
something else than calls, as a comprehension does, is none: its call is malformed.
"""

from __future__ import annotations

import re

from joey.protocols.dialects.calls import OpenCall, Sink, known, schema_of, skip_broken
from joey.protocols.dialects.literals import LiteralError, LiteralReader
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Function
from joey.protocols.dialects.values import parameter_kinds, typed
from joey.wire import JsonValue

_MAX_NAME = 120
_BARE = re.compile(r"\[\s*([A-Za-z_][\w.-]*)\(")
_UNKNOWN = re.compile(r"\[\s*[A-Za-z_][\w-]*\(\s*(?:\)|[A-Za-z_]\w*\s*=(?!=))")


class FunctionReader:
    """Reads the calls behind one opener."""

    def __init__(self, sink: Sink, source: Source, spec: Function) -> None:
        self._sink, self._source, self._spec = sink, source, spec
        self._close = Markers(spec.close)
        self._name = re.compile(rf"\s*{re.escape(spec.call)}([A-Za-z_][\w.:-]*)\s*([({{])")

    def read(self, opener: str, lead: str = "") -> Wait[bool]:
        """What follows an opener that was taken, with the space before it. False if it was none: then it is text."""
        opener = lead + opener
        start, listed = yield from self._list_start()
        ahead = yield from self._source.peek(_MAX_NAME, start)
        if not self._name.match(ahead):
            self._sink.text(opener)
            return False
        yield from self._calls(opener + self._source.take(start), listed)
        return True

    def follows(self, opener: str) -> Wait[bool]:
        """Whether a call follows an opener that was taken. Nothing more is taken."""
        del opener
        start, _ = yield from self._list_start()
        return self._name.match((yield from self._source.peek(_MAX_NAME, start))) is not None

    def read_bare(self, first: str, blank: bool) -> Wait[bool]:
        """Calls without opener, at a bracket that was taken. `blank`: only space came before it."""
        self._source.unread(first)
        ahead = yield from self._source.peek(_MAX_NAME)
        match = _BARE.match(ahead)
        if not match or not (known(self._sink, match[1]) or (blank and _UNKNOWN.match(ahead))):
            self._sink.text(self._source.take(len(first)))
            return False
        yield from self._calls(self._source.take(1), True)
        return True

    def _list_start(self) -> Wait[tuple[int, bool]]:
        start = yield from self._source.space()
        if self._spec.list and (yield from self._source.peek(1, start)) == "[":
            return start + 1, True
        return start, False

    def _calls(self, lead: str, listed: bool) -> Wait[None]:
        while True:
            call = OpenCall(self._sink)
            call.markup(lead)
            arguments = yield from self._call(call)
            if arguments is None:
                return
            following, tail = yield from self._after(call, listed)
            call.markup(tail)
            if listed and following is None and not tail and (fault := (yield from self._continues())):
                yield from self._skip(call, fault)
                return
            call.finish(arguments)
            if following is None:
                return
            lead = following

    def _continues(self) -> Wait[str]:
        """What is wrong with a list that does not end behind a call; nothing if the reply does."""
        sign = yield from self._source.peek(1, (yield from self._source.space()))
        return f"expected ',' or ']' after a call, got {sign!r}" if sign else ""

    def _call(self, call: OpenCall) -> Wait[JsonValue]:
        """One call up to its closing bracket; None if it cannot be read."""
        source, spec = self._source, self._spec
        ahead = yield from source.peek(_MAX_NAME)
        match = self._name.match(ahead)
        if not match:
            yield from self._skip(call, "expected a name and a bracket")
            return None
        name, bracket = match[1], match[2]
        if ":" in name and not known(self._sink, name):
            name = name.rpartition(":")[2]
            call.repair("the name had a prefix")
        if bracket != spec.brackets[0]:
            call.repair("other brackets")
        call.markup(source.take(match.end()))
        call.start(name)
        raw = spec.quotes if spec.raw_quotes else ()
        reader = LiteralReader(source, call.piece, raw, (spec.open, spec.close), call.grow)
        try:
            arguments = yield from reader.members((), ")" if bracket == "(" else "}", spec.equals)
        except LiteralError as error:
            yield from self._skip(call, str(error))
            return None
        return self._typed(name, arguments) if spec.escaped else arguments

    def _typed(self, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
        schema = schema_of(self._sink, name)
        return {
            key: typed(value, parameter_kinds(schema, key), python=True) if isinstance(value, str) else value
            for key, value in arguments.items()
        }

    def _after(self, call: OpenCall, listed: bool) -> Wait[tuple[str | None, str]]:
        """What stands between this call and the next, or, with None, behind the last."""
        source, spec = self._source, self._spec
        start = yield from source.space()
        sign = yield from source.peek(1, start)
        if sign in (",", ";") and (listed or spec.list or spec.lines):
            if sign == ";":
                call.repair("a semicolon between calls")
            end = yield from source.space(start + 1)
            if (yield from source.peek(1, end)) != "]":
                return source.take(start + 1), ""
            sign, start = "]", end
        if listed and sign == "]":
            start += 1
            found, end = yield from source.after_space(self._close, start)
            return None, source.take(end if found else start)
        found, end = yield from source.after_space(self._close)
        if found is not None:
            return None, source.take(end)
        if not listed and spec.lines:
            ahead = yield from source.peek(_MAX_NAME, start)
            if self._name.match(ahead):
                return source.take(start), ""
        return None, ""

    def _skip(self, call: OpenCall, fault: str) -> Wait[None]:
        yield from skip_broken(self._source, call, self._spec.open, self._spec.close, fault)
