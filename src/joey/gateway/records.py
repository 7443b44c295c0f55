"""The requests of late, in memory only: what the client wanted, what the model wrote, what was made of it.

For the page at `/` and for `/metrics`. Nothing of it goes to a log or a file. Texts are kept up to a bound each, and a
fixed number of requests; the numbers are added up for as long as the gateway runs.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.gateway.arguments import compact
from joey.gateway.exchange import Outcome
from joey.gateway.pieces import CallBegin, CallBroken, CallEnd, Piece, ReasoningPiece, ReplyEnd, TextPiece
from joey.gateway.request import ClientRequest
from joey.messages import Message, TextBlock, ToolResultBlock
from joey.toolspec import ToolSpec
from joey.wire import JsonObject

MAX_RECORDS = 50
_MAX_TEXT = 100_000
_SHOWN_REQUEST = 4_000

RecordState: TypeAlias = Literal["waiting", "answering", "done", "failed", "gone"]


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request."""

    number: int
    wire: str
    client: str
    model: str = ""
    upstream: str = ""
    protocol: str = ""
    started: float = field(default_factory=time.time)
    seconds: float = 0.0
    state: RecordState = "waiting"
    problem: str = ""
    wanted: str = ""
    tools: tuple[ToolSpec, ...] = ()
    made: list[str] = field(default_factory=list)
    size: int = 0
    stop: str = ""
    outcome: Outcome = field(default_factory=Outcome)

    def describe(self, request: ClientRequest, upstream: str, protocol: str) -> None:
        self.model, self.upstream, self.protocol = request.model, upstream, protocol
        self.tools = request.callable_tools.specs
        self.wanted = _last_words(request.messages)[-_SHOWN_REQUEST:]

    def add(self, piece: Piece) -> None:
        """What is made of the reply, as it is made."""
        match piece:
            case TextPiece(text):
                self._write(text)
            case ReasoningPiece(text):
                self._write(text)
            case CallBegin(_, tool):
                self._write(f"\n[call {tool.flat}] ")
            case CallEnd(_, _, arguments, _):
                self._write(f"{compact(arguments)}\n")
            case CallBroken():
                self._write("(broken off: it must not run)\n")
            case ReplyEnd(stop):
                self.stop = stop
            case _:
                pass

    def _write(self, text: str) -> None:
        if self.size < _MAX_TEXT:
            self.size += len(text)
            self.made.append(text)

    def summary(self) -> JsonObject:
        usage, counts = self.outcome.usage, self.outcome.counts
        seconds = self.seconds or time.time() - self.started
        return {
            "number": self.number,
            "wire": self.wire,
            "client": self.client,
            "model": self.model,
            "upstream": self.upstream,
            "protocol": self.protocol,
            "started": self.started,
            "seconds": round(seconds, 3),
            "state": self.state,
            "problem": self.problem,
            "stop": self.stop,
            "tools": len(self.tools),
            "attempts": self.outcome.attempts,
            "calls": counts.well_formed,
            "repaired": counts.repaired,
            "malformed": counts.malformed,
            "input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            "cached_tokens": usage.cache_read_tokens,
            "output_tokens": usage.output_tokens,
        }

    def details(self) -> JsonObject:
        parts = {"wanted": self.wanted, "wrote": self.outcome.wrote, "made": "".join(self.made)}
        return {**self.summary(), **parts, "tool_names": [tool.name for tool in self.tools]}

    def replay(self) -> JsonObject:
        """What `joey parse --batch` takes, to read the reply again."""
        tools = [{"name": tool.name, "schema": tool.schema} for tool in self.tools]
        return {"id": str(self.number), "protocol": self.protocol, "tools": tools, "chunks": [self.outcome.wrote]}


class Records:
    """The last requests, and the numbers of all."""

    def __init__(self, max_records: int = MAX_RECORDS) -> None:
        self._kept: deque[RequestRecord] = deque(maxlen=max_records)
        self._numbers = itertools.count(1)
        self._totals: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def open(self, wire: str, client: str) -> RequestRecord:
        record = RequestRecord(next(self._numbers), wire, client)
        self._kept.append(record)
        return record

    def close(self, record: RequestRecord, state: RecordState, problem: str = "") -> None:
        record.seconds, record.state, record.problem = time.time() - record.started, state, problem
        usage, counts = record.outcome.usage, record.outcome.counts
        self._count("requests_total", 1, wire=record.wire, outcome=state)
        self._count("request_seconds_total", record.seconds, wire=record.wire)
        for kind, value in (
            ("well_formed", counts.well_formed),
            ("repaired", counts.repaired),
            ("malformed", counts.malformed),
        ):
            self._count("calls_total", value, kind=kind)
        for kind, value in (
            ("input", usage.input_tokens + usage.cache_write_tokens),
            ("cached", usage.cache_read_tokens),
            ("output", usage.output_tokens),
        ):
            self._count("tokens_total", value, kind=kind)
        self._count("retries_total", max(0, record.outcome.attempts - 1))

    def _count(self, name: str, value: float, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        self._totals[key] = self._totals.get(key, 0) + value

    def list(self) -> list[JsonObject]:
        """The newest first."""
        return [record.summary() for record in reversed(self._kept)]

    def find(self, number: int) -> RequestRecord | None:
        return next((record for record in self._kept if record.number == number), None)

    def metrics(self, waiting: int) -> str:
        """All numbers in the text format of Prometheus."""
        return "\n".join([*self._lines(), "# TYPE joey_gateway_waiting gauge", f"joey_gateway_waiting {waiting}", ""])

    def _lines(self) -> Iterator[str]:
        by_name = itertools.groupby(sorted(self._totals.items()), key=lambda each: each[0][0])
        for name, entries in by_name:
            yield f"# TYPE joey_gateway_{name} counter"
            for (_, labels), value in entries:
                shown = ",".join(f'{label}="{text}"' for label, text in labels)
                yield f"joey_gateway_{name}{{{shown}}} {value:g}" if shown else f"joey_gateway_{name} {value:g}"


def _last_words(messages: tuple[Message, ...]) -> str:
    """The text of the last message, results included."""
    words: list[str] = []
    for block in messages[-1].content if messages else ():
        if isinstance(block, TextBlock):
            words.append(block.text)
        elif isinstance(block, ToolResultBlock):
            words += [f"[result] {part.text}" for part in block.content if isinstance(part, TextBlock)]
    return "\n".join(words)
