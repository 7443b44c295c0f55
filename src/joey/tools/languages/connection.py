"""A language server as a process: requests, their answers, and what it says by itself.

    open -> ended     it exits, breaks the rules of the wire, floods, or does not read; `problem` says which

Nothing that a server does raises here but out of `request`. Between two requests of ours it may send so many messages
and no more; what it does not read of ours is kept up to a bound; of its error stream only the end is kept.

On the wire a message is a header with a length, and so many bytes of JSON. A server reads whatever a project holds, so
what it sends is read within bounds: a header has few bytes, a message at most MAX_MESSAGE of them, and no more nesting
than `bounded` reads. Anything else is a WireError, which ends the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.sandbox import Sandbox
from joey.tools.shell.job import Process, start_process

MAX_MESSAGE = 8 * 1024 * 1024
MAX_HEADER = 4 * 1024
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*$", re.IGNORECASE | re.MULTILINE)


class MessageError(Exception):
    """What a server sent is no message; the text says why."""


def encode(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end. Raises WireError. The limit of the reader must be MAX_HEADER."""
    try:
        header = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise MessageError("it sent something else than messages") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return _decoded(await _body(reader, _length(header)))


def _length(header: bytes) -> int:
    found = _LENGTH.search(header.replace(b"\r\n", b"\n"))
    if found is None:
        raise MessageError("it sent something else than messages")
    if (length := int(found[1])) > MAX_MESSAGE:
        raise MessageError(f"it sent a message of {length:,} bytes, more than the {MAX_MESSAGE:,} that are read")
    return length


async def _body(reader: asyncio.StreamReader, length: int) -> bytes:
    try:
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise MessageError("it ended in the middle of a message") from None


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        message = read_json(body.decode("utf-8"))
    except (UnicodeDecodeError, FormatError) as error:
        raise MessageError(f"it sent a message that is no JSON ({error})") from None
    if not isinstance(message, dict):
        raise MessageError("it sent JSON that is no message")
    return message


MAX_UNASKED = 20_000
"""Messages that a server may send between two requests."""
MAX_UNREAD = 16 * 1024 * 1024
"""Bytes for the server that it has not read."""
_TAIL = 2_000
_GRACE = 0.7
_METHOD_NOT_FOUND = -32601

Answering = Callable[[str, Any], Any]
"""The answer to a request of the server's: its method and parameters. Raises KeyError for one that there is not."""
Hearing = Callable[[str, Any], None]


class LanguageServerError(Exception):
    """A server cannot answer; the text says why."""


class ServerConnection:
    """One process that speaks the protocol."""

    def __init__(self, process: Process, answer: Answering, hear: Hearing) -> None:
        self._process = process
        self._answer, self._hear = answer, hear
        self._writer: asyncio.WriteTransport | None = None
        self._readers: list[asyncio.ReadTransport] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = self._unasked = 0
        self._words = ""
        self.problem = ""
        """Why it has ended, once it has."""
        self.ended = asyncio.Event()

    @classmethod
    async def open(
        cls,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        sandbox: Sandbox | None,
        answer: Answering,
        hear: Hearing,
    ) -> ServerConnection:
        """Start the server. Raises OSError."""
        pipes = [os.pipe() for _ in range(3)]
        (given, ours), (output, printed), (errors, complained) = pipes
        try:
            process = await start_process(argv, cwd, environment, (given, printed, complained), sandbox)
        except BaseException:
            for each in (ours, output, errors):
                os.close(each)
            raise
        finally:
            for each in (given, printed, complained):
                os.close(each)
        connection = cls(process, answer, hear)
        await connection.listen(ours, output, errors)
        return connection

    async def listen(self, ours: int, output: int, errors: int) -> None:
        """Begin to read what the server writes to these pipes."""
        loop = asyncio.get_running_loop()
        self._writer, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(ours, "wb", 0))
        messages, words = asyncio.StreamReader(limit=MAX_HEADER), asyncio.StreamReader(limit=MAX_HEADER)
        for reader, descriptor in ((messages, output), (words, errors)):
            protocol = asyncio.StreamReaderProtocol(reader)
            pipe, _ = await loop.connect_read_pipe(partial(_same, protocol), os.fdopen(descriptor, "rb", 0))
            self._readers.append(pipe)
        self._tasks = [asyncio.create_task(self._read(messages)), asyncio.create_task(self._keep_tail(words))]

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its error stream."""
        return self._words.strip()

    # What we say

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """The result of a request. Raises LanguageServerError."""
        self._count += 1
        number, self._unasked = self._count, 0
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(seconds):
                return await answered
        except TimeoutError:
            self._send({"method": "$/cancelRequest", "params": {"id": number}})
            raise LanguageServerError(f"it did not answer within {seconds:g} s") from None
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        self._unasked = 0
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        if self.ended.is_set() or self._writer is None or self._writer.is_closing():
            raise LanguageServerError(self.problem or "it has ended")
        self._writer.write(encode(message))
        if self._writer.get_write_buffer_size() > MAX_UNREAD:
            self._end("it does not read what it is sent")

    # What it says

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while (message := await read_message(reader)) is not None:
                self._unasked += 1
                if self._unasked > MAX_UNASKED:
                    return self._end(f"it sent more than {MAX_UNASKED:,} messages that nobody asked for")
                self._take(message)
            self._end(await self._how_it_ended())
        except MessageError as error:
            self._end(str(error))
        except LanguageServerError:
            pass

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._settle(number, message)
        elif number is None:
            self._hear(method, message.get("params"))
        else:
            self._send({"id": number, **self._answered(method, message.get("params"))})

    def _answered(self, method: str, params: Any) -> dict[str, Any]:
        try:
            return {"result": self._answer(method, params)}
        except KeyError:
            return {"error": {"code": _METHOD_NOT_FOUND, "message": f"{method} is not supported"}}

    def _settle(self, number: object, message: dict[str, Any]) -> None:
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.done():
            return
        if "error" in message:
            error = message["error"]
            words = error.get("message") if isinstance(error, dict) else error
            waiting.set_exception(LanguageServerError(f"it answered with an error: {str(words)[:300]}"))
        else:
            waiting.set_result(message.get("result"))

    async def _keep_tail(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(MAX_HEADER):
            self._words = (self._words + data.decode("utf-8", "replace"))[-_TAIL:]

    # The end

    async def settle(self) -> None:
        """Where it reads no more, wait until it is known how it ended."""
        if self._writer is not None and self._writer.is_closing():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self.ended.wait()

    async def _how_it_ended(self) -> str:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                code = await self._process.wait()
                await asyncio.wait(self._tasks[1:])  # its last words
                return f"it ended with {f'exit code {code}' if code >= 0 else f'signal {-code}'}"
        return "it closed its output"

    def _end(self, problem: str) -> None:
        if not self.ended.is_set():
            self.problem = problem
            self.ended.set()
            self._process.signal_group(signal.SIGKILL)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LanguageServerError(self.problem))

    async def close(self) -> None:
        """End it: first asked to, then made to."""
        try:
            if not self.ended.is_set():
                await self.request("shutdown", None, _GRACE)
                self.notify("exit", None)
                async with asyncio.timeout(_GRACE):
                    await self.ended.wait()
        except (LanguageServerError, TimeoutError):
            pass
        finally:
            self._end("it was ended with the task")
            if self._writer is not None and not self._writer.is_closing():
                self._writer.abort()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for pipe in self._readers:
                pipe.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._process.wait()


def _same(protocol: asyncio.StreamReaderProtocol) -> asyncio.StreamReaderProtocol:
    return protocol
