"""What real providers answered, over HTTP, beside what it holds; and cut into odd pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from joey.providers import Abilities, Provider
from joey.providers.anthropic import AnthropicProvider
from joey.providers.decoding.chat import ChatReader
from joey.providers.decoding.messages import MessagesReader
from joey.providers.decoding.reader import ReplyReader
from joey.providers.openai_chat import OpenAIProvider
from joey.providers.plain_chat import PlainChatProvider
from joey.testing import LocalServer
from recorded_answers import Answer, ask, decode, disagreements, odd_pieces, responder

READERS: dict[str, Callable[[], ReplyReader]] = {"chat": ChatReader, "anthropic": MessagesReader}
ANSWERS = {wire: [answer for answer in Answer.load(wire) if answer.kind != "error"] for wire in READERS}
ERRORS = {wire: [answer for answer in Answer.load(wire) if answer.kind == "error"] for wire in READERS}
ONE_BYTE = 2_000
"""Answers of at most so many bytes are also fed byte by byte."""

OTHERWISE = {
    "chat-952e74de7cb030fb": "tool_use_failed is the model's mistake: the reply ends without a call, and it is told so",
    "chat-25e988586b4d1744": "tool_use_failed is the model's mistake: its call is read, and refused by our own check",
    "chat-314ac2d6d7d5b0a5": "reasoning that stands in reasoning_details only is shown as well",
}
"""Answers that we read otherwise on purpose."""


@asynccontextmanager
async def providers(wire: str, answers: list[Answer], *, plain: bool = False) -> AsyncIterator[dict[str, Provider]]:
    async with LocalServer(responder(answers)) as server:
        opened: dict[str, Provider] = {}
        for kind in ("stream", "whole"):
            abilities = Abilities(streaming=kind == "stream")
            if wire == "chat" and plain:
                opened[kind] = PlainChatProvider(server.openai_url, abilities=abilities)
            elif wire == "chat":
                opened[kind] = OpenAIProvider(base_url=server.openai_url, abilities=abilities)
            else:
                opened[kind] = AnthropicProvider(base_url=server.anthropic_url, abilities=abilities)
        yield opened | {"error": opened["stream"]}
        for kind in ("stream", "whole"):
            await opened[kind].close()


@pytest.mark.parametrize(("wire", "plain"), [*((wire, False) for wire in READERS), ("chat", True)])
async def test_a_recorded_answer_is_read_as_what_it_holds(wire: str, plain: bool) -> None:
    async with providers(wire, ANSWERS[wire], plain=plain) as opened:
        wrong = {each.id: disagreements(each, await ask(opened[each.kind], each.id)) for each in ANSWERS[wire]}
    assert len(wrong) > 100
    assert {key: found for key, found in wrong.items() if found and key not in OTHERWISE} == {}
    assert [key for key in wrong if key in OTHERWISE and not wrong[key]] == [], "read as recorded: not otherwise"


@pytest.mark.parametrize("wire", READERS)
def test_how_the_network_cuts_an_answer_changes_nothing(wire: str) -> None:
    for answer in ANSWERS[wire]:
        whole = decode(READERS[wire](), [answer.body])
        cut = decode(READERS[wire](), odd_pieces(answer.body, answer.id))
        assert (cut.chunks, str(cut.error)) == (whole.chunks, str(whole.error)), answer.id
        if len(answer.body) <= ONE_BYTE:
            by_byte = decode(READERS[wire](), (bytes([byte]) for byte in answer.body))
            assert (by_byte.chunks, str(by_byte.error)) == (whole.chunks, str(whole.error)), answer.id


@pytest.mark.parametrize("wire", READERS)
async def test_a_recorded_error_is_raised_with_words_to_act_on(wire: str) -> None:
    async with providers(wire, ERRORS[wire]) as opened:
        for answer in ERRORS[wire]:
            found = await ask(opened["error"], answer.id)
            assert found.error is not None and found.chunks == [], answer.id
            assert found.error.status == answer.status, answer.id
