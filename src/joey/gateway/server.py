"""The gateway as an ASGI application: the paths of the three wires, with `/v1` in front or not.

app(Upstream(...))      or      app("local/coder-1.5b")      or      app(provider, model="any")
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from joey.errors import UsageError
from joey.gateway.answering import WireEndpoint, read_body, read_json
from joey.gateway.guard import Guard
from joey.gateway.records import Records
from joey.gateway.refusal import Refusal
from joey.gateway.replies import KeptReplies
from joey.gateway.routing import CLAUDE, Routing
from joey.gateway.seal import Seal
from joey.gateway.upstream import Upstream, choose_protocol
from joey.gateway.wires.base import ReadingContext, Wire
from joey.gateway.wires.chat import ChatWire
from joey.gateway.wires.messages import MessagesWire
from joey.gateway.wires.responses import ResponsesWire
from joey.providers import LOCAL, Provider, open_model
from joey.providers.local.weights import model_file
from joey.wire import JsonObject

WIRES: tuple[Wire, ...] = (ChatWire(), ResponsesWire(), MessagesWire())
_MESSAGES = MessagesWire()
_CHAT = ChatWire()
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_PAGE = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}


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

    def application(self) -> ASGIApp:
        paths = [
            *(
                Path(f"{version}{wire.path}", self._answer(wire), methods=["POST"])
                for wire in WIRES
                for version in _VERSIONS
            ),
            *(Path(f"{version}/messages/count_tokens", self._count, methods=["POST"]) for version in _VERSIONS),
            *(Path(f"{version}/models", self._models) for version in _VERSIONS),
            *(Path(f"{version}/models/{{name:path}}", self._model) for version in _VERSIONS),
            Path("/health", _health),
            Path("/metrics", self._metrics),
        ]
        if self.options.show_page:
            paths += [
                Path("/", _page("page.html")),
                Path("/page.js", _page("page.js")),
                Path("/page.css", _page("page.css")),
                Path("/requests", self._requests),
                Path("/requests/{number:int}", self._request),
                Path("/requests/{number:int}/replay", self._replay),
            ]
        inner = Starlette(routes=paths, lifespan=self._lifespan, exception_handlers={404: _not_found, 405: _not_found})
        return _Guarded(inner, self.options.guard)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> Any:
        yield
        for upstream in self.routing.upstreams:
            await upstream.provider.close()

    def _answer(self, wire: Wire) -> ASGIApp:
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

    async def _count(self, request: Request) -> Response:
        try:
            body = read_json(await read_body(request, self.options.max_bytes))
            understood = _MESSAGES.understood(body, ReadingContext(self._seal, self._replies))
            upstream = self.routing.find(understood.model).upstream
            tokens, _ = await upstream.count(upstream.encode(understood))
        except Refusal as refusal:
            return refused(_MESSAGES, refusal)
        return JSONResponse({"input_tokens": tokens})

    async def _models(self, _request: Request) -> Response:
        """Both shapes in one: OpenAI's and Anthropic's."""
        listed = [self._listed(name) for name in self._names()]
        ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]}
        return JSONResponse({"object": "list", "data": listed, "has_more": False, **ends, "models": []})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._names():
            return refused(_CHAT, Refusal("not_found", f"there is no model {name!r} here", param="model"))
        return JSONResponse(self._listed(name))

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

    async def _metrics(self, _request: Request) -> Response:
        return PlainTextResponse(self.records.metrics(self.routing.waiting))

    async def _requests(self, _request: Request) -> Response:
        return JSONResponse(self.records.list(), headers=_PAGE_HEADERS)

    async def _request(self, request: Request) -> Response:
        found = self.records.find(request.path_params["number"])
        return _shown(found.details() if found else None)

    async def _replay(self, request: Request) -> Response:
        found = self.records.find(request.path_params["number"])
        return _shown(found.replay() if found else None)


_VERSIONS = ("/v1", "")


def _shown(found: JsonObject | None) -> Response:
    status = 200 if found is not None else 404
    return JSONResponse(found or {"problem": "this request is not kept any more"}, status, headers=_PAGE_HEADERS)


def app(
    model: str | Provider | Upstream | Sequence[Upstream],
    *,
    name: str = "",
    protocol: str | None = None,
    options: GatewayOptions | None = None,
) -> ASGIApp:
    """The gateway in front of a model, as an ASGI application: `provider/model`, a Provider, or Upstreams."""
    if isinstance(model, (str, Provider, Upstream)):
        model = [upstream_of(model, name=name, protocol=protocol)]
    return Gateway(model, options).application()


def upstream_of(model: str | Provider | Upstream, *, name: str = "", protocol: str | None = None) -> Upstream:
    """A model as an upstream, with the protocol that suits it unless one is chosen."""
    if isinstance(model, Upstream):
        return model
    provider, known = (model, name or "model") if isinstance(model, Provider) else open_model(model)
    is_local = provider.name == LOCAL
    file_name = model_file(known).name if is_local else known
    spoken = choose_protocol(provider, file_name, protocol)
    return Upstream(provider, known, spoken, name or known, 1 if is_local else Upstream.slots)


def refused(wire: Wire, refusal: Refusal) -> Response:
    return JSONResponse(wire.error(refusal), wire.status(refusal))


def _wire_at(path: str) -> Wire:
    return _MESSAGES if "/messages" in path else _CHAT


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _not_found(request: Request, _error: Exception) -> Response:
    message = f"there is nothing for {request.method} {request.url.path} here"
    return refused(_wire_at(request.url.path), Refusal("not_found", message))


def _page(name: str) -> Any:
    async def send(_request: Request) -> Response:
        text = resources.files("joey.gateway").joinpath(name).read_text(encoding="utf-8")
        return Response(text, media_type=_PAGE[name], headers=_PAGE_HEADERS)

    return send


class _Guarded:
    """The application behind the guard. HEAD is answered for any path: clients look whether somebody is there."""

    def __init__(self, inner: ASGIApp, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            if scope["path"] != "/health":
                self._guard.check(headers)
        except Refusal as refusal:
            response = refused(_wire_at(scope["path"]), refusal)
            if refusal.kind == "auth" and scope["method"] == "GET":
                response.headers["www-authenticate"] = 'Basic realm="joey gateway", charset="UTF-8"'  # for the page
            await response(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            await Response()(scope, receive, send)
            return
        await self._inner(scope, receive, send)
