"""The ways to servers: through the pipes of a program of ours, JSON messages one a line; and over HTTP.

The SDK has transports; these are here for what servers do that they should not. A line that is no message (programs
print to the wrong stream) is kept with the server's last words and costs nothing else. A message may be MAX_MESSAGE
long and hold MAX_VALUES, no more: a server that floods is cut off, in linear time and bounded memory. The error stream
is always read, so a talkative server never blocks on it, and only its end is kept. Closing is the protocol's: end of
input, a moment to leave, then the whole process group is ended.

For a server at an address there is a client that sends the configured headers, and holds each message to the same
limit: a whole answer, or one event of a stream, which ends with an empty line. A stream may go on for as long as it
likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeAlias

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from joey.mcp.config import ServerConfig
from joey.mcp.errors import ErrorOutput
from joey.tools.shell.environment import command_environment

MAX_MESSAGE = 32 * 1024 * 1024
MAX_VALUES = 500_000
_CHUNK = 64 * 1024
_ANSWER = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"')
_BRACKETS = re.compile(rb"[{}\[\]]")
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SIGNS = re.compile(_STRINGS.pattern + rb"|[,\[{]", re.DOTALL)
_MAX_DEPTH, _MAX_DEEP_MESSAGE = 500, 1024 * 1024
_GRACE = 1.0
_TICK = 0.01
"""Seconds a server has to leave by itself, and again after it was told to."""

Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio_transport(config: ServerConfig, words: ErrorOutput) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Run the server and yield its two streams. Raises OSError if it cannot be run."""
    process = await _started(config)
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    work = [
        asyncio.create_task(_read(process, into, words)),
        asyncio.create_task(_write(process, out_of, into)),
        asyncio.create_task(_listen(process, words)),
    ]
    try:
        yield incoming, outgoing
    finally:
        for stream in (into, incoming, outgoing, out_of):
            stream.close()
        await asyncio.shield(asyncio.create_task(_stop(process, work)))


async def _started(config: ServerConfig) -> asyncio.subprocess.Process:
    """Run the program. If this is cancelled halfway, the program may have started others: the whole group is ended."""
    program = asyncio.create_subprocess_exec(
        *server_command(config),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=config.cwd or None,
        env=server_environment(config),
        start_new_session=True,
    )
    starting = asyncio.create_task(program)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.create_task(_end_started(starting)))
        raise


async def _end_started(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    with contextlib.suppress(OSError):
        await _end(await starting, [])


def server_command(config: ServerConfig) -> list[str]:
    """The program to run: the server, or Joey, which runs it inside a full sandbox or not at all."""
    words = [config.command, *config.args]
    if not config.sandbox:
        return words
    given = [word for name, _value in config.env for word in ("--env", name)]
    inside = ["sandbox", "--require", "--network", config.sandbox, "--workspace", config.cwd or ".", *given, "--"]
    return [sys.executable, "-P", "-m", "joey", *inside, *words]


def server_environment(config: ServerConfig) -> dict[str, str]:
    """A few harmless variables and what the configuration names. Not our whole environment: it holds keys that are none
    of the server's business."""
    return {**command_environment(get_default_environment()).variables, **dict(config.env)}


async def _read(
    process: asyncio.subprocess.Process, into: MemoryObjectSendStream[SessionMessage | Exception], words: ErrorOutput
) -> None:
    assert process.stdout is not None
    pieces: list[bytes] = []
    size = 0
    with into, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        while data := await process.stdout.read(_CHUNK):
            *ends, rest = data.split(b"\n")
            for end in ends:
                if message := _message(b"".join((*pieces, end)), words):
                    await into.send(message)
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            if size > MAX_MESSAGE:
                words.note(f"cut off: it sent a message of more than {MAX_MESSAGE // 1024 // 1024} MB")
                return
    if await _left(process):
        words.note(f"it ended with exit status {process.returncode}")


def _message(line: bytes, words: ErrorOutput) -> SessionMessage | None:
    if not line.strip():
        return None
    if too_many_values(line):
        words.note(f"a message with more than {MAX_VALUES:,} values was left out")
        return _unreadable_answer(line)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        pass
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(_deep_json(line), by_name=False))
    except (ValueError, RecursionError):
        words.add(b"\n[not a message] " + line[:500] + b"\n")
        return _unreadable_answer(line)


