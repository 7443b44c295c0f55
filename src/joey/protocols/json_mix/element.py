"""One element of a json_mix reply: from its start tag to its end.

A call is an object with a `name`, a non-empty string, and `arguments` (or `parameters`): an object, null, left out, or
an object written into a string. Other keys are ignored.

Where an element ends. The end tag ends it, unless it stands in a string or in a comment. But a string may be one that
the model forgot to close. So, an element is in one of three states:

    READING   the text is relaxed JSON so far. The end tag between two tokens ends the element.
    DOUBTING  the end tag was seen inside a string or comment. What follows is held back until the next token. If that
              fits, the tag was quoted, and all is released: READING. If not, if the text ends, or if comments and
              space go on for too long, the tag was the end: the call is malformed, and what was held back is read
              again as what follows the element.
    SKIPPING  the text is not JSON. The next end tag, wherever it stands, ends the malformed call.

A stretch of text can be held back and read again once for each kind of quote (a quote that would hold it back again
would have ended the string before), and comments have their limit: so the work stays linear. A start tag after complete
JSON shows that the end tag was forgotten: the call is malformed, and the next one begins. A call is never run without
its end tag: a text that stops there may have been cut off.

Several calls of one array all wait for the end tag; then they finish, in order. Their sources divide the element:
each begins at its opening brace, the first at the start tag, the last ends with the end tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from joey.events import StreamEvent, ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.protocols.buffer import partial_suffix
from joey.protocols.json.relaxed import RelaxedJsonError, RelaxedPiece, RelaxedReader, loads
from joey.wire import ArgumentPath, JsonValue

_ARGUMENTS = ("arguments", "parameters")
_MARKUP: ArgumentPath = ()
_MAX_WAIT = 200  # characters of comment and space after an end tag in doubt

Report: TypeAlias = Callable[[str, str, str | None], None]


class ElementCall:
    """One call of an element, as far as it has come."""

    __slots__ = ("call_id", "index", "name", "raws", "value")

    def __init__(self, call_id: str, value: JsonValue = None, index: int = 0) -> None:
        self.call_id = call_id
        self.value = value  # the object that the reader is filling
        self.index = index  # where it is in an array of calls
        self.name: str | None = None
        self.raws: list[str] = []

    @property
    def source(self) -> str:
        return "".join(self.raws)


class Element:
    """What stands between a start tag and its end. Events go to `out`, what the calls came to also to `finished`."""

    def __init__(self, tags: tuple[str, str], new_call_id: Callable[[], str], report: Report) -> None:
        self.out: list[StreamEvent] = []
        self.finished: dict[str, JsonValue] = {}
        self._start, self._end = tags
        self._new_call_id, self._report = new_call_id, report
        self._reader = RelaxedReader(repair=True, stops=self._start[0] + self._end[0])
        self._calls: list[ElementCall] = []
        self._call = ElementCall("")  # the one that grows; a mere vessel before the first brace
        self._waiting: list[RelaxedPiece] = []  # until the name of the call is known
        self._carry = ""  # what may be a tag between two tokens
        self._tail = ""  # what may be an end tag inside a string, or while skipping
        self._suspended: list[RelaxedPiece] | None = None
        self._suspended_since = 0
        self._wait_left = 0
        self._skipping = False
        self._saw_end = False
        self._mapped: tuple[ArgumentPath, ArgumentPath | None] = ((), None)
        self._encoded: RelaxedReader | None = None  # for arguments written into a string
        self._give([RelaxedPiece(_MARKUP, "", self._start, False)])

    # Reading

    def take(self, text: str) -> ToolCallDelta | None:
        """If the piece is nothing but more of a string argument, the delta of it. The quick way."""
        call, reader, end = self._call, self._reader, self._end
        if self._suspended is not None or call.name is None:
            return None
        tail = ""
        if self._tail or end[0] in text:
            window = self._tail + text
            if end in window:
                return None
            tail = partial_suffix(window, end)
        where, path = self._mapped
        if where is not reader.where:
            path = self._argument_path(reader.where)
        grown = reader.take(text) if path else None
        if grown is None or path is None:
            return None
        self._tail = tail
        call.raws.append(text)
        return ToolCallDelta(call.call_id, path, grown, text)

    def feed(self, text: str) -> str | None:
        """Read on. If the element ends in this text, the answer is what follows it."""
        text, self._carry = self._carry + text, ""
        if self._skipping:
            return self._skip(text, 0)
        window = self._tail + text
        ends = _ends_of(self._end, window, len(self._tail))
        position, past_stop = 0, False
        while position < len(text):
            before, waits = position, self._suspended is not None and not self._reader.in_string
            limit = min(ends[-1] if ends else len(text), position + self._wait_left if waits else len(text))
            pieces, position = self._reader.read(text, position, limit, past_stop=past_stop)
            self._give_what_was_read(pieces)
            if self._reader.fault is not None:
                return self._break(text, position)
            if waits and self._suspended is not None:
                self._wait_left -= position - before
                if self._wait_left <= 0:
                    return self._rewind(text[position:])
            past_stop = self._reader.at_stop
            if past_stop:
                rest = self._look_for_tag(text, position)
                if rest is not None or self._carry:
                    self._tail = ""
                    return rest
            if ends and position == ends[-1]:
                ends.pop()
                if self._reader.quoting:
                    self._suspend()
        self._tail = partial_suffix(window, self._end) if self._reader.quoting else ""
        return None

    def close(self) -> str:
        """The reply has ended. The answer is what must be read again."""
        self._give_or_hold([RelaxedPiece(_MARKUP, "", self._carry, False)] if self._carry else [])
        if self._suspended is not None:
            return self._rewind("")
        self._reader.finish()
        self._fail(f"the reply ended before {self._end}{self._so_far()}", reported=self._saw_end)
        return ""

    def snapshot(self, call_id: str) -> JsonValue:
        """The arguments of a call so far; None if the call is not of this element."""
        for call in self._calls:
            if call.call_id == call_id:
                value = self._reader.snapshot()
                return _partial_arguments(value[call.index] if isinstance(value, list) else value)
        return None

    @property
    def scanned(self) -> int:
        return self._reader.scanned

    # Where it ends

    def _look_for_tag(self, text: str, position: int) -> str | None:
        """At a character that may begin a tag, between two tokens."""
        if text.startswith(self._end, position):
            if self._suspended is not None and not self._reader.complete:
                return self._rewind(text[position:])
            return self._finish(text[position + len(self._end) :])
        tags = (self._end, self._start) if self._reader.done else (self._end,)
        if text.startswith(tags, position):
            if self._suspended is not None:
                return self._rewind(text[position:])
            self._fail(f"{self._start} came before {self._end}: the end of this call is missing")
            return text[position:]
        left = text[position : position + len(self._start) + len(self._end)]
        if any(tag.startswith(left) for tag in tags):
            self._carry = left
        return None

    def _suspend(self) -> None:
        self._saw_end = True
        if self._suspended is None:
            self._suspended = []
            self._suspended_since = self._reader.accepted
            self._wait_left = _MAX_WAIT
            self._reader.pause_after_string = True

    def _break(self, text: str, position: int) -> str | None:
        if self._suspended is not None:
            return self._rewind(text[position:])
        self._skipping = True
        self._tail = ""
        return self._skip(text, position)

    def _rewind(self, text: str) -> str:
        """The end tag that was in doubt was the end after all."""
        held = "".join(piece.raw for piece in self._suspended or ())
        self._suspended = None
        self._fail(f"{self._end} came inside a string or a comment that was never closed")
        return held + text

    def _skip(self, text: str, position: int) -> str | None:
        window = self._tail + text[position:]
        found = window.find(self._end)
        stop = len(text) if found < 0 else position + found + len(self._end) - len(self._tail)
        if stop > position:
            self._give([RelaxedPiece(_MARKUP, "", text[position:stop], False)])
        if found < 0:
            self._tail = partial_suffix(window, self._end)
            return None
        self._fail(f"the call cannot be read: {self._reader.fault}")
        return text[stop:]

    def _finish(self, rest: str) -> str:
        self._resolve()
        self._give([RelaxedPiece(_MARKUP, "", self._end, False)])
        self._reader.finish()
        problem = self._reader.fault or _shape_problem(self._reader.value)
        if problem:
            self._fail(f"the call cannot be read: {problem}")
        for call in self._calls:
            self._conclude(call)
        self._calls.clear()
        return rest

    # What comes out

    def _give_what_was_read(self, pieces: list[RelaxedPiece]) -> None:
        if self._suspended is not None and self._reader.accepted > self._suspended_since:
            self._resolve()
        container, depth = self._reader.innermost, self._reader.depth
        outermost = depth == 1 or (depth == 2 and isinstance(self._reader.value, list))
        if outermost and isinstance(container, dict) and container is not self._call.value:
            # The reader has paused after the opening brace. What came before it is not this call's.
            self._give([*pieces[:-1], pieces[-1]._replace(raw=pieces[-1].raw[:-1])])
            self._begin_call(container)
            pieces = [RelaxedPiece(_MARKUP, "", "{", False)]
        self._give_or_hold(pieces)
        if self._call.name is None:
            self._start_if_named()

    def _resolve(self) -> None:
        """The end tag that was in doubt was quoted."""
        suspended, self._suspended = self._suspended, None
        self._reader.pause_after_string = False
        self._give(suspended or [])

    def _give_or_hold(self, pieces: list[RelaxedPiece]) -> None:
        if self._suspended is not None:
            self._suspended += pieces
        else:
            self._give(pieces)

    def _give(self, pieces: list[RelaxedPiece]) -> None:
        self._call.raws += [piece.raw for piece in pieces]
        if self._call.name is None:
            self._waiting += pieces
        else:
            for piece in pieces:
                self._emit_delta(piece)

    def _begin_call(self, container: dict[str, JsonValue]) -> None:
        among = self._reader.value
        call = ElementCall(self._new_call_id(), container, len(among) - 1 if isinstance(among, list) else 0)
        if self._call.name is None and not self._calls:
            call.raws = self._call.raws
        elif self._call.name is None:
            self._calls.remove(self._call)
            self._waiting.clear()
            self._end_call(self._call, _NAMELESS)
        self._call = call
        self._calls.append(call)
        self._encoded = None
        self._mapped = ((), None)

    def _start_if_named(self) -> None:
        name = self._call.value.get("name") if self._calls else None
        if isinstance(name, str) and name:
            self._call.name = name
            self.out.append(ToolCallStarted(self._call.call_id, name))
            for piece in self._waiting:
                self._emit_delta(piece)
            self._waiting.clear()

    def _emit_delta(self, piece: RelaxedPiece) -> None:
        call_id, path = self._call.call_id, self._argument_path(piece.path)
        if path:
            self.out.append(ToolCallDelta(call_id, path, piece.text, piece.raw, piece.literal))
        elif path is not None and not piece.literal:
            self._emit_encoded(piece)
        else:
            self.out.append(ToolCallDelta(call_id, _MARKUP, "", piece.raw))

    def _emit_encoded(self, piece: RelaxedPiece) -> None:
        """Arguments that are written into a string grow live, too: their text is JSON of its own."""
        reader = self._encoded = self._encoded or RelaxedReader(repair=True)
        inner = reader.read(piece.text)[0] if reader.fault is None else []
        raw = piece.raw
        for path, text, _, literal in inner:
            if path:
                self.out.append(ToolCallDelta(self._call.call_id, path, text, raw, literal))
                raw = ""
        if raw:
            self.out.append(ToolCallDelta(self._call.call_id, _MARKUP, "", raw))

    def _argument_path(self, path: ArgumentPath) -> ArgumentPath | None:
        """Which argument this is; () for all of them, None for what is no argument."""
        if path is self._mapped[0]:
            return self._mapped[1]
        inside = path[1:] if isinstance(self._reader.value, list) else path
        mapped = inside[1:] if inside and inside[0] in _ARGUMENTS else None
        self._mapped = (path, mapped)
        return mapped

    def _conclude(self, call: ElementCall) -> None:
        if call.name is None:
            self._end_call(call, _NAMELESS)
            return
        arguments, problem = _arguments(call.value)
        if problem:
            self._end_call(call, problem)
        else:
            repairs = tuple(sorted(self._reader.repairs))
            self.finished[call.call_id] = arguments
            self.out.append(ToolCallFinished(call.call_id, call.name, arguments, call.source, repairs))

    def _fail(self, message: str, *, reported: bool = True) -> None:
        """All calls of the element are malformed. `reported` says whether `on_error` gets it, once."""
        calls = self._calls or [self._call]
        self._call.call_id = self._call.call_id or self._new_call_id()
        for call in calls:
            self.out.append(ToolCallMalformed(call.call_id, call.name, call.source, message))
        if reported:
            self._report(message, "".join(call.source for call in calls), calls[0].name)
        self._calls = []

    def _end_call(self, call: ElementCall, problem: str) -> None:
        self.out.append(ToolCallMalformed(call.call_id, call.name, call.source, problem))
        self._report(problem, call.source, call.name)

    def _so_far(self) -> str:
        if self._reader.complete:
            return "; its JSON is complete, but it may have been cut off"
        return f": {self._reader.fault}"


_NAMELESS = 'the call has no name: expected "name" with a non-empty string'


def _ends_of(tag: str, window: str, lead: int) -> list[int]:
    """Where the tag ends in the text that begins `lead` characters into the window, the last first."""
    ends = []
    found = window.find(tag)
    while found >= 0:
        ends.append(found + len(tag) - lead)
        found = window.find(tag, found + 1)
    return ends[::-1]


def _shape_problem(value: JsonValue) -> str | None:
    calls = value if isinstance(value, list) else [value]
    if not calls:
        return "expected a call, got an empty array"
    for call in calls:
        if not isinstance(call, dict):
            return f'expected an object with "name" and "arguments", got {json.dumps(call)[:40]}'
    return None


def _arguments(call: JsonValue) -> tuple[JsonValue, str | None]:
    """The arguments of a complete call, or what is wrong with them."""
    given = next((call[key] for key in _ARGUMENTS if key in call), None)
    if given is None or given == "":
        return {}, None
    if isinstance(given, str):
        try:
            given = loads(given, repair=True)
        except RelaxedJsonError as error:
            return None, f"the arguments are a string that holds no JSON: {error}"
    if not isinstance(given, dict):
        return None, f"the arguments must be an object, got {json.dumps(given)[:40]}"
    return given, None


def _partial_arguments(call: JsonValue) -> JsonValue:
    given = next((call[key] for key in _ARGUMENTS if key in call), None)
    if isinstance(given, str):
        reader = RelaxedReader(repair=True)
        reader.read(given)
        given = reader.snapshot()
    return given if isinstance(given, dict) else {}
