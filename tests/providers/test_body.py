"""The bytes of a request: JSON of everything in it, of which only what is new is made, and little is copied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.messages import Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers import open_model
from joey.providers.base import ModelRequest
from joey.providers.catalogue import USUAL
from joey.providers.encoding.body import Body, BodyEncoder, entry
from joey.providers.encoding.chat import ChatEncoder
from joey.providers.encoding.messages import MessagesEncoder
from joey.providers.errors import ProviderError
from joey.providers.openai_responses import ResponsesEncoder
from joey.testing import Failure, LocalServer, reply
from joey.testing.script import Scripted
from joey.toolspec import ToolSpec

Encoder: TypeAlias = MessagesEncoder | ChatEncoder | ResponsesEncoder
ENCODERS: list[Callable[[Any], Encoder]] = [MessagesEncoder, ChatEncoder, ResponsesEncoder]
TOOLS = (ToolSpec("read"),)
PIECE = 64 * 2**10


def texts(*words: str) -> tuple[Message, ...]:
    return tuple(Message("user", (TextBlock(each),)) for each in words)


def plain_encoder() -> BodyEncoder:
    return BodyEncoder(lambda message: b"".join(entry({"text": block.text}) for block in message.content if block.text))  # type: ignore[union-attr]


def words_in(body: Body) -> list[str]:
    return [each["text"] for each in json.loads(bytes(body))["messages"]]


def conversation(turns: int, size: int) -> Iterator[tuple[Message, ...]]:
    """What is sent in each turn."""
    messages = list(texts("go"))
    for turn in range(turns):
        call = ToolUseBlock(f"c{turn}", "read", {"path": f"{turn}"})
        messages.append(Message("assistant", (TextBlock("look"), call)))
        messages.append(Message("user", (ToolResultBlock(call.id, (TextBlock("é" * (size // 2)),)),)))
        yield tuple(messages)


# What is in it


@pytest.mark.parametrize("words", [(), ("é",), ("a", "b", "c")])
def test_messages_are_put_into_the_parameters(words: tuple[str, ...]) -> None:
    made = plain_encoder()({"model": "m", "n": 1}, texts(*words))
    assert json.loads(bytes(made)) == {"model": "m", "n": 1, "messages": [{"text": each} for each in words]}
    assert len(made) == len(bytes(made))


@pytest.mark.parametrize("words", [(), ("a",), ("a", "b")])
def test_what_opens_the_list_stands_before_the_messages(words: tuple[str, ...]) -> None:
    made = plain_encoder()({"model": "m"}, texts(*words), opening=entry({"text": "system"}))
    assert words_in(made) == ["system", *words]


def test_a_message_without_entries_leaves_no_gap() -> None:
    assert words_in(plain_encoder()({"model": "m"}, texts("a", "", "b", ""))) == ["a", "b"]


@pytest.mark.parametrize("make", ENCODERS)
def test_what_was_in_the_request_before_is_not_made_again(make: Callable[[Any], Encoder]) -> None:
    encoder, arguments = make(USUAL), {"path": "first"}
    turns = (
        Message("user", (TextBlock("go"),)),
        Message("assistant", (ToolUseBlock("c1", "read", arguments),)),
        Message("user", (ToolResultBlock("c1", (TextBlock("x"),)),)),
    )
    encoder.body(ModelRequest("m", turns, tools=TOOLS))
    arguments["path"] = "second"  # which no tool may do: here it shows whether the call is read again
    more = (*turns, Message("assistant", (TextBlock("so"),)), Message("user", (TextBlock("and?"),)))
    made = bytes(encoder.body(ModelRequest("m", more, tools=TOOLS), stream=True))
    assert b"first" in made and b"second" not in made
    assert b"and?" in made and json.loads(made)["stream"] is True


def test_parameters_that_change_are_written_again() -> None:
    encoder = plain_encoder()
    encoder({"model": "m", "n": 1}, texts("a"))
    assert json.loads(bytes(encoder({"model": "m", "n": 2}, texts("a"))))["n"] == 2


# What it costs


@pytest.mark.parametrize("make", ENCODERS)
def test_the_thousandth_turn_copies_no_more_than_the_hundredth(make: Callable[[Any], Encoder]) -> None:
    """The conversation itself is ten times as long. What is copied is what was not in the request before as it is."""
    encoder, copied, pieces, body = make(USUAL), list[int](), list[int](), Body(())
    for messages in conversation(1000, 2400):
        before, body = body, encoder.body(ModelRequest("m", messages, "Be good.", tools=TOOLS))
        copied.append(sum(len(piece) for piece in body.pieces if all(piece is not each for each in before.pieces)))
        pieces.append(len(body.pieces))
    assert len(body) > 2_400_000 and json.loads(bytes(body))
    assert sum(copied[900:]) < 1.5 * sum(copied[50:150])
    assert sum(copied) / len(copied) < 2 * PIECE
    assert max(pieces) <= 4


STEPS = st.tuples(st.integers(0, 40), st.lists(st.integers(0, 3 * PIECE), max_size=4), st.integers(0, 3), st.booleans())


@pytest.mark.property
@given(st.lists(STEPS, max_size=30))
def test_what_was_kept_never_changes_what_is_sent(steps: list[tuple[int, list[int], int, bool]]) -> None:
    """Conversations that grow, that go back and continue otherwise, and whose last messages are marked."""
    encoder, messages = plain_encoder(), texts("go")
    for number, (back, sizes, marks, opened) in enumerate(steps):
        messages = (*messages[: max(1, len(messages) - back)], *texts(*(f"{number}:" + "x" * size for size in sizes)))
        own = {place: entry({"text": "marked"}) for place in range(max(0, len(messages) - marks), len(messages))}
        made = encoder({"n": number % 3}, messages, opening=entry({"text": "s"}) if opened else b"", own=own)
        plain = [block.text for message in messages for block in message.content]  # type: ignore[union-attr]
        expected = ["marked" if place in own else text for place, text in enumerate(plain)]
        assert words_in(made) == [*(["s"] if opened else []), *expected]


@pytest.mark.parametrize("make", ENCODERS)
def test_a_conversation_that_goes_back_to_where_a_piece_ends_is_sent_as_it_is(make: Callable[[Any], Encoder]) -> None:
    turns = list(conversation(60, 4000))
    encoder, there_and_back = make(USUAL), [*turns, *turns[::-1], *turns]
    for messages in there_and_back:
        request = ModelRequest("m", messages, tools=TOOLS)
        assert bytes(encoder.body(request)) == bytes(make(USUAL).body(request))


def test_thoughts_that_go_to_nobody_leave_a_list_as_it_should_be() -> None:
    thought = Message("assistant", (ReasoningBlock("hm", None),))
    made = ResponsesEncoder(USUAL).body(ModelRequest("m", (*texts("go"), thought, *texts("so?"))))
    assert [item["role"] for item in json.loads(bytes(made))["input"]] == ["user", "user"]


# How it is sent


@pytest.mark.parametrize("model", ["anthropic/m", "openai/gpt-4.1", "openai/gpt-6.1-sol", "llamacpp/m"])
async def test_pieces_arrive_as_one_body_of_a_known_length_and_can_be_sent_again(model: str) -> None:
    *_, messages = conversation(100, 10_000)
    answers: list[Scripted] = [Failure(503, "later"), reply("one"), Failure(503, "later"), reply("two")]
    async with LocalServer(answers) as server:
        base_url = server.url if model.startswith("anthropic") else server.openai_url
        provider, name = open_model(model, base_url=base_url, api_key="k")
        for length in (len(messages) - 2, len(messages)):
            request = ModelRequest(name, messages[:length], tools=TOOLS)
            with pytest.raises(ProviderError, match="later"):
                _ = [chunk async for chunk in provider.stream(request)]
            _ = [chunk async for chunk in provider.stream(request)]
        await provider.close()
    first, again, *_, last = server.requests
    assert first.body == again.body and int(last.headers["content-length"]) > 1_000_000
    assert all("transfer-encoding" not in each.headers for each in server.requests)
    assert json.dumps(last.body, ensure_ascii=False).count("é" * 5000) == 100