def too_many_values(message: bytes) -> bool:
    """Whether JSON has more values than there is memory for: each takes fifty times the room of the two bytes it is."""
    if sum(map(message.count, (b",", b"[", b"{"))) <= MAX_VALUES:
        return False
    signs = (each for each in _SIGNS.finditer(message) if each[0] in (b",", b"[", b"{"))  # those in strings are words
    return next(islice(signs, MAX_VALUES, None), None) is not None


def _deep_json(line: bytes) -> Any:
    """The fast parser stops at some 200 levels, and schemas may go deeper; beyond _DEEPEST nobody can read them."""
    depth, reached = 0, 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", line)) if len(line) < _MAX_DEEP_MESSAGE else ():
        depth += 1 if bracket in b"{[" else -1
        reached = max(reached, depth)
    if not 0 < reached <= _MAX_DEPTH:
        raise ValueError("nested too deep, or no JSON")
    return json.loads(line)


def _unreadable_answer(line: bytes) -> SessionMessage | None:
    """An answer that cannot be read is an error, told at once: whoever waits for it would wait for nothing."""
    start = _ANSWER.match(line)
    if start is None:
        return None
    problem = ErrorData(code=PARSE_ERROR, message="its answer cannot be read as JSON")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(start[1]), error=problem))


async def _write(
    process: asyncio.subprocess.Process,
    out_of: MemoryObjectReceiveStream[SessionMessage],
    into: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    try:
        async with out_of:
            async for message in out_of:
                process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError):
        into.close()  # nobody listens any more: whoever waits for an answer should know


async def _listen(process: asyncio.subprocess.Process, words: ErrorOutput) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(_CHUNK):
        words.add(data)


async def _stop(process: asyncio.subprocess.Process, work: list[asyncio.Task[None]]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.close()
        if not await _left(process):
            _signal(process, signal.SIGTERM)
            await _left(process)
        reading = work[0]  # it notes how the process ended, if that came first; its clock ticks faster than this
        await asyncio.wait([reading], timeout=10 * _TICK)
    finally:
        await _end(process, work)


async def _end(process: asyncio.subprocess.Process, work: list[asyncio.Task[None]]) -> None:
    _signal(process, signal.SIGKILL)  # also what it started and left behind
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    await _left(process)
    # A child that escaped the group may hold the pipes: do not wait for their end.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _left(process: asyncio.subprocess.Process) -> bool:
    """Whether it ended in time. Not `process.wait()`: that also waits for whoever inherited the pipes."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            while process.returncode is None:  # noqa: ASYNC110 - nobody sets an event for it
                await asyncio.sleep(_TICK)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


_CONNECT_SECONDS = 30.0
_MAX_SIGNS = 2_000_000
"""Commas and opening brackets of a message, those in its texts included: as many values as there is memory for."""


_HINTS = {
    401: ": it wants to know who calls; sign in with `joey mcp login {name}`, or send a token in its headers",
    403: ": it does not let this caller in; look at the token in its headers",
    404: ": there is no server at this address",
}


def http_client(config: ServerConfig, words: ErrorOutput, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """`auth` signs the requests (joey.mcp.oauth). Reading has no limit in time: every request has one of its own, and a
    stream may be silent for hours."""

    async def looked_at(response: httpx2.Response) -> None:
        signing = auth is not None and response.status_code == 401  # a reason to sign again, which `auth` does
        if response.is_error and response.request.method == "POST" and not signing:
            hint = _HINTS.get(response.status_code, "").format(name=config.name)
            words.note(f"it answered HTTP {response.status_code}{hint}")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Limited(response.stream, words)

    return httpx2.AsyncClient(
        headers=dict(config.headers),
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        event_hooks={"response": [looked_at]},
    )


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, words: ErrorOutput) -> None:
        self._inner, self._words = inner, words

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, values, end = 0, 0, b""
        async for piece in self._inner:
            size += len(piece)
            values += sum(piece.count(sign) for sign in (b",", b"[", b"{"))
            if size > MAX_MESSAGE // 2 or values > _MAX_SIGNS // 2:  # only then is it worth looking where messages end
                last = max((end + piece).rfind(blank) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"))
                size, values = (len(end + piece) - last, 0) if last >= 0 else (size, values)
            if values > _MAX_SIGNS:
                self._words.note(f"cut off: it sent a message of more than {_MAX_SIGNS:,} values")
                raise httpx2.ReadError("the message has too many values")
            if size > MAX_MESSAGE:
                self._words.note(f"cut off: it sent a message of more than {MAX_MESSAGE // 1024 // 1024} MB")
                raise httpx2.ReadError("the message is too long")
            end = piece[-3:]
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
