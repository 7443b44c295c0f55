from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joey.chunks import Chunk, StopChunk, TextChunk, UsageChunk
from joey.messages import Message, ReasoningBlock, TextBlock, ToolUseBlock
from joey.providers import (
    AuthError,
    BadRequestError,
    ContextTooLongError,
    CutStreamError,
    ModelRequest,
    OverloadedError,
    Provider,
    ProviderError,
    RateLimitError,
    open_model,
)
from joey.testing import Failure, Faults, LocalServer, ReceivedRequest, Scripted, ScriptedProvider, reply
from joey.testing.script import summary

ASK = ModelRequest("m", (Message("user", (TextBlock("go"),)),))
CALL = ToolUseBlock("toolu_1", "write_to_file", {"path": "a.py", "file_text": "print('é')\n" * 3})
REPLY = reply("I'll write it.", CALL)
WIRES = ("anthropic", "openai")


def open_at(server: LocalServer, wire: str) -> Provider:
    url = server.anthropic_url if wire == "anthropic" else server.openai_url
    return open_model(f"{wire}/m", base_url=url, api_key="key")[0]


async def ask(wire: str, *answers: Scripted) -> list[Chunk]:
    """What the official client makes of the last answer."""
    async with LocalServer(answers) as server:
        provider = open_at(server, wire)
        try:
            return [chunk async for chunk in provider.stream(ASK)]
        finally:
            await provider.close()


async def ask_until_error(wire: str, answer: Scripted) -> tuple[list[Chunk], ProviderError]:
    """The chunks that came before the error, and the error."""
    chunks: list[Chunk] = []
    async with LocalServer([answer]) as server:
        provider = open_at(server, wire)
        try:
            async for chunk in provider.stream(ASK):
                chunks += [chunk]
        except ProviderError as error:
            return chunks, error
        finally:
            await provider.close()
    raise AssertionError(f"there was no error after {chunks}")


# What it does on demand


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("faults", [Faults(by_character=True), Faults(latency=0.01, pause=0.001)], ids=repr)
async def test_a_slow_or_crumbled_reply_is_the_same_reply(wire: str, faults: Faults) -> None:
    chunks = await ask(wire, reply("I'll write it: é😀", CALL, faults=faults))
    assert summary(chunks) == summary(reply("I'll write it: é😀", CALL).chunks)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("events", range(0, 14, 2))
async def test_a_reply_cut_anywhere_is_an_error_after_what_had_come(wire: str, events: int) -> None:
    chunks, error = await ask_until_error(wire, reply("Words. " * 10, CALL, faults=Faults(cut_after=events)))
    assert type(error) is CutStreamError or (events == 0 and error.retryable)
    whole = summary(reply("Words. " * 10, CALL).chunks)
    assert whole["text"].startswith(summary(chunks)["text"])
    assert not any(isinstance(chunk, StopChunk) for chunk in chunks)


@pytest.mark.parametrize(("wire", "events"), [("openai", 15), ("anthropic", 19)])
async def test_a_connection_that_breaks_after_the_end_of_the_reply_loses_nothing(wire: str, events: int) -> None:
    chunks = await ask(wire, reply("Words. " * 10, CALL, faults=Faults(cut_after=events)))
    assert summary(chunks)["calls"] == summary(reply(CALL).chunks)["calls"]
    assert chunks[-1] == StopChunk("tool_calls", "tool_calls" if wire == "openai" else "tool_use")


@pytest.mark.parametrize("wire", WIRES)
async def test_an_event_that_is_no_json_is_an_error_that_can_be_retried(wire: str) -> None:
    chunks, error = await ask_until_error(wire, reply("Words. " * 10, faults=Faults(malformed_at=4)))
    assert type(error) is CutStreamError
    assert summary(chunks)["text"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(401, "bad key", "authentication_error"), AuthError),
        (Failure(400, "no", "invalid_request_error"), BadRequestError),
        (Failure(400, "prompt is too long: 9 tokens > 8 maximum", "invalid_request_error"), ContextTooLongError),
        (Failure(429, "slow down", "rate_limit_error", 3), RateLimitError),
        (Failure(500, "oops"), OverloadedError),
        (Failure(529, "busy", "overloaded_error"), OverloadedError),
    ],
    ids=lambda each: str(each) if isinstance(each, Failure) else "",
)
async def test_a_failure_comes_as_its_own_error(wire: str, failure: Failure, expected: type[ProviderError]) -> None:
    chunks, error = await ask_until_error(wire, failure)
    assert chunks == [] and type(error) is expected
    assert error.words == failure.message and failure.message in str(error)
    assert error.retry_after == failure.retry_after


