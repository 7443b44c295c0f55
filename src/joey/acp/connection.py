"""JSON-RPC 2.0 in both directions, one message a line.

A message is a request (method and id), a notification (a method alone) or an answer (an id and a result or an error).
Ids of the two directions are independent: what comes in is looked up by what it is first, then by its id.

Nothing that comes in ends the connection but its end. A line that is no JSON, no object, too long, an unknown method or
an answer that nobody waits for is answered or dropped as the standard says, and the next line is read. What is sent
goes out in the order in which it was sent: a line is written whole or, when the reader went away, not at all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, BinaryIO, Protocol, TypeAlias

from joey.acp.lines import MAX_LINE, InputLines
from joey.errors import JoeyError
from joey.wire import sendable

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
CANCELLED, LOGIN_NEEDED, NOT_FOUND = -32800, -32000, -32002
_LOG = logging.getLogger(__name__)

Id: TypeAlias = int | str | None
Params: TypeAlias = Mapping[str, Any]


class RpcError(JoeyError):
    """An error answer, ours or the other side's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RpcHandler(Protocol):
    """Who answers what the other side sends."""

    def method(self, name: str) -> Callable[[Params], Awaitable[Any]] | None: ...
    def notification(self, name: str) -> Callable[[Params], None] | None: ...


class Lines(Protocol):
    """Where the client's messages come from."""

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        ...


class EditorConnection:
    """One client. `run` serves it until its input ends."""

    def __init__(self, served: RpcHandler, output: BinaryIO) -> None:
        self._served = served
        self._output = output
        self._next_id = 0
        self._waiting: dict[Id, asyncio.Future[Any]] = {}
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = False

    # What goes out

    def notify(self, method: str, params: Params) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Params) -> Any:
        """Ask the client; its result, or RpcError. A person may take as long as they want."""
        self._next_id += 1
        number = self._next_id
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def _write(self, message: Mapping[str, Any]) -> None:
        if self.closed:
            return
        line = sendable(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) + "\n"
        try:
            self._output.write(line.encode("utf-8"))
            self._output.flush()
        except (OSError, ValueError):
            self.closed = True  # the reader went away; the end of the input follows

    # What comes in

    async def run(self, lines: Lines) -> None:
        """Serve every line, then end what still runs."""
        try:
            while (line := await lines.next()) is not None:
                self.receive(line)
        finally:
            self.closed = True
            await self._end()

    def receive(self, line: bytes) -> None:
        """One line of the client's."""
        if not line.strip():
            return
        if len(line) > MAX_LINE:
            self._refuse(None, INVALID_REQUEST, f"a message has at most {MAX_LINE} bytes")
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "this line is not JSON")
            return
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "a message is a JSON object; batches are not supported")
            return
        self._dispatch(message)

    def _dispatch(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            params = message.get("params")
            params = {} if params is None else params
            if not isinstance(params, dict):
                self._refuse(number, INVALID_PARAMS, f"the parameters of {method} are a JSON object")
            elif "id" in message:
                self._serve(method, number, params)
            else:
                self._notified(method, params)
        elif "id" in message and ("result" in message or "error" in message):
            self._answered(number, message)
        else:
            self._refuse(number if _is_id(number) else None, INVALID_REQUEST, "this is neither a request nor an answer")

    def _serve(self, method: str, number: Any, params: Params) -> None:
        if not _is_id(number):
            self._refuse(None, INVALID_REQUEST, "the id of a request is a number or a string")
            return
        handler = self._served.method(method)
        if handler is None:
            self._refuse(number, NO_METHOD, f"there is no method {method!r}")
            return
        self._running[number] = self._start(self._answer(method, number, handler, params))

    async def _answer(
        self, method: str, number: Id, handler: Callable[[Params], Awaitable[Any]], params: Params
    ) -> None:
        try:
            result = await handler(params)
        except asyncio.CancelledError:
            self._refuse(number, CANCELLED, f"{method} was cancelled")
        except RpcError as error:
            self._refuse(number, error.code, str(error))
        except JoeyError as error:
            self._refuse(number, INVALID_PARAMS, str(error))
        except Exception:  # noqa: BLE001 - a bug of ours is no reason to leave the editor without an answer
            _LOG.exception("%s failed", method)
            self._refuse(number, INTERNAL, f"{method} failed unexpectedly; the details are in the log of the agent")
        else:
            self._write({"jsonrpc": "2.0", "id": number, "result": result})
        finally:
            self._running.pop(number, None)

    def _notified(self, method: str, params: Params) -> None:
        if method == "$/cancel_request":
            self._cancel(params.get("requestId"))
            return
        handler = self._served.notification(method)
        if handler is None:
            return  # one that is not known is dropped
        try:
            handler(params)
        except Exception:  # noqa: BLE001 - nothing that comes in ends the connection
            _LOG.exception("%s failed", method)

    def _cancel(self, number: Any) -> None:
        """Answer a request of the client's with the error for it. One that is over, or never was, is none."""
        running = self._running.get(number) if _is_id(number) else None
        if running is not None:
            running.cancel()

    def _answered(self, number: Any, message: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(number) if _is_id(number) else None
        if waiting is None or waiting.done():
            return  # an answer to a question never asked, or asked by somebody who left
        error = message.get("error")
        if error is None:
            waiting.set_result(message.get("result"))
        else:
            code = error.get("code") if isinstance(error, dict) else None
            words = error.get("message") if isinstance(error, dict) else None
            waiting.set_exception(RpcError(code if isinstance(code, int) else INTERNAL, str(words or error)))

    def _refuse(self, number: Id, code: int, message: str) -> None:
        self._write({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _end(self) -> None:
        for waiting in self._waiting.values():
            waiting.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, (int, str)) and not isinstance(value, bool))


class ThreadedLines:
    """Lines that a thread reads, because standard input may be a file, which no loop watches."""

    def __init__(self, lines: InputLines, first: tuple[bytes, ...] = ()) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for line in first:
            self._queue.put_nowait(line)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=[lines], daemon=True).start()

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        return await self._queue.get()

    def _read(self, lines: InputLines) -> None:
        while line := lines.next():
            self._hand(line)
        self._hand(None)

    def _hand(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
        except RuntimeError:
            return  # the loop has ended
