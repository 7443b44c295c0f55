"""One request of a client and its answer: the model is asked, its reply read, and asked again where that can help.

    encode --> check the window --> ask --> read --> pieces
                                     ^                 |
                                     +---- again ------+   no call could be handed on, and none was begun

Asked again (`retries`): a call of a tool that is not there, a call that cannot be read, no call where one is required,
no JSON where the reply must be JSON, or JSON that its schema does not allow. Of such a reply nothing is shown but the
text before the mistake. A model that is held to a grammar and begins with a call without its markers is stopped there,
and held to calls from the start.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from joey import protocols
from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk
from joey.events import StreamEvent, ToolCallFinished
from joey.gateway.formats import fence_around, json_in, what_is_wrong
from joey.gateway.pieces import Piece, ReplyEnd, TextEnd, TextPiece
from joey.gateway.reading import CallCounts, FindCalls, PieceReader
from joey.gateway.refusal import Refusal, from_provider
from joey.gateway.request import ClientRequest
from joey.gateway.seal import Seal
from joey.gateway.stopping import until_stop
from joey.gateway.thinking import ThinkSplitter
from joey.gateway.upstream import CHARACTERS_PER_TOKEN, MIN_ANSWER, Upstream, estimate
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Parser
from joey.protocols.resolve import NATIVE
from joey.providers import BadRequestError, ContextTooLongError, ModelRequest, Provider, ProviderError
from joey.task.rescue import calls_in_text
from joey.usage import Usage

_MAX_KEPT = 200_000
"""Characters of a reply that are kept for the record."""
_BEGINNING = 400
"""Characters in which a call without markers shows itself, fence and name."""
_UNMARKED = re.compile(r'\s*(?:```\w*\s*)?\[?\s*\{\s*"name"\s*:\s*"([^"\n]{1,256})"')


@dataclass(slots=True, eq=False)
class Outcome:
    """What came of a request, as it comes: for the record, the metrics and the page."""

    wrote: str = ""
    """What the model wrote, each attempt behind the one before it."""
    attempts: int = 0
    counts: CallCounts = field(default_factory=CallCounts)
    usage: Usage = field(default_factory=Usage)

    def count(self, counts: CallCounts) -> None:
        """Add the calls of one attempt."""
        self.counts.well_formed += counts.well_formed
        self.counts.repaired += counts.repaired
        self.counts.malformed += counts.malformed

    def note(self, chunk: Chunk) -> None:
        if len(self.wrote) < _MAX_KEPT:
            match chunk:
                case TextChunk(text) | ReasoningChunk(text):
                    self.wrote += text
                case ToolCallChunk(_, _, name, arguments):
                    self.wrote += (f"\n[call {name}] " if name else "") + (arguments or "")
                case _:
                    pass


class _AnyParser:
    """Reads a reply in the protocol of the upstream, and native calls where its server makes them without being asked:
    some look for calls in the text themselves, and send no text then."""

    def __init__(self, upstream: Upstream, request: ClientRequest) -> None:
        self._upstream, self._request = upstream, request
        self._own = upstream.parser(request)
        self._native: Parser | None = None

    def feed(self, chunk: Chunk) -> list[StreamEvent]:
        if isinstance(chunk, StopChunk) and self._native is not None:
            return [*self._native.feed(chunk), *self._own.feed(chunk)]  # a call that was cut must not run
        if not self._upstream.protocol.in_text or not isinstance(chunk, ToolCallChunk):
            return self._own.feed(chunk)
        if self._native is None:
            self._native = self._upstream.parser(self._request, protocols.get(NATIVE))
        return self._native.feed(chunk)

    def finish(self) -> list[StreamEvent]:
        native = self._native.finish() if self._native is not None else []
        return [*native, *self._own.finish()]


@dataclass(frozen=True, slots=True)
class _Job:
    """What all attempts at one answer have in common."""

    request: ClientRequest
    provider: Provider
    new_id: Callable[[], str]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Exchange:
    """Asks one upstream for clients."""

    upstream: Upstream
    seal: Seal

    def encode(self, request: ClientRequest) -> ModelRequest:
        """The request for the model's server."""
        return self.upstream.encode(request)

    async def check(self, prepared: ModelRequest) -> ModelRequest:
        """The request with an answer that has room. Raises Refusal if it cannot be answered."""
        try:
            return await self.upstream.check_window(prepared)
        except ProviderError as error:
            raise from_provider(error, self.upstream.context_window) from error

    async def pieces(
        self, request: ClientRequest, prepared: ModelRequest, new_id: Callable[[], str], outcome: Outcome
    ) -> AsyncGenerator[Piece, None]:
        """The answer as it comes; its last piece is a ReplyEnd. Raises Refusal."""
        try:
            async with self.upstream.provider_for(request) as provider:
                job = _Job(request, provider, new_id, outcome)
                made = (self._attempts if request.format is None else self._formatted)(job, prepared)
                if request.stop_sequences:
                    made = until_stop(made, request.stop_sequences, lambda: outcome.usage)
                async with aclosing(made):
                    async for piece in made:
                        yield piece
        except ProviderError as error:
            raise from_provider(error, self.upstream.context_window) from error

    async def _attempts(self, job: _Job, prepared: ModelRequest) -> AsyncGenerator[Piece, None]:
        request, outcome = job.request, job.outcome
        upstream, must_call = self.upstream, self.upstream.must_call(request)
        tools = request.callable_tools.specs if request.choice.mode != "none" else ()
        for left in range(upstream.retries, -1, -1):
            reader = self._reader(job, may_retry=left > 0)
            before = len(outcome.wrote)
            last: Piece | None = None
            unmarked = self._unmarked_call(request, prepared) if left else None
            async with aclosing(self._ask(job, prepared, reader, unmarked)) as made:
                async for piece in made:
                    last = piece
                    yield piece
            if unmarked and reader.can_restart and unmarked(outcome.wrote[before:]):
                prepared = upstream.held_to_calls(prepared, request.callable_tools.specs)
                outcome.wrote += "\n"
                continue
            reader.rescue()
            useless = bool(reader.rejected) or (must_call and reader.stop != "length")
            if left and useless and reader.can_retry:
                several = request.choice.parallel and request.choice.mode != "one"
                correction = upstream.correction(reader.rejected, tools)
                prepared = upstream.again(prepared, outcome.wrote[before:], correction, tools, several=several)
                outcome.wrote += "\n"
                if isinstance(last, TextPiece):
                    yield TextEnd()
                continue
            for piece in reader.close():
                yield piece
            if must_call and not reader.finished_calls and reader.end().stop != "length":
                name = request.callable_tools.tools[0].name if request.choice.mode == "one" else ""
                what = f"did not call the tool {name!r}" if name else "made no tool call"
                raise Refusal("upstream", f"the model {what}, although tool_choice requires it")
            yield reader.end()
            return

    def _reader(self, job: _Job, *, may_retry: bool) -> PieceReader:
        """For one attempt. Where a call is required, nothing is shown of a reply that may be thrown away."""
        request, upstream = job.request, self.upstream
        return PieceReader(
            request.callable_tools,
            job.new_id,
            self.seal,
            result_mark=upstream.result_mark,
            single=upstream.ends_with_first_call(request),
            may_retry=may_retry,
            holding=may_retry and upstream.must_call(request),
            find_calls=self._calls_in(request),
        )

    def _calls_in(self, request: ClientRequest) -> FindCalls | None:
        specs = request.callable_tools.specs

        def find(text: str) -> tuple[ToolCallFinished, ...]:
            fenced = fence_around(text)
            found = calls_in_text(text if fenced is None else fenced, specs)
            return found.calls if found is not None and not found.around else ()

        return find if specs and request.format is None else None

    def _unmarked_call(self, request: ClientRequest, prepared: ModelRequest) -> Callable[[str], bool] | None:
        """Tells whether a reply begins with a call without its markers. A model that writes one this way stops behind
        it; held to the markers from the start, it makes as many calls as it wants to."""
        choice, names = request.choice, {spec.name for spec in request.callable_tools.specs}
        if prepared.grammar is None or choice.mode != "auto" or not choice.parallel or request.format is not None:
            return None

        def begins(text: str) -> bool:
            found = _UNMARKED.match(text)
            return found is not None and found[1] in names

        return begins if names and not begins(self._written(min(names))) else None

    def _written(self, name: str) -> str:
        """A call as the protocol has it: some have no markers at all."""
        block = self.upstream.protocol.encode_call(ToolUseBlock("call_1", name, {}))
        return block.text if isinstance(block, TextBlock) else ""

    async def _ask(
        self, job: _Job, prepared: ModelRequest, reader: PieceReader, unmarked: Callable[[str], bool] | None
    ) -> AsyncGenerator[Piece, None]:
        """One reply, up to its end or to where the rest does not count."""
        request, outcome = job.request, job.outcome
        upstream, parser = self.upstream, _AnyParser(self.upstream, request)
        splitter = None if upstream.protocol.thinks_in_text else ThinkSplitter()
        first_only = upstream.ends_with_first_call(request)
        outcome.attempts += 1
        before, start = outcome.usage, len(outcome.wrote)
        try:
            async with aclosing(_chunks(job.provider, prepared)) as chunks:
                async for chunk in chunks:
                    has_called = first_only and reader.finished_calls > 0
                    outcome.note(chunk)
                    for each in splitter.feed(chunk) if splitter else (chunk,):
                        for piece in reader.read(parser.feed(each)):
                            yield piece
                    is_short = len(outcome.wrote) - start < _BEGINNING
                    if unmarked and is_short and reader.can_restart and unmarked(outcome.wrote[start:]):
                        break
                    if reader.is_done or (has_called and _is_written(chunk)):
                        break  # a server that ends by itself is heard to its end: it counts the tokens
            for each in splitter.finish() if splitter else ():
                for piece in reader.read(parser.feed(each)):
                    yield piece
            for piece in reader.read(parser.finish()):
                yield piece
        finally:
            outcome.count(reader.counts)
            written = outcome.wrote[start:]
            is_reply = bool(written) or reader.stop is not None
            if is_reply and not reader.usage.total:  # the server did not count, or was not heard to the end
                reader.usage = Usage(estimate(prepared), int(len(written) / CHARACTERS_PER_TOKEN) + 1)
            outcome.usage = reader.usage = before + reader.usage

    async def _formatted(self, job: _Job, prepared: ModelRequest) -> AsyncGenerator[Piece, None]:
        """A reply that must be JSON, and may be something else: shown when it is known to be. Under a grammar that is
        when it begins so: some servers leave out a grammar that they cannot read, without a word."""
        is_held = self.upstream.holds_to_format(job.request)
        for left in range(self.upstream.retries, -1, -1):
            pieces: list[Piece] = []
            is_shown, is_open = False, is_held
            async with aclosing(self._attempts(job, prepared)) as made:
                async for piece in made:
                    if is_shown:
                        yield piece
                        continue
                    pieces.append(piece)
                    if is_open and isinstance(piece, TextPiece) and (begin := piece.text.lstrip()):
                        is_open, is_shown = False, begin.startswith(("{", "["))
                        for each in pieces if is_shown else ():
                            yield each
            if is_shown:
                return
            text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
            end = pieces[-1]
            assert isinstance(end, ReplyEnd)
            found = json_in(text) if end.stop != "tool_calls" else None
            problem = ""
            if end.stop not in ("tool_calls", "length"):  # patterns of a client may take seconds, for it alone
                problem = await asyncio.to_thread(what_is_wrong, found, job.request.format)
            if problem and left:
                note = f"{problem}. Write the whole reply again: one JSON value and nothing else."
                prepared = self.upstream.again(prepared, text, note, (), several=False)
                prepared = self.upstream.held_to_format(prepared, job.request)
                continue
            for piece in pieces[:-1]:
                if found is None or not isinstance(piece, (TextPiece, TextEnd)):
                    yield piece
            if found is not None:
                yield TextPiece(found)
                yield TextEnd()
            yield end
            return


async def _chunks(provider: Provider, prepared: ModelRequest) -> AsyncGenerator[Chunk, None]:
    """What the model writes. A server that takes the conversation, but not with so long an answer, is asked for a
    shorter one: clients that name no limit know none. Where no answer is left, the conversation is too long."""
    try:
        async with aclosing(provider.stream(prepared)) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    except BadRequestError as error:
        allowed = error.max_tokens
        if allowed is None or allowed >= prepared.max_tokens:
            raise
        if allowed < MIN_ANSWER:
            raise ContextTooLongError(error.reason) from error
    async with aclosing(provider.stream(replace(prepared, max_tokens=allowed))) as chunks:
        async for chunk in chunks:
            yield chunk


def _is_written(chunk: Chunk) -> bool:
    """Whether the model wrote more, and not only space."""
    return isinstance(chunk, ToolCallChunk) or (
        isinstance(chunk, (TextChunk, ReasoningChunk)) and bool(chunk.text.strip())
    )
