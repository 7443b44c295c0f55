"""Native calls: the provider carries them, in chunks `{index?, id?, name?, arguments?}` beside the text.

Which call a chunk belongs to. Providers agree on little, so the first rule that fits decides:

1. It has an index: the call at that index, unless the chunk brings another id, or (having no id) begins a call again
   by repeating a name although the arguments are already whole. Then that call is over and a new one takes its place.
2. It has an id only: the call with that id, or a new one.
3. It has neither: the newest call, unless it brings a name to a call that already has arguments.

A call starts (ToolCallStarted) when its name is known. Should some known tool's name begin with the name so far
(`ask`, `ask_followup_question`), the rest of it may still come, so the start waits for the arguments. Arguments
that come before the name wait too.

Arguments grow through a JsonReader. A provider that sends the whole text again in each chunk is recognised when a chunk
begins with all the text so far and could not, as JSON, be its continuation.

Calls end when the stream ends, in the order in which they began: only then is it certain that nothing more comes.
Empty arguments mean `{}`. What is not JSON is repaired where that is certain (see repair.py). A call whose JSON is not
closed, or that was being written when the model hit its length limit, is malformed and must not run.

Deliberately not here: whether a tool exists and whether the arguments fit it. That is the registry's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from joey.chunks import Chunk, ToolCallChunk
from joey.events import StreamEvent, ToolCallDelta, ToolCallStarted
from joey.messages import Block, ToolResultBlock, ToolUseBlock
from joey.protocols.base import BaseParser, OnError, Protocol
from joey.protocols.json.repair import UnreadableError, read_arguments, read_json
from joey.protocols.json.stream import JsonReader
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue


class _Call:
    """A call that is being written."""

    __slots__ = (
        "arguments",
        "call_id",
        "grows_alone",
        "id",
        "index",
        "latest",
        "name",
        "reader",
        "resends",
        "resent",
        "started",
        "waiting",
    )

    def __init__(self, provider_id: str | None) -> None:
        self.id = provider_id
        self.call_id = ""
        self.name = ""
        self.started = False
        self.waiting: list[str] = []
        """Arguments that came before the name was known."""
        self.reader = JsonReader()
        self.resends = False
        """Whether the provider is known to send the whole text again in each chunk."""
        self.resent = True
        """Whether it may: so far, each piece began with the one before it."""
        self.latest = ""
        self.arguments: JsonObject | None = None
        self.index: int | None = None
        self.grows_alone = False
        """Whether a piece shorter than the text so far can only be more of it."""

    @property
    def has_arguments(self) -> bool:
        return bool(self.waiting) or self.reader.length > 0


class NativeParser(BaseParser):
    """Reads native calls. Its state is its own: any number of parsers run side by side."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        super().__init__(tools, on_error)
        self._all: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._by_call_id: dict[str, _Call] = {}
        self._writing: _Call | None = None  # the call that the stream added to last, if nothing came after it

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        # Nearly every chunk of a long call brings a few more characters of the same argument and nothing else.
        if type(chunk) is ToolCallChunk and chunk.id is None and chunk.name is None and not self._finished:
            call, piece = self._writing, chunk.arguments
            if call is None or not piece or not call.grows_alone or call.index != chunk.index:
                return super().feed(chunk)
            reader = call.reader
            if len(piece) < reader.length:
                found = reader.feed(piece)
                if len(found) == 1:
                    path, text, raw, literal = found[0]
                    return [ToolCallDelta(call.call_id, path, text, raw, literal)]
                return [ToolCallDelta(call.call_id, *each) for each in found]
        return super().feed(chunk)

    def arguments(self, call_id: str) -> JsonValue:
        call = self._by_call_id[call_id]
        if call.arguments is not None:
            return call.arguments
        snapshot = call.reader.snapshot()
        return {} if snapshot is None else snapshot

    def _text(self, text: str) -> None:
        if text:
            self._writing = None
            self._emit_text(text)

    def _tool_call(self, chunk: ToolCallChunk) -> None:
        call = self._writing = self._route(chunk)
        if chunk.name and not call.started:
            self._learn_name(call, chunk.name)
        if chunk.arguments:
            if call.started or self._start(call):
                self._grow(call, chunk.arguments)
            else:
                call.waiting.append(chunk.arguments)
        elif call.name and not call.started and not self._may_go_on(call.name):
            self._start(call)

    def _close(self) -> None:
        self._close_reasoning()
        for call in self._all:
            self._end(call)

    # Which call

    def _route(self, chunk: ToolCallChunk) -> _Call:
        if chunk.index is not None:
            call = self._by_index.get(chunk.index)
            if call is None or self._replaces(chunk, call):
                call = self._by_index[chunk.index] = self._new_call(chunk.id)
                call.index = chunk.index
        elif chunk.id:
            call = self._by_id.get(chunk.id) or self._new_call(chunk.id)
        else:
            newest = self._all[-1] if self._all else None
            call = newest if newest and not (chunk.name and newest.has_arguments) else self._new_call(None)
        if chunk.id and not call.id:
            call.id = chunk.id
            self._by_id.setdefault(chunk.id, call)
        return call

    def _replaces(self, chunk: ToolCallChunk, call: _Call) -> bool:
        if chunk.id:
            return bool(call.id) and chunk.id != call.id
        begins_again = bool(chunk.name) and call.reader.complete
        return begins_again and not (chunk.name == call.name and chunk.arguments in (None, "", call.reader.text))

    def _new_call(self, provider_id: str | None) -> _Call:
        call = _Call(provider_id or None)
        self._all.append(call)
        if provider_id:
            self._by_id[provider_id] = call
        return call

    # The name

    def _learn_name(self, call: _Call, piece: str) -> None:
        """Names come whole, repeated, or in pieces; only the tools can tell the last two apart."""
        joined = call.name + piece
        in_pieces = call.name and (joined in self.tools or self._may_go_on(joined)) and piece not in self.tools
        call.name = joined if in_pieces else piece

    def _may_go_on(self, name: str) -> bool:
        return any(known != name and known.startswith(name) for known in self.tools)

    def _start(self, call: _Call) -> bool:
        if not call.name:
            return False
        self._close_text()
        self._close_reasoning()
        call.started = True
        call.call_id = self._unused_id(call.id)
        self._by_call_id[call.call_id] = call
        self._out.append(ToolCallStarted(call.call_id, call.name))
        waiting, call.waiting = call.waiting, []
        for piece in waiting:
            self._grow(call, piece)
        return True

    def _unused_id(self, wanted: str | None) -> str:
        made_up = self._new_call_id()
        call_id, attempt = wanted or made_up, 1
        while call_id in self._by_call_id:
            attempt += 1
            call_id = f"{wanted}_{attempt}" if wanted else self._new_call_id()
        return call_id

    # The arguments

    def _grow(self, call: _Call, piece: str) -> None:
        if call.resent:
            call.resent = piece.startswith(call.latest)
            call.latest = piece
        reader = call.reader
        if reader.length and len(piece) >= reader.length and self._is_sent_again(call, piece):
            piece = piece[reader.length :]
        self._out += [ToolCallDelta(call.call_id, *each) for each in reader.feed(piece)]
        call.grows_alone = not call.resent and not call.resends

    def _is_sent_again(self, call: _Call, piece: str) -> bool:
        text = call.reader.text
        if not piece.startswith(text) or not text.lstrip().startswith("{"):
            return False
        if not call.resends and call.reader.fault is None:
            trial = call.reader.fork()
            trial.feed(piece)
            call.resends = trial.fault is not None
        return call.resends

    def _end(self, call: _Call) -> None:
        if not call.started and not self._start(call):
            call.call_id = self._unused_id(call.id)
            self._by_call_id[call.call_id] = call
            self._malformed(call.call_id, None, "".join(call.waiting), "a tool call came without a name")
            return
        self._out += [ToolCallDelta(call.call_id, *each) for each in call.reader.finish()]
        source = call.reader.text
        try:
            call.arguments, repairs = self._read(call, source)
        except UnreadableError as error:
            self._malformed(call.call_id, call.name, source, f"The call of {call.name!r} cannot run: {error}.")
        else:
            self._call_finished(call.call_id, call.name, call.arguments, source, repairs)

    def _read(self, call: _Call, source: str) -> tuple[JsonObject, tuple[str, ...]]:
        if self.stop_reason == "length" and call is self._writing:
            raise UnreadableError("the reply was cut off by the length limit while it was being written")
        try:
            return read_arguments(call.reader)
        except UnreadableError:
            if not call.resent or call.latest == source:
                raise
            arguments, repairs = read_arguments(read_json(call.latest))
            return arguments, (*repairs, "each piece repeated the ones before it")


class NativeProtocol(Protocol):
    """The provider carries the calls: tools go in a parameter of the request, calls come as chunks of their own."""

    name: ClassVar[str] = "native"
    in_text: ClassVar[bool] = False

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        return ""

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> NativeParser:
        return NativeParser(tools, on_error)

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> Block:
        return call

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        return tuple(results)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        names = ", ".join(tool.name for tool in tools)
        return (
            "Call tools through the function-calling interface of this API, not in the text of your answer. "
            f"The arguments of a call are one complete JSON object that fits the tool's schema. Tools: {names}."
        )
