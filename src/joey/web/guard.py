"""Who may talk to the server, decided before anything else looks at a request.

    Host      a name that is ours: loopback, the address that was bound, or one the user named. Names can be pointed at
              this machine by anybody (DNS rebinding); addresses cannot, so on an open address any address is fine.
    Origin    a page of another site is refused whatever it wants, and whatever changes something must say that it comes
              from here. A link has no way to do that, so a link approves nothing.
    the token in the link that the terminal prints. It is exchanged for a cookie that scripts cannot read and other
              sites cannot use, for reading. Cookies go to every port of a host name, so another server of this machine
              may see it: what changes something needs the token itself (`Authorization: Bearer …`), which the page
              keeps where only its own origin can read it.

Answers carry a content security policy under which the page runs its own files only.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_SAFE = frozenset(("GET", "HEAD"))
_OTHERS = frozenset(("cross-site", "same-site"))
"""Another port of this machine is of the same site to a browser, and another origin."""
_NO_TOKEN = "open the link that `joey web` printed: this needs its token"  # noqa: S105 - words, no token


@dataclass(frozen=True, slots=True)
class Access:
    """What a server accepts. `names` are host names besides those of loopback."""

    token: str
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()

    @property
    def cookie(self) -> str:
        """What the cookie holds: proof of the token, and not the token."""
        return hmac.new(self.token.encode(), b"joey web cookie", hashlib.sha256).hexdigest()

    def knows_host(self, name: str) -> bool:
        if name in _LOOPBACK or name in self.names or name == self.host:
            return True
        return not is_loopback(self.host) and _is_address(name)


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class PageGuard:
    """The application, behind all of these checks."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
                if cookie := self._new_cookie(scope, headers):
                    answer.append("set-cookie", cookie)
            await send(message)

        refusal = self._refusal(scope, headers)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not self._access.knows_host(_name(host)):
            return error_answer(
                scope["path"], 421, f"there is no {host!r} here; name it with --allow-host if it is this machine"
            )
        bearer = self._bears(headers)
        if (wrong := _foreign(scope, headers, host)) and not (bearer and "origin" not in headers):
            return error_answer(scope["path"], 403, wrong)
        reads = scope["method"] in _SAFE and (self._has_cookie(headers, host) or self._in_link(scope))
        if not (bearer or reads):
            return error_answer(scope["path"], 401, _NO_TOKEN)
        return None

    def _bears(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and _same(given.strip(), self._access.token)

    def _has_cookie(self, headers: Headers, host: str) -> bool:
        return _same(_cookies(headers).get(cookie_name(host), ""), self._access.cookie)

    def _in_link(self, scope: Scope) -> bool:
        """Whether this is the page itself, opened by the link with the token."""
        if scope["path"] != "/" or scope["method"] not in _SAFE:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return _same(given, self._access.token)

    def _new_cookie(self, scope: Scope, headers: Headers) -> str | None:
        if not self._in_link(scope):
            return None
        name = cookie_name(headers.get("host", ""))
        return f"{name}={self._access.cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"


def cookie_name(host: str) -> str:
    """Cookies are not kept apart by port, so the name does it: two servers of one machine do not disturb each other."""
    port = host.rpartition(":")[2]
    return f"joey_{port}" if port.isdigit() else "joey"


def _foreign(scope: Scope, headers: Headers, host: str) -> str:
    """What shows that the request is not from our own page; empty if it may be."""
    method = scope["method"]
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return "this request comes from another site"
    if headers.get("sec-fetch-site") in _OTHERS and not _opens_page(scope["path"], headers):
        return "this request comes from another site"
    if method in _SAFE:
        return ""
    if origin is None:
        return "what changes something needs the Origin header, or a token"
    return "" if headers.get("content-type", "").startswith("application/json") else "the body must be application/json"


def _opens_page(path: str, headers: Headers) -> bool:
    """Whether somebody follows a link to the page itself, in a window and not in a frame."""
    is_document = headers.get("sec-fetch-dest", "document") == "document"
    return headers.get("sec-fetch-mode") == "navigate" and is_document and not path.startswith("/api/")


def error_answer(path: str, status: int, words: str) -> Response:
    """An error as JSON for the API, and as a line for people."""
    if path.startswith("/api/"):
        return JSONResponse({"error": words}, status)
    return PlainTextResponse(words + "\n", status)


def _name(host: str) -> str:
    """A host name without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _cookies(headers: Headers) -> Mapping[str, str]:
    try:
        return {name: each.value for name, each in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())
