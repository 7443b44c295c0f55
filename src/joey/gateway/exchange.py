"""One request of a client and its answer: the model is asked, its reply read, and asked again where that can help.

    encode --> check the window --> ask --> read --> pieces
                                     ^                 |
                                     +---- again ------+   no call could be handed on, and none was begun

Asked again (`retries`): a call of a tool that is not there, a call that cannot be read, no call where one is required,
no JSON where the reply must be JSON. Of such a reply nothing is shown but the text before the mistake.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from joey.chunks import Chunk, ReasoningChunk, TextChunk, ToolCallChunk
from joey.events import ToolCallFinished
from joey.gateway.formats import fence_around, json_in
from joey.gateway.pieces import Piece, ReplyEnd, TextEnd, TextPiece
from joey.gateway.reading import CallCounts, FindCalls, PieceReader
from joey.gateway.refusal import Refusal, from_provider
from joey.gateway.request import ClientRequest
from joey.gateway.seal import Seal
from joey.gateway.thinking import ThinkSplitter
from joey.gateway.upstream import CHARACTERS_PER_TOKEN, Upstream, estimate
from joey.providers import ModelRequest, ProviderError
from joey.task.rescue import calls_in_text
from joey.usage import Usage

_MAX_KEPT = 200_000
"""Characters of a reply that are kept for the record."""


@dataclass(slots=True, eq=False)
class Outcome:
    """What came of a request, as it comes: for the record, the metrics and the page."""

    wrote: str = ""
    """What the model wrote, each attempt behind the one before it."""
    attempts: int = 0
    counts: CallCounts = field(default_factory=CallCounts)
    usage: Usage = field(default_factory=Usage)

    def note(self, chunk: Chunk) -> None:
        if len(self.wrote) < _MAX_KEPT:
            match chunk:
                case TextChunk(text) | ReasoningChunk(text):
                    self.wrote += text
                case ToolCallChunk(_, _, name, arguments):
                    self.wrote += (f"\n[call {name}] " if name else "") + (arguments or "")
                case _:
                    pass


@dataclass(frozen=True, slots=True)
class Exchange:
    """Asks one upstream for clients."""

    upstream: Upstream
    seal: Seal

    async def prepare(self, request: ClientRequest) -> ModelRequest:
        """The request for the model's server. Raises Refusal if it cannot be answered."""
        try:
            return await self.upstream.check_window(self.upstream.encode(request))
        except ProviderError as error:
            raise from_provider(error, self.upstream.context_window) from error

    async def pieces(
        self, request: ClientRequest, prepared: ModelRequest, new_id: Callable[[], str], outcome: Outcome
    ) -> AsyncIterator[Piece]:
        """The answer as it comes; its last piece is a ReplyEnd. Raises Refusal."""
        try:
            if request.format is not None and prepared.grammar is None:
                async for piece in self._formatted(request, prepared, new_id, outcome):
                    yield piece
            else:
                async for piece in self._attempts(request, prepared, new_id, outcome):
                    yield piece
        except ProviderError as error:
            raise from_provider(error, self.upstream.context_window) from error

    async def _attempts(
        self, request: ClientRequest, prepared: ModelRequest, new_id: Callable[[], str], outcome: Outcome
    ) -> AsyncIterator[Piece]:
        upstream, must_call = self.upstream, self.upstream.must_call(request)
        for left in range(upstream.retries, -1, -1):
            reader = PieceReader(
                request.callable_tools,
                new_id,
                self.seal,
                result_mark=upstream.result_mark,
                single=upstream.ends_with_first_call(request),
                may_retry=left > 0,
                holding=must_call and left > 0,
                find_calls=self._calls_in(request),
            )
            before = len(outcome.wrote)
            last: Piece | None = None
            async for piece in self._ask(request, prepared, reader, outcome):
                last = piece
                yield piece
            reader.rescue()
            useless = bool(reader.rejected) or (must_call and reader.stop != "length")
            if left and useless and reader.can_retry:
                prepared = upstream.again(
                    prepared, outcome.wrote[before:], reader.rejected, request.callable_tools.specs
                )
                outcome.wrote += "\n"
                if isinstance(last, TextPiece):
                    yield TextEnd()
                continue
            for piece in reader.close():
                yield piece
            if must_call and not reader.finished_calls and reader.end().stop != "length":
                raise Refusal("upstream", "the model made no call, although the tool choice requires one")
            yield reader.end()
            return

    def _calls_in(self, request: ClientRequest) -> FindCalls | None:
        specs = request.callable_tools.specs

        def find(text: str) -> tuple[ToolCallFinished, ...]:
            fenced = fence_around(text)
            found = calls_in_text(text if fenced is None else fenced, specs)
            return found.calls if found is not None and not found.around else ()

        return find if specs and request.format is None else None

    async def _ask(
        self, request: ClientRequest, prepared: ModelRequest, reader: PieceReader, outcome: Outcome
    ) -> AsyncIterator[Piece]:
        """One reply, up to its end or to where the rest does not count."""
        upstream, parser = self.upstream, self.upstream.parser(request)
        splitter = None if upstream.protocol.thinks_in_text else ThinkSplitter()
        first_only = upstream.ends_with_first_call(request)
        outcome.attempts += 1
        before, start = outcome.usage, len(outcome.wrote)
        async with aclosing(upstream.provider.stream(prepared)) as chunks:
            async for chunk in chunks:
                outcome.note(chunk)
                for each in splitter.feed(chunk) if splitter else (chunk,):
                    for piece in reader.read(parser.feed(each)):
                        yield piece
                if reader.is_done or (first_only and reader.finished_calls):
                    break
        for each in splitter.finish() if splitter else ():
            for piece in reader.read(parser.feed(each)):
                yield piece
        for piece in reader.read(parser.finish()):
            yield piece
        outcome.counts = CallCounts(
            outcome.counts.well_formed + reader.counts.well_formed,
            outcome.counts.repaired + reader.counts.repaired,
            outcome.counts.malformed + reader.counts.malformed,
        )
        if not reader.usage.total:  # the server did not count, or was not heard to the end
            written = int(len(outcome.wrote[start:]) / CHARACTERS_PER_TOKEN) + 1
            reader.usage = Usage(estimate(prepared), written)
        outcome.usage = reader.usage = before + reader.usage

    async def _formatted(
        self, request: ClientRequest, prepared: ModelRequest, new_id: Callable[[], str], outcome: Outcome
    ) -> AsyncIterator[Piece]:
        """A reply that must be JSON, from a server that takes no grammar: shown when it is known to be."""
        for left in range(self.upstream.retries, -1, -1):
            pieces = [piece async for piece in self._attempts(request, prepared, new_id, outcome)]
            text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
            end = pieces[-1]
            assert isinstance(end, ReplyEnd)
            found = json_in(text)
            if end.stop == "tool_calls" or (found is None and (not left or end.stop == "length")):
                found = None
            elif found is None:
                problem = "The reply is not one JSON value"
                prepared = self.upstream.again(prepared, text, [problem], ())
                continue
            for piece in pieces[:-1]:
                if found is None or not isinstance(piece, (TextPiece, TextEnd)):
                    yield piece
            if found is not None:
                yield TextPiece(found)
                yield TextEnd()
            yield end
            return
