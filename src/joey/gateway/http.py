"""One request over HTTP, as an ASGI server hands it over: its parts, its body within bounds, and the way to answer.

The gateway has a dozen fixed paths, and answers are bytes that are made elsewhere: a framework for that would cost more
than the rest of a request, and a third of the start-up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from joey.gateway.refusal import Refusal, invalid

AsgiMessage: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_ONCE = (b"host", b"origin", b"authorization")
_DRAINED = 4
"""A body that is too large is read to its end, up to so many times the limit: clients read no answer before."""


def too_deep() -> Refusal:
    """For a request that Python cannot follow, wherever that is noticed: nothing else has such depths."""
    return invalid("the JSON of the request is nested too deeply")


def as_refusal(error: Refusal | RecursionError) -> Refusal:
    """What a client is told of a request that could not be understood or answered."""
    return error if isinstance(error, Refusal) else too_deep()


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


class HeldBytes:
    """The bodies of all requests that are being answered: many large ones at once must not fill the memory."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0

    def take(self, size: int) -> None:
        if self._size + size > self._max_bytes:
            raise Refusal("overloaded", "too many large requests at once; try again later", retry_after=5)
        self._size += size

    def give_back(self, size: int) -> None:
        self._size -= size


class HttpCall:
    """A request, and the way back. Names of headers are in lower case. `close` says that its body is needed no more."""

    __slots__ = ("_held", "_size", "headers", "method", "path", "receive", "scope", "send")

    def __init__(self, scope: Scope, receive: Receive, send: Send, held: HeldBytes) -> None:
        self.scope = scope
        self._held = held
        self._size = 0
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self.receive = receive
        self.send = send

    @property
    def client(self) -> str:
        """What tells one client from another: its program and where it comes from. Its key is not shown."""
        agent = self.headers.get("user-agent", "unknown").split(" ")[0][:60]
        address = self.scope.get("client")
        return f"{agent} {address[0] if address else 'in-process'}"

    async def body(self, max_bytes: int) -> bytes:
        """The body. Raises Refusal if it is too large or compressed, ClientGoneError if it does not come."""
        parts: list[bytes] = []
        size, more = 0, True
        while more and size <= max_bytes * _DRAINED:
            message = await self.receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            part = message.get("body", b"")
            more, size = message.get("more_body", False), size + len(part)
            if size <= max_bytes:
                self._held.take(len(part))
                self._size += len(part)
                parts.append(part)
            else:
                parts.clear()
                self.close()
        if size > max_bytes:
            raise Refusal("too_large", f"the request is larger than {max_bytes // 2**20} MB")
        coding = self.headers.get("content-encoding", "identity").lower()
        if coding not in ("", "identity"):
            raise invalid(f"Content-Encoding {coding[:20]} is not supported; send the body uncompressed")
        return b"".join(parts)

    def close(self) -> None:
        self._held.give_back(self._size)
        self._size = 0

    @property
    def is_ambiguous(self) -> bool:
        """Whether a header that decides who may come in is there twice."""
        return any(sum(each == name for each, _ in self.scope["headers"]) > 1 for name in _ONCE)

    async def answer(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        """Answer in one piece. Underscores in the names of headers are hyphens."""
        given = {"content-type": content_type, "content-length": str(len(body))}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.send(head(status, {**given, **more}))
        await self.send({"type": "http.response.body", "body": body, "more_body": False})


def head(status: int, headers: Mapping[str, str]) -> AsgiMessage:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


def read_json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_no_json)
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise invalid(f"the request is not valid JSON: {error}") from None


def _no_json(word: str) -> Any:
    """Python reads these, but the model's server may not."""
    raise ValueError(f"{word} is not a JSON value")


async def unless_gone(work: Awaitable[None], receive: Receive) -> bool:
    """Do the work, but end it when the client goes away; returns whether it was done. Raises Refusal when it is the
    server that ends: the client is still there, and no answer may end without its reason."""
    doing = asyncio.current_task()
    assert doing is not None
    is_over = False

    def end(watching: asyncio.Future[None]) -> None:
        if not is_over and not watching.cancelled():
            doing.cancel()

    watching = asyncio.ensure_future(_disconnected(receive))
    watching.add_done_callback(end)
    try:
        await work
    except asyncio.CancelledError:
        is_gone = watching.done()
        if doing.uncancel() > 0 or not is_gone:
            raise Refusal("overloaded", "the gateway is stopping; try again when it is back", retry_after=5) from None
        return False
    finally:
        is_over = True
        watching.cancel()
    return True


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
