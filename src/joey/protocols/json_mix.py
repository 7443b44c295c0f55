"""JSON in tags: `<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>`, amid plain text.

Outside an element everything is text; a TagScanner holds back what may be the beginning of the start tag. Inside, a
RelaxedReader reads the JSON as it comes, so that a call starts when its name is known and its arguments grow live.
What is between the tags: one call, or an array of calls. A call is an object with a `name`, a non-empty string, and
`arguments` (or `parameters`): an object, null, left out, or an object written into a string. Other keys are ignored.

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

Deliberately not handled: tags with attributes, spaces or other case; unescaped quotes in strings (guessing where a
file's text ends would write the wrong file); calls without tags. All of them stay text, or are reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from joey.errors import UsageError
from joey.events import ArgumentPath, StreamEvent, ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.messages import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Parser, Protocol
from joey.protocols.buffer import TagScanner, partial_suffix
from joey.protocols.example import example_arguments
from joey.protocols.rjson import Piece, RelaxedJsonError, RelaxedReader, loads
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

_ARGUMENTS = ("arguments", "parameters")
_MARKUP: ArgumentPath = ()
_PATIENCE = 200  # characters of comment and space after an end tag in doubt

Report: TypeAlias = Callable[[str, str, str | None], None]


class _Call:
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


class _Element:
    """What stands between a start tag and its end. Events go to `out`, what the calls came to also to `finished`."""

    def __init__(self, tags: tuple[str, str], new_call_id: Callable[[], str], report: Report) -> None:
        self.out: list[StreamEvent] = []
        self.finished: dict[str, JsonValue] = {}
        self._start, self._end = tags
        self._new_call_id, self._report = new_call_id, report
        self._reader = RelaxedReader(mend=True, stops=self._start[0] + self._end[0])
        self._calls: list[_Call] = []
        self._call = _Call("")  # the one that grows; a mere vessel before the first brace
        self._waiting: list[Piece] = []  # until the name of the call is known
        self._carry = ""  # what may be a tag between two tokens
        self._tail = ""  # what may be an end tag inside a string, or while skipping
        self._doubted: list[Piece] | None = None
        self._doubted_since = 0
        self._patience = 0
        self._skipping = False
        self._saw_end = False
        self._mapped: tuple[ArgumentPath, ArgumentPath | None] = ((), None)
        self._encoded: RelaxedReader | None = None  # for arguments written into a string
        self._give([Piece(_MARKUP, "", self._start, False)])

    # Reading

    def take(self, text: str) -> ToolCallDelta | None:
        """If the piece is nothing but more of a string argument, the delta of it. The quick way."""
        if self._end[0] in text or self._tail or self._doubted is not None or self._call.name is None:
            return None
        path = self._argument_path(self._reader.where)
        if not path or not self._reader.take(text):
            return None
        self._call.raws.append(text)
        return ToolCallDelta(self._call.call_id, path, text, text)

    def feed(self, text: str) -> str | None:
        """Read on. If the element ends in this text, the answer is what follows it."""
        text, self._carry = self._carry + text, ""
        if self._skipping:
            return self._skip(text, 0)
        window = self._tail + text
        ends = _ends_of(self._end, window, len(self._tail))
        position, past_stop = 0, False
        while position < len(text):
            before, waits = position, self._doubted is not None and not self._reader.in_string
            limit = min(ends[-1] if ends else len(text), position + self._patience if waits else len(text))
            pieces, position = self._reader.read(text, position, limit, past_stop=past_stop)
            self._give_what_was_read(pieces)
            if self._reader.fault is not None:
                return self._break(text, position)
            if waits and self._doubted is not None:
                self._patience -= position - before
                if self._patience <= 0:
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
                    self._doubt()
        self._tail = partial_suffix(window, self._end) if self._reader.quoting else ""
        return None

    def close(self) -> str:
        """The reply has ended. The answer is what must be read again."""
        self._give_or_hold([Piece(_MARKUP, "", self._carry, False)] if self._carry else [])
        if self._doubted is not None:
            return self._rewind("")
        self._reader.finish()
        self._fail(f"the reply ended before {self._end}{self._so_far()}", told=self._saw_end)
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
            if self._doubted is not None and not self._reader.complete:
                return self._rewind(text[position:])
            return self._finish(text[position + len(self._end) :])
        tags = (self._end, self._start) if self._reader.done else (self._end,)
        if text.startswith(tags, position):
            if self._doubted is not None:
                return self._rewind(text[position:])
            self._fail(f"{self._start} came before {self._end}: the end of this call is missing")
            return text[position:]
        left = text[position : position + len(self._start) + len(self._end)]
        if any(tag.startswith(left) for tag in tags):
            self._carry = left
        return None

    def _doubt(self) -> None:
        self._saw_end = True
        if self._doubted is None:
            self._doubted = []
            self._doubted_since = self._reader.accepted
            self._patience = _PATIENCE
            self._reader.pause_after_string = True

    def _break(self, text: str, position: int) -> str | None:
        if self._doubted is not None:
            return self._rewind(text[position:])
        self._skipping = True
        self._tail = ""
        return self._skip(text, position)

    def _rewind(self, text: str) -> str:
        """The end tag that was in doubt was the end after all."""
        held = "".join(piece.raw for piece in self._doubted or ())
        self._doubted = None
        self._fail(f"{self._end} came inside a string or a comment that was never closed")
        return held + text

    def _skip(self, text: str, position: int) -> str | None:
        window = self._tail + text[position:]
        found = window.find(self._end)
        stop = len(text) if found < 0 else position + found + len(self._end) - len(self._tail)
        if stop > position:
            self._give([Piece(_MARKUP, "", text[position:stop], False)])
        if found < 0:
            self._tail = partial_suffix(window, self._end)
            return None
        self._fail(f"the call cannot be read: {self._reader.fault}")
        return text[stop:]

    def _finish(self, rest: str) -> str:
        self._resolve()
        self._give([Piece(_MARKUP, "", self._end, False)])
        self._reader.finish()
        problem = self._reader.fault or _shape_problem(self._reader.value)
        if problem:
            self._fail(f"the call cannot be read: {problem}")
        for call in self._calls:
            self._conclude(call)
        self._calls.clear()
        return rest

    # What comes out

    def _give_what_was_read(self, pieces: list[Piece]) -> None:
        if self._doubted is not None and self._reader.accepted > self._doubted_since:
            self._resolve()
        container, depth = self._reader.innermost, self._reader.depth
        outermost = depth == 1 or (depth == 2 and isinstance(self._reader.value, list))
        if outermost and isinstance(container, dict) and container is not self._call.value:
            # The reader has paused after the opening brace. What came before it is not this call's.
            self._give([*pieces[:-1], pieces[-1]._replace(raw=pieces[-1].raw[:-1])])
            self._begin_call(container)
            pieces = [Piece(_MARKUP, "", "{", False)]
        self._give_or_hold(pieces)
        if self._call.name is None:
            self._start_if_named()

    def _resolve(self) -> None:
        """The end tag that was in doubt was quoted."""
        doubted, self._doubted = self._doubted, None
        self._reader.pause_after_string = False
        self._give(doubted or [])

    def _give_or_hold(self, pieces: list[Piece]) -> None:
        if self._doubted is not None:
            self._doubted += pieces
        else:
            self._give(pieces)

    def _give(self, pieces: list[Piece]) -> None:
        self._call.raws += [piece.raw for piece in pieces]
        if self._call.name is None:
            self._waiting += pieces
        else:
            for piece in pieces:
                self._emit_delta(piece)

    def _begin_call(self, container: dict[str, JsonValue]) -> None:
        among = self._reader.value
        call = _Call(self._new_call_id(), container, len(among) - 1 if isinstance(among, list) else 0)
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

    def _emit_delta(self, piece: Piece) -> None:
        call_id, path = self._call.call_id, self._argument_path(piece.path)
        if path:
            self.out.append(ToolCallDelta(call_id, path, piece.text, piece.raw, piece.literal))
        elif path is not None and not piece.literal:
            self._emit_encoded(piece)
        else:
            self.out.append(ToolCallDelta(call_id, _MARKUP, "", piece.raw))

    def _emit_encoded(self, piece: Piece) -> None:
        """Arguments that are written into a string grow live, too: their text is JSON of its own."""
        reader = self._encoded = self._encoded or RelaxedReader(mend=True)
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

    def _conclude(self, call: _Call) -> None:
        if call.name is None:
            self._end_call(call, _NAMELESS)
            return
        arguments, problem = _arguments(call.value)
        if problem:
            self._end_call(call, problem)
        else:
            repairs = tuple(self._reader.repairs)
            self.finished[call.call_id] = arguments
            self.out.append(ToolCallFinished(call.call_id, call.name, arguments, call.source, repairs))

    def _fail(self, message: str, *, told: bool = True) -> None:
        """All calls of the element are malformed. `told` says whether `on_error` hears of it, once."""
        calls = self._calls or [self._call]
        self._call.call_id = self._call.call_id or self._new_call_id()
        for call in calls:
            self.out.append(ToolCallMalformed(call.call_id, call.name, call.source, message))
        if told:
            self._report(message, "".join(call.source for call in calls), calls[0].name)
        self._calls = []

    def _end_call(self, call: _Call, problem: str) -> None:
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
            given = loads(given, mend=True)
        except RelaxedJsonError as error:
            return None, f"the arguments are a string that holds no JSON: {error}"
    if not isinstance(given, dict):
        return None, f"the arguments must be an object, got {json.dumps(given)[:40]}"
    return given, None


def _partial_arguments(call: JsonValue) -> JsonValue:
    given = next((call[key] for key in _ARGUMENTS if key in call), None)
    if isinstance(given, str):
        reader = RelaxedReader(mend=True)
        reader.read(given)
        given = reader.snapshot()
    return given if isinstance(given, dict) else {}


class JsonMixParser(Parser):
    """Reads one reply. `scanned` counts the characters looked at, for the tests."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None, tags: tuple[str, str]) -> None:
        super().__init__(tools, on_error)
        self._tags = tags
        self._scanner = TagScanner(tags[:1])
        self._element: _Element | None = None
        self._finished_arguments: dict[str, JsonValue] = {}
        self._scanned = 0

    @property
    def scanned(self) -> int:
        return self._scanned + self._scanner.scanned + (self._element.scanned if self._element else 0)

    def arguments(self, call_id: str) -> JsonValue:
        if call_id in self._finished_arguments:
            return self._finished_arguments[call_id]
        partial = self._element.snapshot(call_id) if self._element else None
        if partial is None:
            raise UsageError(f"there is no call {call_id!r} in this reply, or it was malformed")
        return partial

    def _text(self, text: str) -> None:
        if self._element is None:
            if self._scanner.is_plain(text):
                self._emit_text(text)
                return
        else:
            delta = self._element.take(text)
            if delta is not None:
                self._out.append(delta)
                return
        self._read(text)

    def _read(self, text: str) -> None:
        # In slices, so that what is left after each of many calls in one chunk is not copied over and over.
        left = [(text, 0)]
        while left:
            text, start = left.pop()
            stop = start + _SLICE
            if stop < len(text):
                left.append((text, stop))
            rest = self._read_slice(text[start:stop])
            if rest:
                left.append((rest, 0))

    def _read_slice(self, text: str) -> str | None:
        """Read up to the next border of an element; the answer is what follows it."""
        if self._element is None:
            self._scanner.feed(text)
            before, tag = self._scanner.next()
            self._emit_text(before)
            if tag is not None:
                self._open_element()
            return self._scanner.rest() if tag is not None else None
        self._element.out = self._out
        rest = self._element.feed(text)
        if rest is not None:
            self._leave_element()
        return rest

    def _open_element(self) -> None:
        self._close_reasoning()
        self._close_text()
        self._element = _Element(self._tags, self._new_call_id, self._report)

    def _leave_element(self) -> None:
        assert self._element is not None
        self._scanned += self._element.scanned
        self._finished_arguments |= self._element.finished
        self._element = None

    def _close(self) -> None:
        while self._element is not None:
            self._element.out = self._out
            rest = self._element.close()
            self._leave_element()
            self._read(rest)
        self._emit_text(self._scanner.rest())


