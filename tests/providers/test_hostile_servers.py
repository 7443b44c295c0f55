"""Servers that speak HTTP badly, lie, or stop in the middle: an answer is read, or is an error with words to act on."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk
from joey.errors import UsageError
from joey.messages import Message, TextBlock
from joey.providers import (
    AuthError,
    CutStreamError,
    MissingKeyError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    open_model,
)
from joey.providers.anthropic import AnthropicProvider
from joey.providers.base import ModelRequest, Provider
from joey.providers.errors import WrongServerError
from joey.providers.openai_chat import OpenAIProvider

KEY = "sk-secret-key"
CHAT = (
    b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
REPLIES = {
    "messages": (
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n'
    ),
    "chat": CHAT,
    "responses": (
        b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}\n\n'
        b'data: {"type":"response.completed","response":{"status":"completed","output":[]}}\n\n'
    ),
}
MODELS = ("anthropic/m", "openai/gpt-4.1", "openai/gpt-6.1-sol")
REPLIES |= {"plain chat": CHAT, "plain messages": REPLIES["messages"]}


@asynccontextmanager
async def serving(answer: bytes, *, holds: bool = False, key: str = KEY) -> AsyncIterator[dict[str, Provider]]:
    """Providers of every wire in front of a server that answers each request with these bytes, and closes or holds."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
            writer.write(answer)
            await writer.drain()
            if holds:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        providers: dict[str, Provider] = {
            "messages": AnthropicProvider(base_url=url, api_key=key),
            "chat": OpenAIProvider(base_url=f"{url}/v1", api_key=key),
            "responses": open_model("openai/gpt-6.1-sol", base_url=f"{url}/v1", api_key=key)[0],
            "plain chat": open_model("openai/gpt-4.1", base_url=f"{url}/v1", api_key=key)[0],
            "plain messages": open_model("anthropic/m", base_url=url, api_key=key)[0],
        }
        yield providers
        for provider in providers.values():
            await provider.close()


async def chunks_of(provider: Provider) -> list[Chunk]:
    request = ModelRequest("m", (Message("user", (TextBlock("hello"),)),))
    async with asyncio.timeout(30):
        return [chunk async for chunk in provider.stream(request)]


async def error_of(provider: Provider) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await chunks_of(provider)
    assert KEY not in str(raised.value)
    return raised.value


