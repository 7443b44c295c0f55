"""The call grammar `named_json`: a header with the name, then the arguments as one JSON object.

    <|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>

The header is short and is read whole; a regular expression of the table says where the name and the id are. Arguments
end where their JSON ends. A name that is none of the tools is kept as it is, unless the table says that the model's
headers drift (`guess`): then prefix and counter are taken off, and a header that is a mere number is read by its
arguments: the one tool that they match.
"""

from __future__ import annotations

import re

from joey.protocols.dialects.calls import OpenCall, Sink, known, skip_broken
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import NamedJson
from joey.protocols.json.relaxed.reader import RelaxedReader
from joey.schema.references import properties, required
from joey.wire import JsonValue

MAX_HEADER = 300
_NULL = Markers(("null",))
_TAIL = Markers(("```", "}", "]"))


class NamedJsonReader:
    """Reads one call behind its opener."""

    def __init__(self, sink: Sink, source: Source, spec: NamedJson) -> None:
        self._sink, self._source, self._spec = sink, source, spec
        self._header = re.compile(spec.header, re.DOTALL)
        self._header_ends = Markers((*spec.args, *("{" if spec.brace else ""), *spec.close, *spec.open))
        self._close = Markers(spec.close)
        self._certain = {mark for mark in spec.args if len(mark) > 1}  # behind these arguments follow, named or not

    def read(self, opener: str, lead: str = "") -> Wait[bool]:
        """What follows an opener that was taken, with the space before it. False if it was none: then it is text."""
        source = self._source
        opener = lead + opener
        header, end = yield from source.within(self._header_ends, MAX_HEADER)
        match = self._header.fullmatch(header.strip())
        if end in self._certain and not match:
            call = OpenCall(self._sink)
            call.markup(opener + source.take(len(header) + len(end or "")))
            yield from self.arguments(call)
            return True
        if end is None or end in self._spec.open or not match:
            self._sink.text(opener)
            return False
        if self._spec.text_name and match["name"] == self._spec.text_name:
            self._sink.markup(opener + source.take(len(header) + len(end)))
            return True
        if not opener and not (yield from self._opens_call(match["name"], len(header) + len(end))):
            return False
        if self._spec.known_only and not known(self._sink, match["name"]):
            self._sink.text(opener)
            return False
        call = OpenCall(self._sink)
        call.markup(opener + source.take(len(header) + (len(end) if end in self._spec.args else 0)))
        call.given_id = (match.groupdict().get("id") or "").strip()
        self._name(call, match["name"].strip(), header.strip())
        yield from self.arguments(call)
        return True

    def _opens_call(self, name: str, length: int) -> Wait[bool]:
        """Whether a header whose opener stood in the prompt begins a call, and not prose."""
        start = yield from self._source.space(length)
        return known(self._sink, name) or (yield from self._source.peek(1, start)) == "{"

    def follows(self, opener: str) -> Wait[bool]:
        """Whether a call follows an opener that was taken. Nothing more is taken."""
        del opener
        header, end = yield from self._source.within(self._header_ends, MAX_HEADER)
        return end is not None and end not in self._spec.open and self._header.fullmatch(header.strip()) is not None

    def _name(self, call: OpenCall, name: str, header: str) -> None:
        if not self._spec.guess:
            call.start(name)
            return
        call.given_id = header
        if re.fullmatch(r"functions\.[\w.-]+:\d+", header) or known(self._sink, name):
            call.start(name)
            return
        for tool in self._sink.tools:
            if re.fullmatch(rf"(?:functions?)?[._]?{re.escape(tool)}[:_.]?\d*", header):
                call.repair("the name was written in another form")
                call.start(tool)
                return

    def arguments(self, call: OpenCall) -> Wait[None]:
        """The arguments and what closes the call."""
        source = self._source
        reader = RelaxedReader(duplicates=True, repair=True, stops="")
        reader.python = True
        call.snapshot = lambda: reader.snapshot() or {}

        def quick(piece: str) -> bool:
            grown = reader.take(piece) if call.name is not None else None
            if grown is not None:
                source.scanned += len(piece)
                call.piece(reader.where, grown, piece)
            return grown is not None

        empty, end = yield from source.after_space(self._close)
        if empty is not None or (source.last and source.at + end >= len(source.text)):
            call.markup(source.take(end))
            if empty is None or call.name is None:
                call.fail("the reply ended before the arguments")
            else:
                call.repair("the arguments are missing")
                call.finish({})
            return
        first = yield from source.peek(1, (yield from source.space()))
        if first == '"':
            reader.pause_after_string = True
        elif first not in ("{", "["):
            yield from self._no_object(call)
            return
        while not reader.done and reader.fault is None:
            if source.at >= len(source.text) and not (yield from source.more(quick)):
                reader.finish()
                break
            pieces, source.at = reader.read(source.text, source.at)
            for path, text, raw, literal in pieces:
                call.piece(path, text, raw, literal)
        if reader.fault is not None and not reader.done:
            yield from self._skip(call, reader.fault)
            return
        for repair in sorted(reader.repairs):
            call.repair(repair)
        yield from self._end(call, reader.value)

    def _no_object(self, call: OpenCall) -> Wait[None]:
        """Neither an object nor a list: null stands for no arguments, everything else is broken."""
        found, end = yield from self._source.after_space(_NULL)
        if found is None:
            yield from self._skip(call, "expected the arguments as an object")
            return
        call.markup(self._source.take(end))
        yield from self._end(call, None)

    def _end(self, call: OpenCall, arguments: JsonValue) -> Wait[None]:
        source, close = self._source, self._spec.close
        while close:
            found, end = yield from source.after_space(self._close)
            if found is not None:
                call.markup(source.take(end))
                break
            extra, end = yield from source.after_space(_TAIL)
            if extra is None:
                if source.last and source.at + end >= len(source.text):
                    call.markup(source.take(end))
                    if self._sink.stop_reason == "length":
                        call.fail(f"the reply ended before {close[0].strip()}")
                        return
                    call.repair("the closing marker is missing")
                break
            if extra != "```":
                call.repair("an extra closing bracket")
            call.markup(source.take(end))
        self._finish(call, {} if arguments is None and not self._spec.null else arguments)

    def _finish(self, call: OpenCall, arguments: JsonValue) -> None:
        if call.name is None:
            name = self._guess(call.given_id, arguments) if self._spec.guess else None
            if name is None:
                call.fail("the call has no name")
                return
            call.repair("the name was inferred from the arguments")
            call.start(name)
            if arguments.get("name") == name and isinstance(arguments.get("arguments"), dict):
                arguments = arguments["arguments"]
        call.finish(arguments)

    def _guess(self, header: str, arguments: JsonValue) -> str | None:
        """The tool that the arguments name; or, behind a mere number, the one tool that they match."""
        if not isinstance(arguments, dict):
            return None
        if isinstance(arguments.get("name"), str) and known(self._sink, arguments["name"]):
            return str(arguments["name"])
        if not header.isdigit():
            return None
        matching = [
            name
            for name, tool in self._sink.tools.items()
            if set(arguments) <= set(properties(tool.schema)) and set(required(tool.schema)) <= set(arguments)
        ]
        return matching[0] if len(matching) == 1 else None

    def _skip(self, call: OpenCall, fault: str) -> Wait[None]:
        yield from skip_broken(self._source, call, self._spec.open, self._spec.close, fault)