_SLICE = 4096


class JsonMixProtocol(Protocol):
    """Calls as JSON between two tags, which can be chosen."""

    name: ClassVar[str] = "json_mix"

    def __init__(self, start: str = "<tool_call>", end: str = "</tool_call>") -> None:
        if not start or not end or start == end:
            raise UsageError(f"json_mix needs two different tags that are not empty, got {start!r} and {end!r}")
        self.start, self.end = start, end

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> JsonMixParser:
        return JsonMixParser(tools, on_error, (self.start, self.end))

    def encode_call(self, call: ToolUseBlock) -> TextBlock:
        body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, separators=(",", ":"))
        return TextBlock(f"{self.start}{body}{self.end}")

    def encode_results(self, results: Sequence[ToolResultBlock]) -> tuple[Block, ...]:
        """Each result as `<tool_response>{...}</tool_response>`, in the order of the calls; pictures follow as is."""
        blocks: list[Block] = []
        for result in results:
            said = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
            body = {"error": said} if result.is_error else {"result": said}
            blocks.append(TextBlock(f"<tool_response>{json.dumps(body, ensure_ascii=False)}</tool_response>"))
            blocks += [block for block in result.content if isinstance(block, ImageBlock)]
        return tuple(blocks)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return ""
        described = "\n\n".join(self._describe_tool(tool) for tool in tools)
        return _DESCRIPTION.format(start=self.start, end=self.end, tools=described)

    def _describe_tool(self, tool: ToolSpec) -> str:
        schema = json.dumps(tool.schema, ensure_ascii=False)
        example = self.encode_call(ToolUseBlock("", tool.name, example_arguments(tool.schema))).text
        lines = [f"### {tool.name}", tool.description, f"Arguments (JSON Schema): {schema}", f"Example: {example}"]
        return "\n".join(line for line in lines if line)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        names = ", ".join(tool.name for tool in tools)
        return _REMINDER.format(start=self.start, end=self.end, names=f" The tools are: {names}." if names else "")


_DESCRIPTION = """\
## Calling tools

To call a tool, write one JSON object between {start} and {end}:

{start}{{"name": "the tool's name", "arguments": {{"the argument's name": "its value"}}}}{end}

- `name` is the name of one tool below; `arguments` is an object that fits its schema, {{}} if nothing is needed.
- Inside the tags stands JSON and nothing else. In strings, write a quote as \\" and a new line as \\n.
- Always close with {end}. A call without it is not carried out.
- You may write text before and after a call. For several calls, write each between tags of its own.
- Then stop and wait: what the tool answers comes in the next message, in <tool_response> and </tool_response>.

## Tools

{tools}
"""

_REMINDER = """\
A tool call is written as one JSON object between tags, like this:

{start}{{"name": "the tool's name", "arguments": {{"the argument's name": "its value"}}}}{end}

The JSON must be complete, quotes and new lines inside strings escaped, and {end} must follow.{names}"""
