"""HTTP to servers of this machine without a library: every answer whole, by byte and cut at random; what is no HTTP is
an error; connections are used again, and closed when somebody stops listening."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

import pytest

from joey.chunks import TextChunk
from joey.messages import Message, TextBlock
from joey.providers import CutStreamError, ModelRequest, NetworkError, NoServerError, ProviderError
from joey.providers.endpoints import is_plain
from joey.providers.plain_chat import PlainChatProvider
from joey.providers.plain_http import PlainClient, PlainHttpError, PlainStatusError, ResponseReader
from joey.testing import Failure, Faults, LocalServer, RawAnswer, reply, same_reply

Handler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = ModelRequest("m", (Message("user", (TextBlock("go"),)),))
ANSWERS = {
    "of a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
    "without a reason": (b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", True),
    "in pieces": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", True),
    "with a trailer": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n", True),
    "after a sign": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
    "that is the last": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", False),
    "to the end": (b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello", False),
    "of HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
}
NO_HTTP = {
    "another protocol": b"SSH-2.0-OpenSSH\r\n\r\n",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a size that is none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a piece beyond its size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000,
    "a size without end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 5000,
}


def cuts(data: bytes) -> list[list[bytes]]:
    chance = random.Random(len(data))
    places = sorted(chance.sample(range(1, len(data)), 4))
    parts = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    return [[data], [data[place : place + 1] for place in range(len(data))], parts]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_however_it_is_cut(name: str) -> None:
    data, keeps_alive = ANSWERS[name]
    for parts in cuts(data):
        reader = ResponseReader()
        body = b"".join(piece for part in parts for piece in reader.feed(part))
        if name == "to the end":
            assert not reader.is_complete
            reader.finish()
        assert (reader.status, body, reader.is_complete, reader.keeps_alive) == (200, b"hello", True, keeps_alive)


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http_is_an_error(name: str) -> None:
    reader = ResponseReader()
    with pytest.raises(PlainHttpError):
        reader.feed(NO_HTTP[name])


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "to the end"])
def test_an_answer_that_ends_early_is_an_error(name: str) -> None:
    data, _ = ANSWERS[name]
    for end in range(len(data) - 1):
        reader = ResponseReader()
        reader.feed(data[:end])
        with pytest.raises(PlainHttpError):
            reader.finish()


@asynccontextmanager
async def raw_server(handle: Handler) -> AsyncIterator[str]:
    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handle(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in filter(None, serving):
            task.cancel()
        await asyncio.gather(*filter(None, serving))


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def test_a_connection_is_used_again_and_asked_once_more_if_it_had_ended() -> None:
    connections, requests = 0, 0

    async def two_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections, requests
        connections += 1
        for _ in range(2):
            await request_of(reader)
            requests += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await request_of(reader)  # and no answer to that

    async with raw_server(two_each) as url:
        client = PlainClient(url, {}, 5)
        for _ in range(6):
            response = await client.post("/v1/x", [b"{}"], 100)
            await response.read(100)
            assert response.content == b"ok"
        client.close()
    assert (connections, requests) == (3, 6)


async def test_a_redirect_is_an_error_and_takes_the_key_nowhere() -> None:
    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")

    async with raw_server(redirect) as url:
        with pytest.raises(PlainStatusError):
            await PlainClient(url, {}, 5).post("/v1/x", [b"{}"], 100)
        with pytest.raises(ProviderError):
            await read(PlainChatProvider(url, api_key="secret"))


async def test_a_header_cannot_be_ended_by_its_value() -> None:
    seen = b""

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen = await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with raw_server(keep) as url:
        client = PlainClient(url, {"Authorization": "Bearer a\r\nX-Evil: b"}, 5)
        await (await client.post("/v1/x", [b"{}"], 100)).aclose()
        client.close()
    assert b"\r\nX-Evil" not in seen and b"Authorization: Bearer a X-Evil: b\r\n" in seen


async def read(provider: PlainChatProvider) -> list[object]:
    try:
        return [chunk async for chunk in provider.stream(REQUEST)]
    finally:
        await provider.close()


async def collect(provider: PlainChatProvider, found: list[object]) -> None:
    async for chunk in provider.stream(REQUEST):
        found.append(chunk)  # noqa: PERF401 - what came before an error counts


async def test_a_reply_comes_as_it_was_scripted_and_what_comes_together_is_one_chunk() -> None:
    script = reply("One two three four.")
    async with LocalServer([script, script]) as server:
        provider = PlainChatProvider(server.openai_url, api_key="secret")
        for _ in range(2):
            chunks = [chunk async for chunk in provider.stream(REQUEST)]
            assert same_reply(chunks, script.chunks)
        await provider.close()
        assert server.requests[0].headers["authorization"] == "Bearer secret"
        assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("faults", "error", "words"),
    [
        (Faults(cut_after=2), CutStreamError, "broke off"),
        (Faults(silent_after=2), CutStreamError, "nothing for 0.2 seconds"),
        (Faults(latency=1), NetworkError, "nothing for 0.2 seconds"),
        (Faults(malformed_at=2), CutStreamError, "could not be read"),
    ],
)
async def test_a_reply_that_breaks_is_an_error_behind_what_came(
    faults: Faults, error: type[ProviderError], words: str
) -> None:
    async with LocalServer([reply("One two three.", faults=faults)]) as server:
        found: list[object] = []
        provider = PlainChatProvider(server.openai_url, timeout=0.2)
        with pytest.raises(error, match=words):
            await collect(provider, found)
        await provider.close()
    assert bool(found) is not bool(faults.latency)


async def test_a_refusal_keeps_its_words_and_hides_the_key() -> None:
    async with LocalServer([Failure(401, "the key sk-secret is wrong")]) as server:
        with pytest.raises(ProviderError) as caught:
            await read(PlainChatProvider(server.openai_url, api_key="sk-secret"))
    assert "is wrong" in str(caught.value) and "sk-secret" not in str(caught.value)


async def test_no_server_is_said_to_be_none() -> None:
    async with LocalServer([]) as server:
        gone = server.openai_url
    with pytest.raises(NoServerError, match="connection refused"):
        await read(PlainChatProvider(gone))


async def test_a_web_page_is_no_reply() -> None:
    async with LocalServer([RawAnswer((b"<html>",), 200, "text/html")]) as server:
        with pytest.raises(ProviderError, match="web page"):
            await read(PlainChatProvider(server.openai_url))


async def test_who_stops_listening_closes_the_connection() -> None:
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        assert await reader.read() == b""
        ended.set()

    async with raw_server(talk) as url:
        provider = PlainChatProvider(url)
        async with aclosing(provider.stream(REQUEST)) as chunks:
            assert await anext(chunks) == TextChunk("x")
        await asyncio.wait_for(ended.wait(), 5)
        await provider.close()


async def test_what_is_not_read_waits_at_the_server() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent += 100_000

    async with raw_server(flood) as url:
        client = PlainClient(url, {}, 5)
        response = await client.post("/v1/x", [b"{}"], 100)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 50_000_000
        pieces = response.aiter_bytes()
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]
        await response.aclose()


async def test_many_replies_at_once_do_not_mix() -> None:
    async with LocalServer(lambda request: reply(f"To {request.body['model']}.")) as server:
        provider = PlainChatProvider(server.openai_url)

        async def ask(number: int) -> str:
            request = ModelRequest(str(number), REQUEST.messages)
            return "".join([each.text async for each in provider.stream(request) if isinstance(each, TextChunk)])

        assert await asyncio.gather(*map(ask, range(50))) == [f"To {number}." for number in range(50)]
        await provider.close()


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://127.0.0.1:8080/v1", False),
        ("http://192.168.0.1/v1", False),
        ("http://localhost.example.com/v1", False),
    ],
)
def test_only_servers_of_this_machine_are_plain(address: str, plain: bool) -> None:
    assert is_plain(address) is plain
