"""Replies without end: each ends with an error, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from joey.chunks import StopChunk, TextChunk
from joey.messages import Message, TextBlock
from joey.providers import ModelRequest, NetworkError, Provider, ProviderError, ReplyTooLargeError
from joey.providers.anthropic import AnthropicProvider
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.openai_chat import OpenAIProvider
from joey.providers.plain_chat import PlainChatProvider
from joey.testing import LocalServer, RawAnswer
from recorded_answers import ask


def sse(events: list[Any], *, done: bool = False) -> bytes:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return (text + ("data: [DONE]\n\n" if done else "")).encode()


def opened(wire: str, server: LocalServer, *, timeout: float = 5.0, limits: ReplyLimits | None = None) -> Provider:
    if wire == "chat":
        return OpenAIProvider(base_url=server.openai_url, timeout=timeout, limits=limits)
    if wire == "plain":
        return PlainChatProvider(server.openai_url, timeout=timeout, limits=limits)
    return AnthropicProvider(base_url=server.anthropic_url, timeout=timeout, limits=limits)


_CHAT = sse([{"choices": [{"delta": {"content": "x" * 60_000}}]}])
LETTERS = {
    "chat": _CHAT,
    "plain": _CHAT,
    "anthropic": sse([{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 60_000}}]),
}
SMALL_LIMITS = ReplyLimits(piece=2**20, content=2**21, wire=2**23)


async def failure(provider: Provider) -> tuple[ProviderError, int]:
    """How an endless reply ends, and the memory it took at its highest."""
    request = ModelRequest("m", (Message("user", (TextBlock("go"),)),))
    tracemalloc.start()
    try:
        with pytest.raises(ProviderError) as caught:
            async for _ in provider.stream(request):
                pass
        return caught.value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await provider.close()


@pytest.mark.parametrize("wire", LETTERS)
async def test_a_reply_without_end_is_refused(wire: str) -> None:
    async with LocalServer([RawAnswer((LETTERS[wire],), endless=True)]) as server:
        error, memory = await failure(opened(wire, server, limits=SMALL_LIMITS))
    assert type(error) is ReplyTooLargeError and "longer than 2 million characters" in str(error)
    assert memory < 2**24


@pytest.mark.parametrize("wire", LETTERS)
@pytest.mark.parametrize("start", [b"data: ", b"{", b": "], ids=["of data", "of a body", "of a comment"])
async def test_a_line_without_end_is_refused(wire: str, start: bytes) -> None:
    async with LocalServer([RawAnswer((start, b"x" * 60_000), endless=True)]) as server:
        error, memory = await failure(opened(wire, server, limits=SMALL_LIMITS))
    assert type(error) is ReplyTooLargeError and "of the reply is longer than 1 MiB" in str(error)
    assert memory < 2**24


@pytest.mark.parametrize("wire", LETTERS)
async def test_comments_without_end_are_refused_by_their_size(wire: str) -> None:
    async with LocalServer([RawAnswer((b": " + b"x" * 60_000 + b"\n",), endless=True)]) as server:
        error, _ = await failure(opened(wire, server, limits=SMALL_LIMITS))
    assert type(error) is ReplyTooLargeError and "longer than 8 MiB" in str(error)


@pytest.mark.parametrize(
    ("wire", "sign"),
    [
        ("chat", b": keep-alive\n\n"),
        ("plain", b": keep-alive\n\n"),
        ("chat", b'data: {"choices": []}\n\n'),
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
    ],
)
async def test_signs_of_life_without_a_reply_are_given_up(wire: str, sign: bytes) -> None:
    async with LocalServer([RawAnswer((sign,), endless=True, pause=0.01)]) as server:
        error, _ = await failure(opened(wire, server, timeout=0.1))
    assert type(error) is NetworkError and error.retryable and "signs of life" in str(error)


@pytest.mark.parametrize("wire", LETTERS)
async def test_the_body_of_an_error_is_read_to_a_limit(wire: str) -> None:
    body = b'{"error": {"message": "' + b"x" * 60_000
    async with LocalServer([RawAnswer((body,), 400, "application/json", endless=True)]) as server:
        error, memory = await failure(opened(wire, server))
    assert error.status == 400 and len(str(error)) < 2_000 and memory < 2**24


@pytest.mark.parametrize("wire", ["chat", "plain"])
async def test_after_an_end_mark_nothing_is_waited_for(wire: str) -> None:
    body = sse([{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}], done=True)
    async with LocalServer([RawAnswer((body, b": still here\n"), endless=True, pause=0.01)]) as server:
        provider = opened(wire, server)
        found = await ask(provider, "m")
        await provider.close()
    assert found.chunks == [TextChunk("a"), StopChunk("end", "stop")]


def test_a_decoder_says_when_it_is_over() -> None:
    decoder = ReplyDecoder(ChatReader(), ReplyLimits())
    assert not decoder.is_complete
    assert list(decoder.feed(sse([{"choices": [{"delta": {"content": "a"}}]}], done=True))) == [TextChunk("a")]
    assert decoder.is_over and decoder.is_complete