async def test_a_function_may_answer_instead_of_a_list() -> None:
    def echo(received: ReceivedRequest) -> Scripted:
        return reply(f"You asked {received.body['messages'][-1]['content']}")

    async with LocalServer(echo) as server:
        provider = open_at(server, "openai")
        for _ in range(3):
            chunks = [chunk async for chunk in provider.stream(ASK)]
            assert summary(chunks)["text"] == "You asked go"
        await provider.close()
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/v1/nowhere", "{}", 404), ("/v1/messages", "no JSON", 400), ("/v1/messages", "", 400)],
)
async def test_a_request_that_makes_no_sense_is_answered_not_dropped(path: str, body: str, status: int) -> None:
    async with LocalServer([]) as server, httpx2.AsyncClient() as client:
        response = await client.post(server.anthropic_url + path, content=body)
    assert response.status_code == status
    assert response.json()["error"]["message"]


async def test_a_used_up_script_says_so() -> None:
    _, error = await ask_until_error("openai", Failure(400, "first"))
    async with LocalServer([]) as server:
        provider = open_at(server, "anthropic")
        with pytest.raises(BadRequestError, match=r"no replies left \(0 given\)"):
            await anext(aiter(provider.stream(ASK)))
        await provider.close()
    assert "first" in str(error)


@pytest.mark.parametrize("wire", WIRES)
async def test_leaving_a_reply_early_leaves_the_server_standing(wire: str) -> None:
    async with LocalServer([reply("Words. " * 200, faults=Faults(pause=0.01)), reply("Still here.")]) as server:
        provider = open_at(server, wire)
        stream = provider.stream(ASK)
        async for chunk in stream:
            if isinstance(chunk, TextChunk):
                break
        await stream.aclose()
        chunks = [chunk async for chunk in provider.stream(ASK)]
        await provider.close()
    assert summary(chunks)["text"] == "Still here."


async def test_the_scripted_provider_plays_the_same_script() -> None:
    provider = ScriptedProvider([REPLY, Failure(429, "slow", retry_after=2), reply("a", faults=Faults(cut_after=1))])
    assert tuple([chunk async for chunk in provider.stream(ASK)]) == REPLY.chunks
    with pytest.raises(RateLimitError) as caught:
        await anext(aiter(provider.stream(ASK)))
    assert caught.value.retry_after == 2
    with pytest.raises(CutStreamError):
        _ = [chunk async for chunk in provider.stream(ASK)]
    with pytest.raises(BadRequestError, match=r"no replies left \(3 given\)"):
        await anext(aiter(provider.stream(ASK)))
    assert provider.requests == [ASK] * 4


# Any reply


PARTS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
    | st.builds(
        ToolUseBlock,
        st.integers(0, 9).map("toolu_{}".format),
        st.sampled_from(["read_file", "f"]),
        st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=3),
    )
    | st.builds(ReasoningBlock, st.text(min_size=1, max_size=20)),
    max_size=5,
)


@pytest.mark.property
@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=15)
@given(parts=PARTS, usage=st.builds(UsageChunk, *[st.integers(0, 10**6)] * 4), crumbled=st.booleans())
def test_any_reply_survives_the_way_over_http(wire: str, parts: list[Any], usage: UsageChunk, crumbled: bool) -> None:
    sent = reply(*parts, usage=usage, faults=Faults(by_character=crumbled))
    chunks = asyncio.run(ask(wire, sent))
    assert summary(chunks) == summary(sent.chunks)
