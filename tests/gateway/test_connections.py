"""Clients that send HTTP as one should not, over real sockets: none costs more than its own connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Sequence

import pytest

from gateway_kit import PATHS, request_body, served, upstream
from joey.chunks import StopChunk, TextChunk, UsageChunk
from joey.gateway import Gateway
from joey.gateway.connections import MAX_HEAD, GatewayConnection, OpenConnections, WritesTogether
from joey.gateway.serving import HttpServer, bound
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


async def test_an_upgrade_that_comes_in_two_pieces_is_refused_in_words_and_no_news(
    capfd: pytest.CaptureFixture[str],
) -> None:
    begin, end = HEAD + b"Connection: Upgrade\r\nUp", b"grade: h2c\r\nContent-Length: 2\r\n\r\n{}"
    async with served("never used") as port:
        assert statuses(await exchange(port, begin, end)) == [400]
    assert capfd.readouterr() == ("", "")


async def test_a_client_of_http_1_0_gets_a_stream_without_chunks() -> None:
    body = json.dumps(request_body("chat", stream=True)).encode()
    head = HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Content-Length: %d\r\n\r\n" % len(body)
    async with served("Hello.") as port:
        answer_head, _, answer = (await exchange(port, head + body)).partition(b"\r\n\r\n")
    assert b"chunked" not in answer_head and answer.startswith(b"data: ") and answer.endswith(b"data: [DONE]\n\n")


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n"


async def test_trailers_have_a_size_and_are_no_headers() -> None:
    async with served("never used") as port:
        answer = await exchange(port, CHUNKED, *[b"X: " + b"y" * 20_000 + b"\r\n"] * 5)
        assert statuses(answer) == [400] or not answer
    async with served("Hello.") as port:
        assert statuses(await exchange(port, closing(CHUNKED) + b"Host: evil.example\r\n\r\n")) == [200]


async def test_a_mistake_behind_a_request_takes_nothing_of_its_answer_away() -> None:
    words = [TextChunk("One."), *[TextChunk(" more")] * 20]
    slow = ScriptedReply((*words, UsageChunk(1, 1), StopChunk("end")), Faults(pause=0.02))
    body = json.dumps(request_body("chat", stream=True)).encode()
    async with served(slow) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        begun = await reader.readuntil(b"One.")
        writer.write(b"this is no HTTP\r\n\r\n")
        answer = begun + await asyncio.wait_for(reader.read(), 10)
        await close(writer)
        assert statuses(answer) == [200] and b"[DONE]" in answer
    async with served("Hello.") as port:
        answer = await exchange(port, REQUEST + b"this is no HTTP\r\n\r\n", b"nor is this")
    assert statuses(answer) == [200] and b"Hello." in answer


BROKEN_BODY = HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"


async def test_a_mistake_in_the_body_of_the_next_request_takes_nothing_of_an_answer_away() -> None:
    words = [TextChunk("One."), *[TextChunk(" more")] * 10]
    slow = ScriptedReply((*words, UsageChunk(1, 1), StopChunk("end")), Faults(pause=0.02))
    body = json.dumps(request_body("chat", stream=True)).encode()
    async with served(slow) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        begun = await reader.readuntil(b"One.")
        writer.write(BROKEN_BODY)
        answer = begun + await asyncio.wait_for(reader.read(), 10)
        await close(writer)
    assert statuses(answer) == [200] and answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


async def test_an_answer_that_has_not_begun_is_not_the_error_of_the_next_request() -> None:
    async with served(reply("At last.", faults=Faults(latency=0.2))) as port:
        answer = await exchange(port, REQUEST, BROKEN_BODY)
        assert statuses(answer) == [200] and b"At last." in answer
    async with served("One.", reply("Two.", faults=Faults(latency=0.2))) as port:
        answer = await exchange(port, REQUEST + REQUEST + BROKEN_BODY, b"more")
        assert statuses(answer) == [200, 200] and b"Two." in answer


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


async def test_a_connection_is_used_again_however_much_went_over_it() -> None:
    count = MAX_HEAD // len(REQUEST) + 10
    async with served(*["Hello."] * count) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count):
            writer.write(REQUEST)
            assert b" 200 " in await reader.readline()
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
            await reader.readexactly(int(length.split()[1]))
        await close(writer)


async def test_a_client_may_ask_whether_its_body_is_wanted() -> None:
    head = closing(HEAD) + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    async with served("Hello.") as port:
        answer = await exchange(port, head, BODY)
    assert statuses(answer) == [100, 200] and b"Hello." in answer


async def test_a_request_that_is_refused_early_may_still_send_its_body() -> None:
    refused = HEAD.replace(b"/v1/chat/completions", b"/nothing") + b"Content-Length: 100000\r\n\r\n"
    async with served("Hello.") as port:
        answer = await exchange(port, refused, b"x" * 50_000, b"x" * 50_000, closing(REQUEST))
    assert statuses(answer) == [404, 200] and b"Hello." in answer


async def test_a_body_that_was_refused_before_it_was_sent_ends_the_connection() -> None:
    """The client may send it, or leave it out and send its next request: nobody could tell which one it is."""
    refused = HEAD.replace(b"/v1/chat/completions", b"/nothing") + b"Expect: 100-continue\r\n"
    async with served("never used") as port:
        answer = await exchange(port, refused + b"Content-Length: %d\r\n\r\n" % len(BODY))
    assert statuses(answer) == [404] and b"connection: close" in answer


async def test_a_mistake_in_a_body_that_nobody_needs_is_no_second_answer() -> None:
    refused = BROKEN_BODY.replace(b"/v1/chat/completions", b"/nothing")
    async with served("never used") as port:
        answer = await exchange(port, refused.removesuffix(b"ZZ\r\n"), b"ZZ\r\n")
    assert statuses(answer) in ([404], [])


async def test_what_is_no_http_is_refused_in_words_that_clients_of_each_api_read() -> None:
    async with served("never used") as port:
        answer = await exchange(port, b"\x16\x03\x01 this is TLS\r\n\r\n")
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert body["type"] == "error" and body["error"]["type"] == "invalid_request_error" and body["error"]["message"]


async def test_an_application_that_fails_tells_its_client_and_no_words_of_the_prompt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def application(_scope: object, _receive: object, _send: object) -> None:
        raise ValueError("words of the prompt")

    opened = OpenConnections(application)
    server = await asyncio.get_running_loop().create_server(lambda: GatewayConnection(opened), "127.0.0.1", 0)
    async with server:
        answer = await exchange(server.sockets[0].getsockname()[1], REQUEST)
    assert statuses(answer) == [500] and b"failed unexpectedly" in answer
    assert "ValueError" in caplog.text and "words of the prompt" not in caplog.text


async def test_a_server_that_ends_lets_answers_end_first() -> None:
    with bound("127.0.0.1", 0) as listening:
        server = HttpServer(Gateway([upstream(reply("At last.", faults=Faults(latency=0.3)))]))
        serving = asyncio.create_task(server.serve(listening))
        answering = asyncio.create_task(exchange(listening.getsockname()[1], REQUEST))
        await asyncio.sleep(0.1)
        server.stop()
        answer = await answering
        await serving
    assert b"At last." in answer


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_does_not_end_with_the_server_ends_with_the_reason(wire: str, stream: bool) -> None:
    body = json.dumps(request_body(wire, stream=stream)).encode()
    request = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (PATHS[wire].encode(), len(body))
    with bound("127.0.0.1", 0) as listening:
        server = HttpServer(Gateway([upstream(reply("Words, " * 9, faults=Faults(silent_after=2)))]))
        serving = asyncio.create_task(server.serve(listening))
        answering = asyncio.create_task(exchange(listening.getsockname()[1], request + body))
        await asyncio.sleep(0.1)
        server.stop()
        answer = await answering
        await serving
    assert b"the gateway is stopping" in answer
    assert answer.endswith(b"0\r\n\r\n") if stream else statuses(answer) == [529 if wire == "messages" else 503]


async def test_a_server_ends_although_a_client_does_not_read() -> None:
    endless = reply("Words, " * 400_000)
    request = REQUEST.replace(b'"messages"', b'"stream":true,"messages"').replace(
        b"Content-Length: %d" % len(BODY), b"Content-Length: %d" % (len(BODY) + len(b'"stream":true,'))
    )
    with bound("127.0.0.1", 0) as listening:
        server = HttpServer(Gateway([upstream(endless)]))
        serving = asyncio.create_task(server.serve(listening))
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(request)
            await asyncio.sleep(0.3)
            server.stop()
            await asyncio.wait_for(serving, 10)


def test_who_connects_before_the_gateway_is_ready_waits() -> None:
    with bound("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        pass
