"""Clients that send HTTP as one should not, over real sockets: none costs more than its own connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Sequence

import pytest

from gateway_kit import request_body, served
from joey.chunks import StopChunk, TextChunk, UsageChunk
from joey.gateway.connections import MAX_HEAD, GatewayConnection, WritesTogether
from joey.testing import Faults, ScriptedReply, reply

BODY = json.dumps(request_body("chat")).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
REQUEST = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


class Impatient(GatewayConnection):
    slow_seconds = 0.2
    stuck_seconds = 0.2


class Few(GatewayConnection):
    max_connections = 3


async def exchange(port: int, *parts: bytes) -> bytes:
    """What comes back for these bytes, to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.01)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def closing(request: bytes) -> bytes:
    return request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


def statuses(data: bytes) -> list[int]:
    return [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:]]


SMUGGLED = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Content-Length: 4\r\nContent-Length: 90\r\n\r\n{}  " + SMUGGLED,
        HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + SMUGGLED,
        HEAD + b"Content-Length: +2\r\n\r\n{}" + SMUGGLED,
        HEAD + b" Content-Length: 2\r\n\r\n{}" + SMUGGLED,
        HEAD + b"Content-Length\x00: 2\r\n\r\n{}" + SMUGGLED,
        b"GET /health HTTP/1.1\nHost: localhost\n\n" + SMUGGLED,
    ],
    ids=["both lengths", "two lengths", "another coding", "space", "negative", "plus", "folded", "null", "bare LF"],
)
async def test_a_request_inside_another_is_not_answered(request_bytes: bytes) -> None:
    async with served("never used") as port:
        answer = await exchange(port, request_bytes)
    assert statuses(answer) == [400] and b"connection: close" in answer.lower()


async def test_requests_behind_each_other_are_answered_in_their_order() -> None:
    async with served("One.", "Two.") as port:
        answer = await exchange(port, REQUEST + closing(REQUEST))
    assert statuses(answer) == [200, 200] and answer.index(b"One.") < answer.index(b"Two.")


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c"])
async def test_an_upgrade_is_a_request_like_any_other_and_no_news(
    upgrade: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    wish = b"\r\nConnection: Upgrade\r\nUpgrade: " + upgrade + b"\r\n"
    async with served("Hello.", "Bye.") as port:
        answer = await exchange(port, REQUEST.replace(b"\r\n", wish, 1) + closing(REQUEST))
        assert statuses(answer) == [200, 200] and b"Hello." in answer
    assert capfd.readouterr() == ("", "")


async def test_a_head_has_a_size() -> None:
    async with served() as port:
        for head in (b"A: " + b"x" * MAX_HEAD, b"".join(b"X-%d: y\r\n" % number for number in range(9_000))):
            answer = await exchange(port, HEAD + head)
            # What it has still to send may end the connection before it reads the reason.
            assert statuses(answer) == [400] or not answer


@pytest.mark.parametrize(
    "parts",
    [(), (b"POST /v1/chat",), (HEAD, b"A: b\r\n"), (HEAD + b"Content-Length: 1000\r\n\r\n", b"{")],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
async def test_a_client_that_does_not_finish_its_request_is_not_waited_for(
    parts: Sequence[bytes],
) -> None:
    async with served(connection=Impatient) as port:
        assert await exchange(port, *parts) == b""


async def test_a_client_that_waits_for_its_answer_is_not_slow() -> None:
    async with served(reply("At last.", faults=Faults(latency=0.5)), connection=Impatient) as port:
        assert b"At last." in await exchange(port, closing(REQUEST))


async def test_more_connections_than_there_may_be_are_refused() -> None:
    async with served("Hello.", connection=Few) as port:
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await asyncio.sleep(0.05)
        refused = await exchange(port)
        assert statuses(refused) == [503] and json.loads(refused.partition(b"\r\n\r\n")[2])["error"]["code"]
        await close(kept[0][1])
        await asyncio.sleep(0.05)
        assert statuses(await exchange(port, closing(REQUEST))) == [200]
        for _, writer in kept:
            await close(writer)


async def test_writes_of_one_moment_go_out_together() -> None:
    sent: list[bytes] = []

    class Inner(asyncio.Transport):
        def write(self, data: object) -> None:
            assert isinstance(data, bytes)
            sent.append(data)

        def close(self) -> None:
            sent.append(b"(closed)")

    transport = WritesTogether(Inner(), asyncio.get_running_loop())
    transport.write(b"one ")
    transport.write(b"two")
    assert sent == []
    await asyncio.sleep(0)
    assert sent == [b"one two"]
    transport.write(b"last")
    transport.close()
    await asyncio.sleep(0)
    assert sent == [b"one two", b"last", b"(closed)"]


@pytest.mark.parametrize(
    "headers",
    [b"Host: evil.example\r\n", b"Origin: http://localhost\r\nOrigin: http://localhost\r\n"],
    ids=["two hosts", "two origins"],
)
async def test_a_header_that_decides_who_comes_in_counts_once(headers: bytes) -> None:
    async with served("never used") as port:
        answer = await exchange(port, closing(REQUEST.replace(HEAD, HEAD + headers)))
    assert statuses(answer) == [400] and b"twice" in answer


async def test_a_client_that_does_not_read_its_answer_keeps_nobody_waiting() -> None:
    large = ScriptedReply((*[TextChunk("word " * 200_000)] * 12, UsageChunk(1, 1), StopChunk("end")))
    body = json.dumps(request_body("chat", stream=True)).encode()
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    async with served(large, "Next.", connection=Impatient, slots=1) as port:
        with socket.create_connection(("127.0.0.1", port)) as stuck:
            stuck.sendall(request)
            await asyncio.sleep(0.1)
            assert b"Next." in await exchange(port, closing(REQUEST))
