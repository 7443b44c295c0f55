"""Web pages served on loopback, for a real browser to look at, and a count of the browsers that run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pytest

from joey.tools.browser.chromium import why_no_browser

needs_browser = pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or "")


class Page(NamedTuple):
    """An answer: by default a page."""

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = {}
    delay: float = 0.0


class Pages:
    """Serves pages by path between `async with` and its end; `asked` is every request line with its Host."""

    def __init__(self, pages: Mapping[str, Page | str], *, host: str = "127.0.0.1") -> None:
        self._pages = {path: Page(page) if isinstance(page, str) else page for path, page in pages.items()}
        self._host, self._port = host, 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self.requested: list[str] = []
        self.bodies: list[str] = []

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def was_requested(self, path: str) -> None:
        """Wait until somebody has requested this path."""
        while not any(requested.endswith(path) for requested in self.requested):
            self._news.clear()
            await self._news.wait()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            _, path, _ = head.split(" ", 2)
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            self.requested.append(f"{fields.get('host', '')}{path}")
            self._news.set()
            self.bodies.append(
                (await reader.readexactly(int(fields.get("content-length", "0")))).decode(errors="replace")
            )
            page = self._pages.get(path.partition("?")[0], Page("not here", 404))
            await asyncio.sleep(page.delay)
            writer.write(self._answer(page))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        self._connections.discard(task)
        writer.close()

    def _answer(self, page: Page) -> bytes:
        body = page.body.replace("{port}", str(self._port)).encode()
        headers = {"Content-Type": "text/html; charset=utf-8", **page.headers}
        fields = (f"{name}: {value.replace('{port}', str(self._port))}" for name, value in headers.items())
        lines = [f"HTTP/1.1 {page.status} Answer", *fields]
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close", "", ""]).encode() + body


def processes_with(mark: str) -> list[str]:
    """The command lines of all other processes that were started with this word in their environment."""
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid())
    return [command for entry in entries if (command := _command(entry, mark))]


def _command(entry: Path, mark: str) -> str:
    try:
        if mark.encode() in (entry / "environ").read_bytes():
            return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        pass
    return ""


async def all_gone(mark: str) -> bool:
    """Whether they end, which may take a moment after the one that started them."""
    for _ in range(100):
        if not processes_with(mark):
            return True
        await asyncio.sleep(0.1)
    return False
