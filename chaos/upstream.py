"""A model's server in front of which the gateway stands, as a process that can be killed: `python -m chaos.upstream`.

It keeps nothing: what it answers, and how it fails, stands in the prompt as a `Plan`. So whoever made the plan knows
the reply, word by word, and a server that was killed and started again gives the same one. Its log has a line for each
request that came and one for its end, with the time, written before anything is sent: `ended`, or `left` when whoever
asked closed the connection before. A connection that nobody uses is closed after a moment, as servers do.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from joey import protocols
from joey.chunks import Chunk, StopChunk
from joey.messages import ReasoningBlock, TextBlock, ToolUseBlock
from joey.testing.script import Failure, reply
from joey.testing.wire_formats import FORMATS, WireFormat

KINDS = ("words", "call", "calls", "thought")
BROKEN = ("cut", "quiet-end", "no-json", "odd-json", "bytes", "bad-chunk", "error-event")
"""What goes wrong in the middle of a reply."""
REFUSED = ("page", "no-http", "status-500", "status-503", "status-404", "empty")
"""What comes instead of one."""
FAULTS = ("none", "short", "hang", "mute", "rubbish-after", *BROKEN, *REFUSED)
TOOL = "save"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["path", "text"],
}
LABEL = re.compile(r"q\d+x\d+x\d+z")
_PLAN = re.compile(r"\[plan (\S+) (\S+) (\S+) (\S+) (\d+) (\d+)\]")
_IDLE_SECONDS = 0.3
_ODD = ("null", "[]", "17", '"text"', '{"choices": 17}', '{"choices": [null]}', '{"type": 5, "delta": "x"}', "{}")
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is answered to one request. `label` is unique; every piece of the reply has it in it, or is made of it."""

    label: str
    protocol: str
    kind: str = "words"
    fault: str = "none"
    at: int = 0
    """How much of the reply comes before the fault, in thousandths."""
    pause: int = 2
    """Milliseconds after each event."""

    @classmethod
    def find(cls, text: str) -> Self | None:
        found = _PLAN.search(text)
        if found is None:
            return None
        label, protocol, kind, fault, at, pause = found.groups()
        return cls(label, protocol, kind, fault, int(at), int(pause))

    def __str__(self) -> str:
        return f"[plan {self.label} {self.protocol} {self.kind} {self.fault} {self.at} {self.pause}]"

    @property
    def text(self) -> str:
        return f"Heard {self.label}: {self._words('text', 8)}."

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        count = {"call": 1, "thought": 1, "calls": 2}.get(self.kind, 0)
        return tuple(self._call(number) for number in range(count))

    def _call(self, number: int) -> ToolUseBlock:
        arguments = {"path": f"{self.label}/{number}.txt", "text": f"{self._words(f'call {number}', 12)} {self.label}"}
        return ToolUseBlock(f"id_{self.label}_{number}", TOOL, arguments)

    def _words(self, of: str, count: int) -> str:
        """Words that nobody can guess from the request, or from the ones before."""
        made = (hashlib.sha256(f"{self.label} {of} {each}".encode()).hexdigest()[:7] for each in range(count))
        return " ".join(made)

    def chunks(self) -> tuple[Chunk, ...]:
        thought = [ReasoningBlock(f"I think of {self.label}.")] if self.kind == "thought" else []
        whole = reply(*thought, f"{self.text}\n\n", *map(self._written, self.calls)).chunks
        if self.fault != "short":
            return whole
        *pieces, usage, _stop = whole
        begun = pieces[: self.place(len(pieces))]
        return (*begun, usage, StopChunk("length"))

    def _written(self, call: ToolUseBlock) -> str | ToolUseBlock:
        written = protocols.get(self.protocol).encode_call(call)
        return f"{written.text}\n" if isinstance(written, TextBlock) else call

    def place(self, count: int) -> int:
        """The number of the event, of so many, at which it goes wrong."""
        return self.at * count // 1000


class _GoneError(Exception):
    """Whoever asked has closed the connection."""


class _EndedError(Exception):
    """The plan says that the connection ends here."""


