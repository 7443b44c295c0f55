"""What a scripted model says and how it fails, without a word about how it gets to the client.

    script = [
        reply("I'll look.", ToolUseBlock("toolu_1", "read_file", {"path": "a.py"})),
        Failure(429, "slow down", retry_after=0.1),
        reply("Done.", faults=Faults(by_character=True)),
    ]

`ScriptedProvider(script)` plays it in memory, `LocalServer(script)` over HTTP, in either wire format.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.errors import UsageError
from joey.messages import ReasoningBlock, StopReason, ToolUseBlock
from joey.providers import errors
from joey.providers.base import ModelRequest, Provider
from joey.providers.catalogue import Abilities

PIECE = 12
"""How many characters a streamed piece has."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How a reply misbehaves on its way. Events are counted from 0; a piece of text or of a call is an event."""

    latency: float = 0.0
    """Seconds before anything comes."""
    pause: float = 0.0
    """Seconds between events."""
    cut_after: int | None = None
    """The connection breaks after so many events."""
    breaks_with: Failure | None = None
    """With `cut_after`: the stream does not just break there, but says this error."""
    silent_after: int | None = None
    """Nothing more comes after so many events, and the connection stays open."""
    malformed_at: int | None = None
    """This event is not JSON."""
    by_character: bool = False
    """The bytes come one at a time."""


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """A reply of the model, as the chunks that a provider should make of it."""

    chunks: tuple[Chunk, ...]
    faults: Faults = Faults()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer, such as what is left of a limit."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error instead of a reply. `kind` is the provider's word for it, such as overloaded_error."""

    status: int
    message: str
    kind: str = ""
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """What a real server sent, line by line. `aborted` says that the recording ends before the reply did."""

    lines: tuple[str, ...]
    status: int = 200
    aborted: bool = False

    @classmethod
    def load(cls, path: Path) -> Recording:
        """From a file as in `tests/vectors/streams`."""
        data = json.loads(path.read_text(encoding="utf-8"))
        aborted = bool(data["meta"].get("aborted"))
        lines = [line for _, line in data["sse"]]
        if aborted and lines[-1]:
            lines.append("")  # the client read the line and left; the event was whole
        return cls(tuple(lines), data["http_status"], aborted)


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What a server sends, byte for byte, as it is cut into pieces. `endless` repeats the last piece for ever."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    endless: bool = False
    pause: float = 0.0
    """Seconds after each piece."""


Scripted: TypeAlias = ScriptedReply | Failure | Recording | RawAnswer


def reply(
    *parts: str | ToolUseBlock | ReasoningBlock,
    stop: StopReason | None = None,
    usage: UsageChunk | None = None,
    faults: Faults | None = None,
) -> ScriptedReply:
    """A reply of these texts, calls and thoughts in order. It stops for its calls, if it has some, else at its end."""
    called = any(isinstance(part, ToolUseBlock) for part in parts)
    chunks: list[Chunk] = []
    for index, part in enumerate(parts):
        chunks += _pieces(index, part)
    chunks += [usage or UsageChunk(100, 20), StopChunk(stop or ("tool_calls" if called else "end"))]
    return ScriptedReply(tuple(chunks), faults or Faults())


def _pieces(index: int, part: str | ToolUseBlock | ReasoningBlock) -> Iterator[Chunk]:
    if isinstance(part, str):
        yield from map(TextChunk, _cut(part))
    elif isinstance(part, ReasoningBlock):
        yield from map(ReasoningChunk, _cut(part.text))
        if part.signature is not None:
            yield ReasoningChunk("", part.signature)
    else:
        yield ToolCallChunk(index, part.id, part.name)
        for piece in _cut(json.dumps(part.arguments, ensure_ascii=False)):
            yield ToolCallChunk(index, arguments=piece)


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


class Script:
    """Answers, one for each request. When they are used up, the next request fails and says so."""

    def __init__(self, answers: Iterable[Scripted]) -> None:
        self._answers = iter(answers)
        self.given = 0

    def next(self) -> Scripted:
        answer = next(self._answers, None)
        if answer is None:
            return Failure(400, f"the script has no replies left ({self.given} given)", "invalid_request_error")
        self.given += 1
        return answer


def same_reply(one: Iterable[Chunk], other: Iterable[Chunk]) -> bool:
    """Whether two streams say the same, however they were cut. Stop details, the provider's own words, do not count."""
    return summary(one) == summary(other)


def summary(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """A reply put together: its text, thoughts, calls in order, last usage and reason to stop."""
    calls: dict[Any, list[Any]] = {}
    text, thoughts, signatures = [], [], []
    usage: UsageChunk | None = None
    stop: StopReason | None = None
    for chunk in chunks:
        if isinstance(chunk, TextChunk):
            text.append(chunk.text)
        elif isinstance(chunk, ReasoningChunk):
            thoughts.append(chunk.text)
            signatures += [chunk.signature] if chunk.signature else []
        elif isinstance(chunk, ToolCallChunk):
            call = calls.setdefault(chunk.index, [None, None, ""])
            call[0] = chunk.id or call[0]
            call[1] = chunk.name or call[1]
            call[2] += chunk.arguments or ""
        elif isinstance(chunk, UsageChunk):
            usage = chunk
        elif isinstance(chunk, StopChunk):
            stop = chunk.reason
    return {
        "text": "".join(text),
        "reasoning": "".join(thoughts),
        "signatures": signatures,
        "calls": [tuple(call) for call in calls.values()],
        "usage": usage,
        "stop": stop,
    }


class ScriptedProvider(Provider):
    """Answers each request with the next answer of its script, and remembers the requests. A function makes an answer
    for each request: where several tasks make requests at the same time, their order says nothing."""

    name: ClassVar[str] = "scripted"

    def __init__(
        self,
        answers: Iterable[Scripted] | Callable[[ModelRequest], Scripted],
        *,
        abilities: Abilities | None = None,
        takes_grammar: bool = False,
    ) -> None:
        super().__init__(abilities)
        self._takes_grammar = takes_grammar
        self._answer = answers if callable(answers) else _in_order(Script(answers))
        self.requests: list[ModelRequest] = []

    @property
    def takes_grammar(self) -> bool:
        return self._takes_grammar

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, Failure):
            raise _error(answer)
        if not isinstance(answer, ScriptedReply):
            raise UsageError("a recording is lines of HTTP; play it with LocalServer")
        async for chunk in _played(answer.chunks, answer.faults):
            yield chunk


def _in_order(script: Script) -> Callable[[ModelRequest], Scripted]:
    return lambda _request: script.next()


def _error(failure: Failure) -> errors.ProviderError:
    headers = {} if failure.retry_after is None else {"retry-after": str(failure.retry_after)}
    return errors.classify(failure.message, status=failure.status, kinds=(failure.kind,), headers=headers)


async def _played(chunks: tuple[Chunk, ...], faults: Faults) -> AsyncIterator[Chunk]:
    await asyncio.sleep(faults.latency)
    for number, chunk in enumerate(chunks):
        if number == faults.silent_after:
            await asyncio.Event().wait()
        if number == faults.cut_after and faults.breaks_with is not None:
            raise _error(faults.breaks_with)
        if number == faults.cut_after:
            raise errors.CutStreamError("the reply broke off, as the script says")
        if number == faults.malformed_at:
            raise errors.CutStreamError("a piece of the reply could not be read, as the script says")
        yield chunk
        await asyncio.sleep(faults.pause)
    if faults.cut_after is not None and faults.cut_after >= len(chunks):
        raise errors.CutStreamError("the reply broke off, as the script says")
