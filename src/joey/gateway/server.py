"""The gateway as an ASGI application: the paths of the three wires, with `/v1` in front or not.

app(Upstream(...))      or      app("local/coder-1.5b")      or      app(provider, model="any")
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from joey.errors import UsageError
from joey.gateway.answering import WireEndpoint
from joey.gateway.guard import Guard
from joey.gateway.http import AsgiApp, ClientGoneError, HeldBytes, HttpCall, Receive, Scope, Send, as_refusal, read_json
from joey.gateway.records import Records
from joey.gateway.refusal import Refusal, invalid
from joey.gateway.replies import KeptReplies
from joey.gateway.routing import CLAUDE, Routing
from joey.gateway.seal import Seal
from joey.gateway.upstream import Upstream, choose_protocol
from joey.gateway.wires.base import ReadingContext, Wire, encoded
from joey.gateway.wires.chat import ChatWire
from joey.gateway.wires.messages import MessagesWire
from joey.gateway.wires.responses import ResponsesWire
from joey.providers import LOCAL, Provider, open_model

WIRES: tuple[Wire, ...] = (ChatWire(), ResponsesWire(), MessagesWire())
_MESSAGES = MessagesWire()
_CHAT = ChatWire()
_PAGE_HEADERS = {
    "content_security_policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x_content_type_options": "nosniff",
    "referrer_policy": "no-referrer",
    "cache_control": "no-store",
}
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_PAGE = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
_SIGN_IN = 'Basic realm="joey gateway", charset="UTF-8"'
Endpoint: TypeAlias = Callable[[HttpCall], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """How a gateway treats its clients."""

    guard: Guard = field(default_factory=Guard)
    max_bytes: int = 32 * 2**20
    """How large a request may be."""
    max_seconds: float = 3600.0
    """How long an answer may take, its time in line included."""
    keep_alive: float = 10.0
    """After so many seconds without a word a stream says that it is alive."""
    show_page: bool = True
    """Whether the page and the list of requests are shown. They hold what clients wrote."""


class Gateway:
    """The state of one gateway, and the application that serves it."""

    def __init__(self, upstreams: Sequence[Upstream], options: GatewayOptions | None = None) -> None:
        if not upstreams:
            raise UsageError("a gateway needs a model; name one with --model or --upstream")
        self.options = options or GatewayOptions()
        self.routing = Routing(upstreams)
        self.records = Records()
        self._replies = KeptReplies()
        self._seal = Seal(secrets.token_bytes(32))
        self._started = datetime.now(UTC)

    def application(self) -> AsgiApp:
        posts: dict[str, Endpoint] = {wire.path: self._answer(wire) for wire in WIRES}
        posts["/messages/count_tokens"] = self._count
        gets: dict[str, Endpoint] = {"/models": self._models}
        found = {
            "POST": {f"{version}{path}": endpoint for path, endpoint in posts.items() for version in _VERSIONS},
            "GET": {f"{version}{path}": endpoint for path, endpoint in gets.items() for version in _VERSIONS},
        }
        found["GET"] |= {"/health": _health, "/metrics": self._metrics}
        below: dict[str, Endpoint] = {f"{version}/models/": self._model for version in _VERSIONS}
        if self.options.show_page:
            found["GET"] |= {**dict.fromkeys(_PAGE, _page), "/requests": self._requests}
            below["/requests/"] = self._request
        return _Application(found, below, self.options, self.close)

    async def close(self) -> None:
        """End the connections to the models."""
        for upstream in self.routing.upstreams:
            await upstream.provider.close()

    def _answer(self, wire: Wire) -> Endpoint:
        return WireEndpoint(
            wire,
            find=lambda request: self.routing.find(request.model),
            seal=self._seal,
            replies=self._replies,
            records=self.records,
            max_bytes=self.options.max_bytes,
            max_seconds=self.options.max_seconds,
            keep_alive=self.options.keep_alive,
        )

    async def _count(self, call: HttpCall) -> None:
        try:
            body = read_json(await call.body(self.options.max_bytes))
            if isinstance(body, dict):
                body.pop("compaction", None)  # to count, the conversation is taken as it is sent
            understood = _MESSAGES.understood(body, ReadingContext(self._seal, self._replies))
            upstream = self.routing.find(understood.model).upstream
            tokens, _ = await upstream.count(upstream.encode(understood))
        except (Refusal, RecursionError) as error:
            await refuse(call, as_refusal(error))
            return
        await call.answer(200, encoded({"input_tokens": tokens}), _JSON)

    async def _models(self, call: HttpCall) -> None:
        """Both shapes in one: OpenAI's and Anthropic's."""
        listed = [self._listed(name) for name in self._names()]
        ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]}
        answer = {"object": "list", "data": listed, "has_more": False, **ends, "models": []}
        await call.answer(200, encoded(answer), _JSON)

    async def _model(self, call: HttpCall) -> None:
        name = call.path.partition("/models/")[2]
        if name in self._names():
            await call.answer(200, encoded(self._listed(name)), _JSON)
        else:
            await refuse(call, Refusal("not_found", f"there is no model {name!r}", param="model"))

    def _names(self) -> list[str]:
        own = [upstream.name for upstream in self.routing.upstreams]
        return [*own, *(f"{CLAUDE}{name}" for name in own if not name.startswith(CLAUDE))]

    def _listed(self, name: str) -> dict[str, Any]:
        window = self.routing.find(name).upstream.context_window
        return {
            "id": name,
            "object": "model",
            "type": "model",
            "display_name": name,
            "created": int(self._started.timestamp()),
            "created_at": self._started.isoformat(),
            "owned_by": "joey",
            **({"context_window": window, "max_model_len": window} if window else {}),
        }

    async def _metrics(self, call: HttpCall) -> None:
        await call.answer(200, self.records.metrics(self.routing.waiting).encode(), _TEXT)

    async def _requests(self, call: HttpCall) -> None:
        await call.answer(200, encoded(self.records.list()), _JSON, **_PAGE_HEADERS)

    async def _request(self, call: HttpCall) -> None:
        """One request for the page, or what replays it."""
        number, _, part = call.path.removeprefix("/requests/").partition("/")
        found = self.records.find(int(number)) if number.isdecimal() and len(number) < 10 else None
        if part not in ("", "replay"):
            await _not_found(call)
        elif found is None:
            await call.answer(404, encoded({"problem": "this request was not found"}), _JSON, **_PAGE_HEADERS)
        else:
            shown = found.replay() if part else found.details()
            await call.answer(200, encoded(shown), _JSON, **_PAGE_HEADERS)


_VERSIONS = ("/v1", "")
_SLASHES = re.compile(r"/{2,}")
_LARGE_AT_ONCE = 8
"""So many of the largest requests may be there at once, or more smaller ones."""


def app(
    model: str | Provider | Upstream | Sequence[Upstream],
    *,
    name: str = "",
    protocol: str | None = None,
    options: GatewayOptions | None = None,
) -> AsgiApp:
    """The gateway in front of a model, as an ASGI application: `provider/model`, a Provider, or Upstreams."""
    if isinstance(model, (str, Provider, Upstream)):
        model = [upstream_of(model, name=name, protocol=protocol)]
    return Gateway(model, options).application()


def upstream_of(model: str | Provider | Upstream, *, name: str = "", protocol: str | None = None) -> Upstream:
    """A model as an upstream, with the protocol that suits it unless one is chosen."""
    if isinstance(model, Upstream):
        return model
    provider, known = (model, name or "model") if isinstance(model, Provider) else open_model(model)
    slots = 1 if provider.name == LOCAL else Upstream.slots
    return Upstream(provider, known, choose_protocol(provider, known, protocol), name or known, slots)


async def refuse(call: HttpCall, refusal: Refusal, **headers: str) -> None:
    wire: Wire = _MESSAGES if "/messages" in call.path else _CHAT
    await call.answer(wire.status(refusal), encoded(wire.error(refusal)), _JSON, **headers)


async def _health(call: HttpCall) -> None:
    await call.answer(200, encoded({"status": "ok"}), _JSON)


async def _not_found(call: HttpCall) -> None:
    await refuse(call, Refusal("not_found", f"{call.method} {call.path} was not found"))


async def _page(call: HttpCall) -> None:
    name, kind = _PAGE[call.path]
    text = Path(__file__).with_name(name).read_bytes()
    await call.answer(200, text, kind, **_PAGE_HEADERS)


def _tidy(path: str) -> str:
    """A path without what a base address of the client's had too many of."""
    return _SLASHES.sub("/", path).rstrip("/").replace("/v1/v1/", "/v1/")