class Upstream:
    """Serves on a port, and writes down what comes and how it ends."""

    def __init__(self, log: int) -> None:
        self._log = log
        self._numbers = itertools.count()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError, _EndedError, _GoneError):
            while True:
                path, body = await asyncio.wait_for(_read_request(reader), _IDLE_SECONDS)
                plan, wire = Plan.find(body), FORMATS.get(path)
                if plan is None or wire is None:
                    await _send_whole(writer, 404, "application/json", b'{"error": {"message": "nothing is here"}}')
                else:
                    await self._answer(plan, wire, reader, writer)
        writer.close()

    async def _answer(
        self, plan: Plan, wire: WireFormat, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        name = f"{plan.label} {os.getpid()}-{next(self._numbers)}"
        self._note(f"began {name}")
        how = "ended"
        try:
            await _Playing(plan, wire, reader, writer).play()
        except (_GoneError, ConnectionError):
            how = "left"
            raise
        finally:
            self._note(f"{how} {name}")

    def _note(self, line: str) -> None:
        os.write(self._log, f"{time.monotonic():.3f} {line}\n".encode())


@dataclass(frozen=True, slots=True)
class _Playing:
    """One answer."""

    plan: Plan
    wire: WireFormat
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def play(self) -> None:
        if self.plan.fault in REFUSED:
            await self._refuse()
            return
        if self.plan.fault == "mute":
            await self._wait(3600)
        self.writer.write(_HEAD)
        events = [*self.wire.events(self.plan.chunks(), "m")]
        place = self.plan.place(len(events))
        for number, (name, data) in enumerate(events):
            if number == place:
                await self._go_wrong(data)
            await self._send(_event(name, data))
            await self._wait(self.plan.pause / 1000)
        rubbish = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nq9x9x9z\r\n\r\n"
        # In one piece: what comes when the next request is on its way cannot be told from its answer.
        self.writer.write(b"0\r\n\r\n" + (rubbish if self.plan.fault == "rubbish-after" else b""))
        await self.writer.drain()

    async def _go_wrong(self, data: str) -> None:
        match self.plan.fault:
            case "hang":
                await self._wait(3600)
            case "cut":
                raise _EndedError
            case "quiet-end":
                await self._send(b"")
                raise _EndedError
            case "no-json":
                await self._send(_event(None, data[: len(data) // 2]))
            case "odd-json":
                await self._send(_event(None, _ODD[self.plan.at % len(_ODD)]))
            case "bytes":
                await self._send(hashlib.sha256(self.plan.label.encode()).digest() * 3)
            case "bad-chunk":
                self.writer.write(b"xyz\r\nrubbish\r\n")
                await self.writer.drain()
            case "error-event":
                await self._send(_event(*self.wire.error_event(Failure(500, "the model fell over", "server_error"))))
                raise _EndedError

    async def _refuse(self) -> None:
        match self.plan.fault:
            case "no-http":
                self.writer.write(hashlib.sha256(self.plan.label.encode()).digest() * 3)
                await self.writer.drain()
                raise _EndedError
            case "empty":
                raise _EndedError
            case "page":
                await _send_whole(self.writer, 200, "text/html", b"<html><body>Sign in, please.</body></html>")
            case fault:
                status = int(fault.removeprefix("status-"))
                body = b'{"error": {"message": "not now", "type": "server_error"}}' if self.plan.at % 2 else b"<html>"
                await _send_whole(self.writer, status, "application/json", body)

    async def _send(self, data: bytes) -> None:
        """One piece of the body; an empty one ends it."""
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def _wait(self, seconds: float) -> None:
        """Wait, and notice when nobody waits for us."""
        until = time.monotonic() + seconds
        while True:
            if self.reader.at_eof() or self.reader.exception() is not None:
                raise _GoneError
            left = until - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, 0.01))


def _event(name: str | None, data: str) -> bytes:
    heading = "" if name is None else f"event: {name}\n"
    return f"{heading}data: {data}\n\n".encode()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Its path and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    body = await reader.readexactly(int(length[1]) if length else 0)
    return head.split(" ")[1].partition("?")[0], body.decode()


async def _send_whole(writer: asyncio.StreamWriter, status: int, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


@dataclass(frozen=True, slots=True)
class Served:
    """A request as the log has it: when it began, and when it ended, if it did. `server` is the process."""

    label: str
    server: int
    began: float
    ended: float | None = None


def requests_in(log: str) -> list[Served]:
    found: dict[str, Served] = {}
    for line in log.splitlines():
        when, what, label, number = line.split(" ")
        server = int(number.partition("-")[0])
        found[number] = (
            Served(label, server, float(when)) if what == "began" else replace(found[number], ended=float(when))
        )
    return [*found.values()]


async def _serve(port: int, log: str) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    server = await asyncio.start_server(Upstream(opened).accept, "127.0.0.1", port, limit=1 << 22)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2]))