def answer(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def chunked(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + f"{len(body):x}\r\n".encode() + body + b"\r\n"


async def test_a_failure_inside_names_the_host_and_the_status() -> None:
    async with serving(answer(b'{"error": {"message": "boom"}}', "500 Oops", "application/json")) as providers:
        for provider in providers.values():
            error = await error_of(provider)
            assert str(error).startswith("127.0.0.1 failed with HTTP 500: boom.")
            assert (error.reason, error.words) == ("127.0.0.1 failed with HTTP 500: boom", "boom")


async def test_a_failure_within_the_reply_names_the_host() -> None:
    body = b'data: {"type": "error", "error": {"type": "server_error", "message": "boom"}}\n\n'
    async with serving(answer(body)) as providers:
        for provider in providers.values():
            error = await error_of(provider)
            assert error.reason == "127.0.0.1 failed: boom" and str(error).startswith("127.0.0.1 failed: boom.")


# Replies that are whole


WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "of HTTP/1.0, to the end of the connection": lambda reply: b"HTTP/1.0 200 OK\r\n\r\n" + reply,
    "behind a status without words": lambda reply: b"HTTP/1.1 200\r\n\r\n" + reply,
    "behind signs that an answer will come": lambda reply: b"HTTP/1.1 103 Early\r\n\r\n" * 3 + answer(reply),
    "in a chunk after which the end is missing": chunked,
    "shorter than its length": lambda reply: answer(reply).replace(b"Content-Length: ", b"Content-Length: 9"),
    "behind empty events": lambda reply: answer(b"data:\n\nevent: ping\ndata: \n\n" + reply),
    "behind signs of life that are no JSON": lambda reply: answer(b"event: heartbeat\ndata: ok\n\n" + reply),
    "before an error": lambda reply: answer(reply + b'data: {"error":{"message":"boom"}}\n\n'),
    "before half an event": lambda reply: answer(reply + b'data: {"err\n\n'),
    "with an end mark that is a text": lambda reply: answer(reply.replace(b"[DONE]", b'"[DONE]"')),
    "with limits that are none": lambda reply: answer(
        reply,
        "200 OK",
        "text/event-stream",
        "Retry-After: Mon, 01 Jan 99999 00:00:00 GMT",
        "x-ratelimit-remaining-requests: -1",
        "x-ratelimit-reset-requests: 9999-12-31T23:59:59-23:59",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
async def test_a_reply_is_read(name: str) -> None:
    for wire, reply in REPLIES.items():
        async with serving(WHOLE[name](reply)) as providers:
            first, *_, last = await chunks_of(providers[wire])
            assert first == TextChunk("hi"), wire
            assert isinstance(last, StopChunk) and last.reason == "end", wire


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_a_packed_reply_is_read(pack: Callable[[bytes], bytes]) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"
    for wire, reply in REPLIES.items():
        packed = answer(pack(reply), "200 OK", "text/event-stream", f"Content-Encoding: {coding}")
        async with serving(packed) as providers:
            assert (await chunks_of(providers[wire]))[0] == TextChunk("hi")


async def test_bytes_that_are_no_utf8_do_not_cost_the_reply() -> None:
    for wire, reply in REPLIES.items():
        async with serving(answer(reply.replace(b"hi", b"h\xff"))) as providers:
            assert (await chunks_of(providers[wire]))[0] == TextChunk("h\N{REPLACEMENT CHARACTER}")


async def test_events_that_are_known_by_their_name_only_are_read() -> None:
    """In JSON their type is missing: not every server writes it twice."""
    events = [
        ("response.reasoning_summary_text.delta", {"delta": "hm"}),
        ("response.refusal.done", {"output_index": 1, "refusal": "no"}),
        ("response.incomplete", {"response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
    ]
    stream = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    async with serving(answer(stream.encode())) as providers:
        thought, text, stop = await chunks_of(providers["responses"])
    assert isinstance(thought, ReasoningChunk) and thought.text == "hm"
    assert (text, stop) == (TextChunk("no"), StopChunk("length", "max_output_tokens"))


# What is no reply


REPORTED: dict[str, tuple[bytes, type[ProviderError], str]] = {
    "nothing": (answer(b""), CutStreamError, "the reply is empty. Try again."),
    "words": (
        answer(b"upstream connect error", kind="text/plain"),
        CutStreamError,
        "this: upstream connect error.",
    ),
    "a line that is cut within a character": (answer(b"-" + "é".encode() * 99), CutStreamError, "éé. Try again."),
    "a page that is called JSON": (answer(b"<html><title>Login</title>"), CutStreamError, "but this: Login."),
    "bytes": (answer(b"\x89PNG\r\n\x1a\n\xff"), CutStreamError, "bytes that are no text."),
    "only comments": (answer(b": hi\n\n: hi\n\n"), CutStreamError, "the server sent no reply. Try again."),
    "an error that is words": (answer(b"event: error\ndata: out of memory\n\n"), CutStreamError, "out of memory."),
    "errors in a list": (
        answer(b'[{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}]'),
        AuthError,
        "API key not valid. Check",
    ),
    "bytes in the line of a piece": (
        answer(b'data: {"choices":[]}\n\n\xff\x00\n\xfa' + CHAT),
        CutStreamError,
        "a piece of the reply is lost",
    ),
    "a number of 5,000 digits": (answer(b'data: {"a": ' + b"9" * 5000 + b"}\n\n"), CutStreamError, "a number in the"),
    "a redirect": (
        answer(b"", "307 Moved", "text/plain", "Location: https://user:pw@other.example/v1?key=x"),
        WrongServerError,
        "redirects to https://other.example/v1. Use that address, if it is the right one.",
    ),
    "a redirect to a path": (
        answer(b"", "302 Found", "text/plain", "Location: /login"),
        WrongServerError,
        "/login. Use",
    ),
    "no HTTP": (b"SSH-2.0-OpenSSH_9\r\n\r\n", NetworkError, "no answer from http://127.0.0.1:"),
    "a line that is no header": (b"HTTP/1.1 200 OK\r\nfoo\r\n\r\n", NetworkError, "no answer from"),
}


@pytest.mark.parametrize("name", REPORTED)
async def test_what_is_no_reply_is_reported(name: str) -> None:
    sent, kind, words = REPORTED[name]
    async with serving(sent) as providers:
        for wire, provider in providers.items():
            error = await error_of(provider)
            assert (type(error), words in str(error)) == (kind, True), f"{wire}: {error!r}"
            assert "bytearray" not in str(error)


BAD_KEY = b'{"error": {"message": "bad key"}}'
BAD_CODINGS = ["Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br", "X-None: none"]


@pytest.mark.parametrize("charset", ["hex", "idna", "undefined", "utf-16", "no such"])
@pytest.mark.parametrize("coding", BAD_CODINGS)
async def test_an_error_keeps_its_words_whatever_its_headers_say_of_them(charset: str, coding: str) -> None:
    async with serving(answer(BAD_KEY, "401 No", f"application/json; charset={charset}", coding)) as providers:
        for provider in providers.values():
            error = await error_of(provider)
            assert isinstance(error, AuthError) and error.reason == "bad key"


async def test_an_error_keeps_its_words_when_its_body_breaks_off() -> None:
    cut = answer(BAD_KEY, "401 No").replace(b"Content-Length: ", b"Content-Length: 9")
    async with serving(cut) as providers:
        for provider in providers.values():
            assert (await error_of(provider)).reason == "bad key"


async def test_an_error_whose_body_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sdk", "plain_http"):
        monkeypatch.setattr(f"joey.providers.{module}.ERROR_TIMEOUT", 0.1)
    async with serving(b"HTTP/1.1 503 No\r\n\r\n" + BAD_KEY, holds=True) as providers:
        for provider in providers.values():
            error = await error_of(provider)
            assert isinstance(error, OverloadedError) and error.words == "bad key"


@pytest.mark.parametrize(
    "value", ["Mon, 01 Jan 99999 00:00:00 GMT", "31 Feb 2024 25:61:61 GMT", "1, 2", "nan", "soon", "\xb2", "9" * 400]
)
async def test_a_time_to_wait_that_is_none_is_passed_over(value: str) -> None:
    refusal = answer(b'{"error": {"message": "slow"}}', "429 Slow", "application/json", f"Retry-After: {value}")
    async with serving(refusal) as providers:
        for provider in providers.values():
            error = await error_of(provider)
            assert isinstance(error, RateLimitError) and error.reason == "slow"


async def test_half_a_character_in_an_error_can_be_printed() -> None:
    async with serving(answer(b'{"error": {"message": "bad \\ud800"}}', "400 No", "application/json")) as providers:
        for provider in providers.values():
            assert str(await error_of(provider)).encode()


def test_json_of_any_depth_is_read_or_reported() -> None:
    from joey.providers.decoding.chat import ChatReader
    from joey.providers.decoding.messages import MessagesReader
    from joey.providers.decoding.responses import ResponsesReader
    from recorded_answers import decode

    for depth in (50, *range(850, 1000, 10), 5000, 100_000):
        deep = "[" * depth + "]" * depth
        call = f'{{"choices":[{{"delta":{{"tool_calls":[{{"function":{{"name":"f","arguments":{deep}}}}}]}}}}]}}'
        item = f'{{"type":"reasoning","encrypted_content":"x","summary":{deep}}}'
        block = f'{{"type":"content_block_start","content_block":{{"type":"tool_use","input":{deep}}}}}'
        for reader, data in (
            (ChatReader(), call),
            (ResponsesReader(), f'{{"type":"response.output_item.done","item":{item}}}'),
            (MessagesReader(), block),
        ):
            assert isinstance(decode(reader, [f"data: {data}\n\n".encode()]).error, ProviderError)


# What is wrong before anything is sent


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("port", ["99999", "abc", "1\n", "1 /v1"])
def test_an_address_that_cannot_be_one_is_refused(model: str, port: str) -> None:
    with pytest.raises(UsageError, match="is no address of a server"):
        open_model(model, base_url=f"http://127.0.0.1:{port}", api_key=KEY)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("key", ["sk-abc-é-long", "sk-“quoted”", "sk-\0-null", "sk-two words"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(model: str, key: str) -> None:
    with pytest.raises(AuthError, match="has a character that no key has") as raised:
        open_model(model, base_url="http://127.0.0.1:1/v1", api_key=key)
    assert key not in str(raised.value)


@pytest.mark.parametrize("model", MODELS)
def test_a_blank_key_is_none(model: str) -> None:
    with pytest.raises(MissingKeyError, match="the API key is blank"):
        open_model(model, base_url="http://127.0.0.1:1/v1", api_key=" \n")


async def test_the_line_end_that_was_copied_with_a_key_is_not_sent() -> None:
    async with serving(answer(BAD_KEY, "401 No"), key=f"{KEY}\n") as providers:
        for provider in providers.values():
            assert (await error_of(provider)).reason == "bad key"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "a SOCKS proxy needs the package socksio"),
        ("HTTPS_PROXY", "htp://127.0.0.1:1", "Unknown scheme"),
        ("SSL_CERT_FILE", __file__, "no certificate"),
        ("SSL_CERT_FILE", "/no/such/file", "check the variables"),
    ],
)
def test_an_environment_that_allows_no_connection_is_named(
    model: str, variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=words):
        open_model(model, base_url="https://server.example/v1", api_key=KEY)
