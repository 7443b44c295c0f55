"""What the model wrote, as pieces of an answer: the events of a parser in, pieces out.

What is decided here: a call of a tool that nobody offered is no call, and comes out as the text it was. Arguments are
corrected where that is certain (`schema.repair`). A call that turns out to be malformed after it began is broken off.
Calls have ids that no other reply has: the parsers of text protocols count from one.

Where the model may be asked again, nothing is shown of what would be thrown away then: from a rejected call on, pieces
are held (`holding`) until the reply is complete.

Blocks are put in order: native calls may interleave, but what a client reads are blocks one after another. The first
open block is written as it comes, those behind it wait for its end. White space between calls is nobody's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from joey.events import (
    ReasoningDelta,
    ReasoningFinished,
    ReasoningStarted,
    StreamEvent,
    StreamFinished,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    UsageReported,
)
from joey.gateway.arguments import ArgumentWriter, InputWriter
from joey.gateway.offered import INPUT, OfferedTool, OfferedTools
from joey.gateway.pieces import (
    CallBegin,
    CallBroken,
    CallEnd,
    CallPiece,
    Piece,
    ReasoningEnd,
    ReasoningPiece,
    ReplyEnd,
    TextEnd,
    TextPiece,
)
from joey.gateway.seal import Seal
from joey.messages import StopReason
from joey.protocols.json.repair import as_object
from joey.schema.repair import ArgumentRepair
from joey.usage import Usage
from joey.wire import JsonObject

FindCalls: TypeAlias = Callable[[str], Sequence[ToolCallFinished]]
_FENCE = "```"
_LIKE_A_CALL = re.compile(rf"[{{\[<]|{_FENCE}")
_MADE_UP = re.compile(r"call_\d+(_\d+)?")


@dataclass(slots=True)
class CallCounts:
    """How the calls of a reply came out."""

    well_formed: int = 0
    repaired: int = 0
    malformed: int = 0


@dataclass(slots=True, eq=False)
class _Block:
    """A part of the answer. `waiting` is what has to wait for the blocks before it."""

    kind: str
    waiting: list[Piece] = field(default_factory=list)
    done: bool = False


@dataclass(slots=True, eq=False)
class _OpenCall:
    call_id: str
    tool: OfferedTool
    writer: ArgumentWriter | InputWriter
    block: _Block
    written: list[str] = field(default_factory=list)


class PieceReader:
    """Reads one reply."""

    def __init__(
        self,
        tools: OfferedTools,
        new_id: Callable[[], str],
        seal: Seal,
        *,
        result_mark: str = "",
        single: bool = False,
        may_retry: bool = False,
        holding: bool = False,
        find_calls: FindCalls | None = None,
    ) -> None:
        """`single` is for one call at most. `result_mark` is what a result begins with: a model that writes it behind a
        call makes up its answer. `holding` holds pieces back from the beginning, until a call begins. `find_calls` is
        for a text that begins like a call: small models write calls without markers, or as another model does."""
        self._tools = tools
        self._result_mark = result_mark
        self._single = single
        self._may_retry = may_retry
        self._holding = holding
        self._ready: list[Piece] = []
        self._find_calls = find_calls
        self._looks_like_call = False
        self._begun = False
        self._has_shown = False
        self._new_id = new_id
        self._seal = seal
        self._blocks: list[_Block] = []
        self._out: list[Piece] = []
        self._calls: dict[str, _OpenCall] = {}
        self._space = ""
        self._thoughts: list[str] = []
        self._broken = False
        self.counts = CallCounts()
        self.usage = Usage()
        self.stop: StopReason | None = None
        self.finished_calls = 0
        self.rejected: list[str] = []
        """Why calls were not handed on, for whoever asks the model again."""
        self.is_done = False
        """Whether the rest of the reply is not worth reading."""

    @property
    def can_retry(self) -> bool:
        """Whether another attempt could follow: no call was handed on, not even in part."""
        return not self.finished_calls and not self._broken and not self._calls

    @property
    def can_restart(self) -> bool:
        """Whether another attempt could take the place of this one: nothing of it was shown."""
        return self.can_retry and not self._has_shown

    def read(self, events: Iterable[StreamEvent]) -> list[Piece]:
        """The pieces that these events add."""
        for event in events:
            if not self.is_done or isinstance(event, (UsageReported, StreamFinished)):
                self._read(event)
        if self._holding:
            out, self._ready = self._ready, []
        else:
            out, self._out = self._out, []
        self._has_shown = self._has_shown or bool(out)
        return out

    def close(self) -> list[Piece]:
        """What was held back, when the reply is complete and not thrown away."""
        if self._space.strip() and not self.is_done:
            self._result_mark, self._begun = "", True
            held, self._space = self._space, ""
            self._text(held)
        self._space = ""
        for call_id in list(self._calls):
            self._break(call_id, "")
        while self._blocks:
            self._end(self._blocks[0])
        self._release()
        out, self._out = self._out, []
        return out

    def end(self) -> ReplyEnd:
        return ReplyEnd(self._reason(), self.usage)

    def _hold(self) -> None:
        """Hold back everything from here on, if the reply may still be thrown away."""
        if self._may_retry and not self._holding and self.can_retry:
            self._holding = True
            self._ready, self._out = self._out, []

    def _suspect(self, begun: str) -> None:
        """A reply that begins like a call without markers is held until it is known whether it is one."""
        if self._find_calls is not None and not self._begun and _LIKE_A_CALL.match(begun):
            self._looks_like_call = True
            if not self._holding:
                self._holding = True
                self._ready, self._out = self._out, []
        self._begun = True

    def rescue(self) -> bool:
        """Take the text for the calls that are written in it, if it is nothing else; whether there are any."""
        if not self._looks_like_call or self._find_calls is None or not self.can_retry:
            return False
        text = "".join(piece.text for piece in self._out if isinstance(piece, TextPiece))
        calls = self._find_calls(text)
        if not calls:
            return False
        self._out, self._blocks, self._space = [], [], ""
        self.rejected.clear()
        for number, call in enumerate(calls):
            made = replace(call, call_id=f"call_{number}", repairs=(*call.repairs, "written as text"))
            self._read(ToolCallStarted(made.call_id, made.name))
            self._read(made)
        return True

    def _release(self) -> None:
        if self._holding:
            self._holding = False
            self._out, self._ready = [*self._ready, *self._out], []

    def _reason(self) -> StopReason:
        if self._broken:
            return "length"
        if self.finished_calls and self.stop in (None, "end", "unknown", "stop_sequence", "tool_calls"):
            return "tool_calls"
        return "end" if self.stop in (None, "tool_calls", "unknown") else self.stop

    def _read(self, event: StreamEvent) -> None:
        match event:
            case ToolCallDelta(call_id, path, text, _, literal):
                call = self._calls.get(call_id)
                if call is not None and (path or text):
                    self._grow(call, call.writer.grow(path, text, literal=literal))
            case TextDelta(text):
                self._text(text)
            case ReasoningStarted():
                self._thoughts = []
                self._open("reasoning")
            case ReasoningDelta(text):
                self._thoughts.append(text)
                self._add(self._current("reasoning"), ReasoningPiece(text))
            case ReasoningFinished(signature):
                thought = "".join(self._thoughts)
                block = self._current("reasoning")
                self._add(block, ReasoningEnd(thought, self._seal.close(thought, signature)))
                self._end(block)
            case ToolCallStarted(call_id, name):
                self._start(call_id, name)
            case ToolCallFinished():
                self._finish(event)
            case ToolCallMalformed(call_id, name, source, message):
                self.counts.malformed += 1
                self.rejected.append(message)
                self._break(call_id, source)
            case UsageReported():
                self.usage = self.usage.merge(event)
            case StreamFinished(reason):
                self.stop = reason
            case _:
                pass

    # Calls

    def _start(self, call_id: str, name: str) -> None:
        tool = self._tools.called(name)
        if tool is None or (self._single and (self._calls or self.finished_calls)):
            return  # it comes out as text when it is complete
        self._release()
        own = call_id if call_id and not _MADE_UP.fullmatch(call_id) else self._new_id()
        writer = InputWriter(INPUT) if tool.is_custom else ArgumentWriter(tool.spec.schema)
        call = self._calls[call_id] = _OpenCall(own, tool, writer, self._open("call"))
        self._add(call.block, CallBegin(own, tool))

    def _grow(self, call: _OpenCall, text: str) -> None:
        if text:
            call.written.append(text)
            self._add(call.block, CallPiece(call.call_id, text))

    def _finish(self, event: ToolCallFinished) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            self.counts.malformed += 1
            self.rejected.append(f"there is no tool {event.name!r}")
            self._hold()
            self._text(event.source)
            return
        written = as_object(event.arguments)
        if written is None:
            self.counts.malformed += 1
            self.rejected.append(f"the arguments of {event.name!r} must be an object")
            self._break(event.call_id, event.source)
            return
        repair = ArgumentRepair(call.tool.spec.schema)
        arguments: JsonObject = repair.arguments(written)
        rest = call.writer.finish(arguments)
        if rest is None and (rest := call.writer.finish(written)) is not None:
            arguments = written  # correcting them would contradict what was sent
        if rest is None:
            self.counts.malformed += 1
            self._break(event.call_id, event.source)
            return
        self.counts.well_formed += 1
        self.counts.repaired += bool(event.repairs or repair.repairs)
        self.finished_calls += 1
        self._grow(call, rest)
        del self._calls[event.call_id]
        self._add(call.block, CallEnd(call.call_id, call.tool, arguments, "".join(call.written)))
        self._end(call.block)

    def _break(self, call_id: str, source: str) -> None:
        call = self._calls.pop(call_id, None)
        if call is None:
            self._hold()
            self._text(source)
            return
        self._broken = True
        self._add(call.block, CallBroken(call.call_id, source))
        self._end(call.block)

    # Blocks

    def _text(self, text: str) -> None:
        if not (self._blocks and self._blocks[-1].kind == "text" and not self._blocks[-1].done):
            self._space += text
            begun = self._space.lstrip()
            if not begun or self._made_up(begun) or self._may_be_fence(begun):
                return
            text, self._space = self._space, ""
            self._suspect(begun)
            self._open("text")
        self._add(self._blocks[-1], TextPiece(text))

    def _may_be_fence(self, begun: str) -> bool:
        """Whether this beginning of a reply may become a fence, which would be held."""
        return self._find_calls is not None and not self._begun and begun != _FENCE and _FENCE.startswith(begun)

    def _made_up(self, begun: str) -> bool:
        """Whether this text is, or may become, a result that the model made up: behind its call, or instead of one."""
        mark = self._result_mark
        if not mark or not begun or not (self.finished_calls or (self._may_retry and not self._begun)):
            return False
        if begun.startswith(mark):
            self.is_done = True
            if not self.finished_calls:
                self.rejected.append("A result was written in place of a call. Results come from the tools")
                self._hold()
            return True
        return mark.startswith(begun)

    def _open(self, kind: str) -> _Block:
        held, self._space = self._space, ""
        if held.strip() and kind != "text":
            self._open("text")
            self._add(self._blocks[-1], TextPiece(held))
        if self._blocks and self._blocks[-1].kind == "text" and not self._blocks[-1].done:
            self._end(self._blocks[-1])
        block = _Block(kind)
        self._blocks.append(block)
        return block

    def _current(self, kind: str) -> _Block:
        last = self._blocks[-1] if self._blocks else None
        return last if last is not None and last.kind == kind and not last.done else self._open(kind)

    def _add(self, block: _Block, piece: Piece) -> None:
        (self._out if block is self._blocks[0] else block.waiting).append(piece)

    def _end(self, block: _Block) -> None:
        if block.kind == "text" and not block.done:
            self._add(block, TextEnd())
        block.done = True
        while self._blocks and self._blocks[0].done:
            self._blocks.pop(0)
            if self._blocks:
                self._out += self._blocks[0].waiting
                self._blocks[0].waiting = []