class _Application:
    """What an ASGI server calls: the guard, then the endpoint of the path. HEAD is answered for any path: clients look
    whether somebody is there."""

    def __init__(
        self,
        found: Mapping[str, Mapping[str, Endpoint]],
        below: Mapping[str, Endpoint],
        options: GatewayOptions,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        """`found` are the endpoints by method and path, `below` those of GET by the beginning of a path."""
        self._found = found
        self._below = below
        self._guard = options.guard
        self._held = HeldBytes(options.max_bytes * _LARGE_AT_ONCE)
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            call = HttpCall(scope, receive, send, self._held)
            try:
                await self._answer(call)
            finally:
                call.close()

    async def _answer(self, call: HttpCall) -> None:
        try:
            if call.is_ambiguous:
                raise invalid("a header for access control was sent twice; send Host, Origin and Authorization once")
            if call.path != "/health":
                self._guard.check(call.headers)
        except Refusal as refusal:
            is_page = refusal.kind == "auth" and call.method == "GET"
            await refuse(call, refusal, **({"www_authenticate": _SIGN_IN} if is_page else {}))
            return
        if call.method == "HEAD":
            await call.answer(200, b"", _TEXT)
            return
        with suppress(ClientGoneError):
            await self._endpoint(call)(call)

    def _endpoint(self, call: HttpCall) -> Endpoint:
        known = self._found.get(call.method, {})
        found = known.get(call.path) or known.get(_tidy(call.path))
        if found is None and call.method == "GET":
            found = next((each for begin, each in self._below.items() if call.path.startswith(begin)), None)
        return found or _not_found

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._close()
        await send({"type": "lifespan.shutdown.complete"})
