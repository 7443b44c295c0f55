"""A server between an agent and the model's: it hands everything on, and counts requests and tokens.

llama.cpp says at the end of each answer, streamed or not, how many tokens of the prompt it read, how many it found in
its cache, and how many it wrote (`timings`). Calls that it could not read as such are counted by nobody but the agent.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_TIMINGS = re.compile(rb'"timings"\s*:\s*(\{[^{}]*\})')
_PASSED_ON = ("authorization", "content-type", "accept")
_TIMEOUT = 3600


@dataclass(slots=True)
class Counted:
    turns: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0

    def add(self, answer: bytes) -> None:
        """An answer to a request for a reply."""
        self.turns += 1
        for found in _TIMINGS.findall(answer)[-1:]:
            timings = json.loads(found)
            self.tokens_in += timings.get("prompt_n", 0)
            self.tokens_cached += timings.get("cache_n", 0)
            self.tokens_out += timings.get("predicted_n", 0)


class Meter:
    """`with Meter(address) as meter`: the same server at `meter.address`.

    At its end, requests that are still being answered are ended, too: an agent that was stopped at its time limit would
    otherwise leave the model busy with a reply for nobody, at the cost of the next one."""

    def __init__(self, address: str) -> None:
        self.counted = Counted()
        self._open: set[http.client.HTTPConnection] = set()
        upstream = urlsplit(address).netloc

        class Handler(_Handler):
            counted = self.counted
            open_requests = self._open
            upstream_host = upstream

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        for upstream in tuple(self._open):
            with suppress(OSError):
                upstream.sock.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    counted: Counted
    open_requests: set[http.client.HTTPConnection]
    upstream_host: str

    def do_GET(self) -> None:
        self._pass_on(None)

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        """Nothing: the output is the table's."""

    def _pass_on(self, body: bytes | None) -> None:
        upstream = http.client.HTTPConnection(self.upstream_host, timeout=_TIMEOUT)
        headers = {name: value for name, value in self.headers.items() if name.lower() in _PASSED_ON}
        try:
            upstream.connect()
            self.open_requests.add(upstream)
            upstream.request(self.command, self.path, body, headers)
            answered = self._answer(upstream.getresponse())
        except (OSError, http.client.HTTPException):  # one of the two has gone, as at the time limit
            return
        finally:
            self.open_requests.discard(upstream)
            upstream.close()
        if body is not None and "completions" in self.path:
            self.counted.add(answered)

    def _answer(self, response: http.client.HTTPResponse) -> bytes:
        self.send_response(response.status)
        self.send_header("content-type", response.getheader("content-type") or "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        found = b""
        while piece := response.read1(65536):
            found += piece
            self.wfile.write(piece)
        return found
