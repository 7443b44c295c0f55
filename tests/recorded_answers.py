"""Answers of real providers, recorded by other projects (vectors/providers/README.md), and what they hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from joey import protocols
from joey.chunks import Chunk, StopChunk, UsageChunk
from joey.messages import Message, TextBlock
from joey.protocols import collect
from joey.providers import ModelRequest, Provider, ProviderError
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.decoding.reader import ReplyReader
from joey.testing import RawAnswer, ReceivedRequest, read
from joey.testing.script import summary
from joey.toolspec import ToolSpec
from vectors_data import cases


@dataclass(frozen=True)
class Answer:
    """One recorded answer. `truth` is what it holds, folded from the wire by a program that is not ours."""

    id: str
    kind: str
    provider: str
    status: int
    body: bytes
    content_type: str
    tools: tuple[str, ...]
    truth: Mapping[str, Any] | None

    @classmethod
    def load(cls, wire: str) -> list[Answer]:
        return [cls._of(row) for row in cases(f"providers/{wire}")]

    @classmethod
    def _of(cls, row: Mapping[str, Any]) -> Answer:
        headers = row.get("headers") or {}
        body, tools = row["body"].encode("utf-8", "surrogatepass"), tuple(row["tools"] or ())
        kind = headers.get("content-type") or "application/json"
        return cls(row["id"], row["kind"], row["provider"], row["status"], body, kind, tools, row["truth"])


@dataclass(frozen=True)
class Read:
    """What we made of an answer."""

    chunks: Sequence[Chunk] = field(default_factory=list)
    error: ProviderError | None = None


def responder(answers: Iterable[Answer]) -> Any:
    """For a LocalServer: the answer whose id is given as the model's name, in some pieces cut anywhere."""
    by_id = {answer.id: answer for answer in answers}

    def respond(request: ReceivedRequest) -> RawAnswer:
        answer = by_id[request.body["model"]]
        return RawAnswer(tuple(_few_pieces(answer.body, answer.id)), answer.status, answer.content_type)

    return respond


def _few_pieces(body: bytes, seed: str) -> Iterator[bytes]:
    random = Random(seed)
    places = sorted(random.randrange(len(body) + 1) for _ in range(5))
    return (body[start:end] for start, end in itertools.pairwise([0, *places, len(body)]))


async def ask(provider: Provider, answer_id: str) -> Read:
    """What a provider makes of an answer, over HTTP."""
    chunks: list[Chunk] = []
    try:
        async for chunk in provider.stream(ModelRequest(answer_id, (Message("user", (TextBlock("go"),)),))):
            chunks += [chunk]  # what came before an error counts
    except ProviderError as error:
        return Read(chunks, error)
    return Read(chunks)


def decode(reader: ReplyReader, pieces: Iterable[bytes]) -> Read:
    """What a reader makes of an answer that comes in these pieces, without a network."""
    decoder, chunks = ReplyDecoder(reader, ReplyLimits()), list[Chunk]()
    try:
        for piece in pieces:
            chunks += decoder.feed(piece)
        chunks += decoder.finish()
    except ProviderError as error:
        return Read(chunks, error)
    return Read(chunks)


def odd_pieces(body: bytes, seed: str) -> Iterator[bytes]:
    """A body as a network might cut it: anywhere, also within a character, and into very small pieces."""
    random, place = Random(seed), 0
    while place < len(body):
        size = random.choice((1, 1, 2, 3, 7, 30, 200))
        yield body[place : place + size]
        place += size


def disagreements(answer: Answer, found: Read) -> list[str]:
    """Where what we read is not what the answer holds."""
    truth = answer.truth
    assert truth is not None
    reply, stops = summary(found.chunks), [chunk for chunk in found.chunks if isinstance(chunk, StopChunk)]
    usage = reply["usage"] or UsageChunk()
    counts = [usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens]
    pairs = {
        "text": (reply["text"], truth["text"]),
        "reasoning": (reply["reasoning"], truth["reasoning"]),
        "calls": (_calls(answer, found.chunks), _known(truth["calls"])),
        "usage": (counts, truth["usage"] or [0, 0, 0, 0]),
        "stop": (stops[0].detail if stops else None, truth["stop"] or ("" if stops else None)),
        "error": (None if found.error is None else str(found.error), truth["error"]),
        "ends once": (len(stops), 0 if found.error else 1),
    }
    differ = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return [f"{name}: {ours!r:.300} instead of {theirs!r:.300}" for name, (ours, theirs) in differ.items()]


def _calls(answer: Answer, chunks: Sequence[Chunk]) -> list[Any]:
    specs = [ToolSpec(name, "", {"type": "object"}) for name in answer.tools]
    content = collect(read(protocols.get("native").parser(specs), list(chunks)))
    made = [[call.name, call.arguments] for call in content.calls]
    return made + [[call.name, "malformed"] for call in content.malformed]


def _known(calls: Iterable[Any]) -> list[Any]:
    """The calls of the truth. Its program takes Snowflake's empty `function_call` for one; it holds nothing."""
    calls = [call for call in calls if call != ["", {}]]
    whole = [[name, given] for name, given in calls if "__not_json__" not in given]
    return whole + [[name, "malformed"] for name, given in calls if "__not_json__" in given]
