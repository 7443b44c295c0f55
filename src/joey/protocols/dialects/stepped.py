"""A parser whose reading is one generator, and what the readers of calls report to.

`_reply` reads the whole reply as if it were all there (see `source`). The rest is bookkeeping: what is open, which ids
were given, whether a marker that comes next is only quoted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from joey.chunks import Chunk, TextChunk
from joey.errors import UsageError
from joey.events import MarkupDelta, ReasoningDelta, ReasoningStarted, StreamEvent
from joey.protocols.base import BaseParser, OnError
from joey.protocols.dialects.calls import OpenCall
from joey.protocols.dialects.source import Source, Wait
from joey.protocols.prose import Prose
from joey.toolspec import ToolSpec
from joey.wire import JsonValue


class SteppedParser(BaseParser):
    """Reads one reply, step by step."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        super().__init__(tools, on_error)
        self._source = Source()
        self._open: OpenCall | None = None
        self._finished_arguments: dict[str, JsonValue] = {}
        self._ids: set[str] = set()
        self._given: list[str] = []
        self._prose = Prose()
        self._blank = True  # nothing but space and markup came
        self._behind_call = False  # nothing but space and markup came since a call
        self._last = ""  # the last character of the text, if nothing else came since
        self._steps = self._reply()
        self._done = False

    @abstractmethod
    def _reply(self) -> Wait[None]:
        """Read the reply. It begins to run with the first text."""

    @property
    def scanned(self) -> int:
        """How many characters were looked at, those that were held back more than once."""
        return self._source.scanned

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk adds. A plain string is a TextChunk."""
        quick = self._source.quick
        if quick is not None and not self._finished:
            text = chunk if type(chunk) is str else chunk.text if type(chunk) is TextChunk else ""
            if text and quick(text):
                return self._take()
        return super().feed(chunk)

    # What BaseParser wants

    def _text(self, text: str) -> None:
        if text:
            self._source.feed(text)
            self._go_on()

    def _close(self) -> None:
        self._source.end()
        self._go_on()

    def _go_on(self) -> None:
        if not self._done:
            self._done = next(self._steps, True) is True

    def arguments(self, call_id: str) -> JsonValue:
        if call_id in self._finished_arguments:
            return self._finished_arguments[call_id]
        if self._open is None or self._open.call_id != call_id:
            raise UsageError(f"there is no call {call_id!r} in this reply, or it was malformed")
        return self._open.snapshot()

    # What the readers report

    def quoted(self, marker: str, *, runs_on: bool = True, opens: bool = True) -> bool:
        """Whether a marker that comes next stands in Markdown code, or in a quotation."""
        self._prose.read(marker[: len(marker) - len(marker.lstrip())])
        return self._prose.quotes_marker(runs_on=runs_on, opens=opens)

    @property
    def in_word(self) -> bool:
        return self._last.isalnum() or self._last in ("_", ">")

    def message_ended(self, *, was_call: bool) -> None:
        if was_call:
            self._behind_call = True
            return
        self._close_reasoning()
        self._close_text()
        self._blank, self._prose = True, Prose()

    def emit(self, event: StreamEvent) -> None:
        self._out.append(event)

    def text(self, text: str) -> None:
        if not text:
            return
        self._prose.read(text)
        if self._blank or self._behind_call:
            words = text.lstrip()
            self.markup(text[: len(text) - len(words)])
            if not words:
                return
            text, self._blank, self._behind_call = words, False, False
        self._last = text[-1]
        self._emit_text(text)

    def reasoning(self, text: str) -> None:
        if text:
            if not self._reasoning_open:
                self._close_text()
                self._reasoning_open = True
                self._out.append(ReasoningStarted())
            self._out.append(ReasoningDelta(text))

    def markup(self, text: str) -> None:
        if text:
            self._last = ""
            self._out.append(MarkupDelta(text))

    def call_begins(self, given_id: str) -> str:
        self._close_reasoning()
        self._close_text()
        self._last = ""
        call_id = self._new_call_id()
        call_id = given_id if given_id and given_id not in self._ids else call_id
        self._ids.add(call_id)
        return call_id

    def own_id(self, given_id: str) -> str:
        """The id that the model wrote. One that counts calls and was given before is counted on."""
        if given_id in self._given and given_id.isdigit():
            given_id = str(len(self._given))
        self._given.append(given_id)
        return given_id

    def call_started(self, call: OpenCall) -> None:
        self._open = call

    def call_finished(self, call: OpenCall, arguments: JsonValue) -> None:
        self._open = None
        self._any_call_finished = True
        self._finished_arguments[call.call_id] = arguments
        self._blank, self._behind_call = False, True
        self._prose = Prose()

    def call_failed(self, call: OpenCall, message: str) -> None:
        self._open = None
        self._blank = False
        self._report(message, call.source, call.name)
