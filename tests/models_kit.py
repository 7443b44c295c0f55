"""A server that only lists models, in whichever form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(answers: Mapping[str, Any], seen: list[tuple[str, dict[str, str]]] | None = None) -> Iterator[str]:
    """A server that answers these paths with JSON, and others with 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            name = json.loads(body)["model"] if body else ""
            if seen is not None:
                seen.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
            found = answers.get(f"{self.path} {name}".strip())
            self.send_response(found if isinstance(found, int) else 404 if found is None else 200)
            if found == 302:
                self.send_header("Location", "/v1/elsewhere")
            self.end_headers()
            self.wfile.write(found if isinstance(found, bytes) else json.dumps(found).encode())

        do_POST = do_GET  # noqa: N815 - the name is the server's

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
