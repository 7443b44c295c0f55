"""Who may use the gateway.

On loopback anybody on this machine may, but no web page: a page can send requests to 127.0.0.1, by its own name that
leads there (DNS rebinding) or across origins. So the Host of a request must be this machine, and an Origin, which only
browsers send, the gateway itself. Anywhere else a key is required, in whichever header the wire has for it. There are
no CORS headers.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from joey.gateway.refusal import Refusal
from joey.system.hosts import host_of, is_this_machine

_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one gateway. `hosts` are further names under which it is reached."""

    key: str | None = None
    loopback: bool = True
    hosts: tuple[str, ...] = ()

    def check(self, headers: Mapping[str, str]) -> None:
        """Raises Refusal for a request that may not come in."""
        host = headers.get("host", "")
        if self.loopback and not self._is_ours(host_of(f"http://{host}")):
            raise Refusal(
                "forbidden", f"the host {host!r} is not this machine; use http://127.0.0.1 or http://localhost"
            )
        origin = headers.get("origin")
        if (origin is not None and _place(origin) != host.lower()) or _is_foreign(headers):
            raise Refusal("forbidden", "requests from other websites are not allowed")
        if self.key is not None and not hmac.compare_digest(_given_key(headers).encode(), self.key.encode()):
            raise Refusal("auth", "the key is missing or wrong; send the gateway's key as the API key")

    def _is_ours(self, host: str) -> bool:
        return is_this_machine(host) or host in self.hosts


def _is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page from elsewhere wants this, and not a person who followed a link."""
    return headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate"


def _place(origin: str) -> str:
    return origin.partition("://")[2].lower()


def _given_key(headers: Mapping[str, str]) -> str:
    bearer = headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    if bearer.lower().startswith("basic "):
        return _password(bearer[6:])
    return next((headers[name] for name in _KEY_HEADERS if name in headers), "")


def _password(given: str) -> str:
    """A browser sends the key as the password of any name."""
    try:
        return base64.b64decode(given).decode().partition(":")[2]
    except ValueError:
        return ""
