"""The gateway inside the program: a transport for the official SDKs, without a port.

    client = openai.OpenAI(**joey.gateway.connect("local/coder-1.5b"))
    client.chat.completions.create(model="any", tools=[…], messages=[…])

The SDK sends its requests as always; in place of a network there is the gateway. `connect_async` is for asynchronous
clients, and `for_anthropic=True` for Anthropic's. Answers stream as they come, and one that is closed early ends the
request upstream. A synchronous client gets an event loop in a thread of its own, which ends with the client.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

import httpx2

from joey.gateway.http import AsgiApp, AsgiMessage
from joey.gateway.server import app
from joey.gateway.upstream import Upstream
from joey.providers import Provider

T = TypeVar("T")
_ADDRESS = "http://localhost"
_KEY = "in-process"


def connect(model: str | Provider | Upstream, *, for_anthropic: bool = False, **options: Any) -> dict[str, Any]:
    """The arguments of `openai.OpenAI` (or `anthropic.Anthropic`) that put this model behind it."""
    client = httpx2.Client(transport=GatewayTransport(app(model, **options)), timeout=None)
    return {**_arguments(for_anthropic), "http_client": client}


def connect_async(model: str | Provider | Upstream, *, for_anthropic: bool = False, **options: Any) -> dict[str, Any]:
    """The same for `openai.AsyncOpenAI` and `anthropic.AsyncAnthropic`."""
    client = httpx2.AsyncClient(transport=AsyncGatewayTransport(app(model, **options)), timeout=None)
    return {**_arguments(for_anthropic), "http_client": client}


def _arguments(for_anthropic: bool) -> dict[str, Any]:
    return {"api_key": _KEY, "base_url": _ADDRESS if for_anthropic else f"{_ADDRESS}/v1", "max_retries": 0}


class _Call:
    """One request to the application, and its answer as it comes."""

    def __init__(self, application: AsgiApp, request: httpx2.Request, body: bytes) -> None:
        self._gone = asyncio.Event()
        self._body: bytes | None = body
        self._sent: asyncio.Queue[AsgiMessage | None] = asyncio.Queue()
        self._running = asyncio.ensure_future(self._run(application, _scope(request)))

    async def _run(self, application: AsgiApp, scope: dict[str, Any]) -> None:
        try:
            await application(scope, self._receive, self._sent.put)
        finally:
            self._sent.put_nowait(None)

    async def _receive(self) -> AsgiMessage:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def start(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        message = await self._sent.get()
        if message is None:
            await self._running
            raise httpx2.RemoteProtocolError("the gateway did not answer")
        return message["status"], message["headers"]

    async def next(self) -> bytes | None:
        """The next part of the body; None at its end."""
        while (message := await self._sent.get()) is not None:
            if message.get("body"):
                return bytes(message["body"])
            if not message.get("more_body"):
                break
        return None

    async def close(self) -> None:
        self._gone.set()
        await asyncio.gather(self._running, return_exceptions=True)


def _scope(request: httpx2.Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": None,
        "server": (request.url.host, request.url.port),
    }


class AsyncGatewayTransport(httpx2.AsyncBaseTransport):
    """For asynchronous clients."""

    def __init__(self, application: AsgiApp) -> None:
        self._application = application

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = _Call(self._application, request, await request.aread())
        status, headers = await call.start()
        return httpx2.Response(status, headers=headers, stream=_AsyncBody(call))


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._call.next()) is not None:
            yield part

    async def aclose(self) -> None:
        await self._call.close()


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="joey-gateway", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class GatewayTransport(httpx2.BaseTransport):
    """For synchronous clients."""

    def __init__(self, application: AsgiApp) -> None:
        self._application = application
        self._loop = _Loop()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()

        async def begin() -> tuple[_Call, int, list[tuple[bytes, bytes]]]:
            call = _Call(self._application, request, body)
            return (call, *await call.start())

        call, status, headers = self._loop.run(begin())
        return httpx2.Response(status, headers=headers, stream=_Body(call, self._loop))

    def close(self) -> None:
        self._loop.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, call: _Call, loop: _Loop) -> None:
        self._call = call
        self._loop = loop

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._loop.run(self._call.next())) is not None:
            yield part

    def close(self) -> None:
        self._loop.run(self._call.close())
