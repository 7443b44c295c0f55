"""The gate by itself, with a client that speaks SOCKS5 as a browser does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from joey.system.hosts import host_of
from joey.tools.browser.gate import Gate
from pages_kit import Pages

REFUSED, UNREACHABLE = 2, 4


@asynccontextmanager
async def gate(may_visit: Callable[[str], bool], page: str) -> AsyncIterator[tuple[Gate, int]]:
    """A gate in front of which this page is open."""
    opened = Gate(may_visit)
    port = urlsplit(await opened.start()).port
    assert port is not None
    await opened.open_for(page)
    yield opened, port
    await opened.close()


async def connect(port: int, host: str, target: int) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\x05\x01\x00")
    assert await reader.readexactly(2) == b"\x05\x00"
    writer.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + target.to_bytes(2, "big"))
    return (await reader.readexactly(10))[1], reader, writer


async def code(port: int, host: str, target: int) -> int:
    answer, _, writer = await connect(port, host, target)
    writer.close()
    return answer


async def test_what_may_be_visited_is_connected_to_and_the_rest_is_not_even_looked_up() -> None:
    async with Pages({"/": "hello"}) as pages, gate(lambda url: host_of(url) == "localhost", pages.url) as (it, port):
        answer, reader, writer = await connect(port, "localhost", pages.port)
        assert answer == 0
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.read()).endswith(b"hello")
        writer.close()
        for host in ("127.0.0.1", "localhost.evil.example", "LOCALHOST.evil.example", "::1"):
            assert await code(port, host, pages.port) == REFUSED
        assert {trouble.reason for trouble in it.troubles} == {"nobody approved this host"}
        assert len(pages.requested) == 1


async def test_a_page_from_elsewhere_does_not_reach_this_machine_by_any_name() -> None:
    async with Pages({}) as pages, gate(lambda _: True, "https://93.184.216.34/") as (it, port):
        for host in ("127.0.0.1", "localhost", "LocalHost.", "app.localhost", "::1", "0.0.0.0", "::ffff:127.0.0.1"):
            assert await code(port, host, pages.port) == REFUSED, host
        assert {trouble.reason for trouble in it.troubles} == {"a page from elsewhere may not reach this machine"}
        await it.open_for(pages.url)
        assert await code(port, "127.0.0.1", pages.port) == 0
        assert pages.requested == []


async def test_a_server_that_is_not_there_is_not_confused_with_one_that_may_not_be_reached() -> None:
    async with Pages({}) as gone:
        pass
    async with gate(lambda _: True, "http://127.0.0.1") as (it, port):
        assert await code(port, "127.0.0.1", gone.port) == UNREACHABLE
        assert [trouble.refused for trouble in it.troubles] == [False]


async def test_a_client_that_speaks_something_else_is_let_go() -> None:
    async with gate(lambda _: True, "http://127.0.0.1") as (_, port):
        for greeting in (b"GET / HTTP/1.1\r\n\r\n", b"\x04\x01", b"\x05\x01\x02"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(greeting)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
