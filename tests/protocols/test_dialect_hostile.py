"""Replies that were written to break a parser. Whatever stands in them, nothing is lost, the cut changes nothing, and a
prefix makes no call that the whole reply does not make."""

from __future__ import annotations

import json

import pytest

from dialect_fuzz import markers_of
from joey.messages import ToolUseBlock
from joey.protocols import Reply, collect, get
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.table import DIALECTS
from joey.testing import check_laws, read
from joey.toolspec import ToolSpec
from joey.wire import JsonObject

TOOLS = (
    ToolSpec(
        "save",
        "",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}, "size": {"type": "integer"}},
        },
    ),
    ToolSpec("ping", ""),
)


def replies(name: str, text: str) -> Reply:
    """The reply, which is the same whole, by character and in pieces of seven."""
    pieces = ([text], list(text), [text[at : at + 7] for at in range(0, len(text), 7)])
    events = [read(get(name).parser(TOOLS), each) for each in pieces]
    for each in events:
        check_laws(each, text, with_reasoning=True)
    made = [collect(each) for each in events]
    assert made[0] == made[1] == made[2], text
    return made[0]


def written(name: str, *calls: tuple[str, JsonObject]) -> str:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    blocks = [ToolUseBlock(f"call0000{number}", tool, given) for number, (tool, given) in enumerate(calls)]
    return protocol.encode_calls(blocks, TOOLS).text


def made_in(reply: Reply) -> list[tuple[str, str]]:
    return [(call.name, json.dumps(call.arguments, sort_keys=True)) for call in reply.calls]


def hostile_replies(name: str) -> list[str]:
    marks = markers_of(name)
    good = written(name, ("save", {"path": "a", "text": "b"}))
    return [
        good + good,
        marks[0] * 3 + good,
        good + marks[-1] + good,
        good.replace("save", "no_such_tool"),
        good.replace("save", "../../save"),
        good.replace("save", "save save"),
        good.replace("path", "text"),
        good.replace("path", "pa\\u0074h"),
        good.replace('"', "'"),
        good.replace('"', "\u201c"),
        good.replace("\n", "\r\n"),
        f"\ufeff{good}\x00",
        good[: len(good) // 2] + good,
        f"<think>I could {good} but no.</think>{good}",
        f"`{good}` and {good}",
    ]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_hostile_reply_is_read_without_loss_and_the_same_at_every_cut(name: str) -> None:
    for text in hostile_replies(name):
        whole = made_in(replies(name, text))
        for end in range(0, len(text), max(1, len(text) // 12)):
            events = read(get(name).parser(TOOLS), [text[:end]])
            check_laws(events, text[:end], with_reasoning=True)
            if "<think>" not in text:  # a call may end reasoning: whether it does only the rest of the reply can tell
                made = made_in(collect(events))
                assert made == whole[: len(made)], text[:end]


@pytest.mark.parametrize("name", DIALECTS)
def test_two_replies_in_one_are_the_calls_of_both(name: str) -> None:
    good = written(name, ("save", {"path": "a", "text": "b"}), ("ping", {}))
    for between in ("", "\n", "\n\n", "\r\n"):
        assert [call.name for call in replies(name, good + between + good).calls] == ["save", "ping"] * 2, between


@pytest.mark.parametrize("name", DIALECTS)
def test_large_numbers_are_read_exactly(name: str) -> None:
    for size in (10**30, 10**400, -(10**400), 0):
        text = written(name, ("save", {"size": size}))
        assert [call.arguments for call in replies(name, text).calls] == [{"size": size}]


@pytest.mark.parametrize("name", ["gemma4", "lfm2", "pythonic", "olmo3"])
def test_a_word_or_number_without_end_is_malformed_at_every_cut(name: str) -> None:
    text = written(name, ("save", {"size": 1234567}))
    for endless in ("9" * 5000, "x" * 5000):
        assert replies(name, text.replace("1234567", endless)).calls == ()


@pytest.mark.parametrize("space", ["", "\n\n", "So.\n", "I save it"])
def test_the_header_of_a_message_may_stand_behind_space_or_text(space: str) -> None:
    quoted = "<|start|>assistant to=functions.ping<|message|>{}<|call|>"
    text = f"{space} to=functions.save<|channel|>commentary json<|message|>{json.dumps({'path': quoted})}<|call|>"
    reply = replies("harmony", text)
    assert made_in(reply) == [("save", json.dumps({"path": quoted}))] and reply.text.strip() == space.strip()


def test_a_recipient_that_is_only_mentioned_is_text() -> None:
    for text in ("Write to=functions.save there.", "It is `x to=functions.save<|message|>{}`.", "to=functions.save"):
        reply = replies("harmony", text)
        assert reply.calls == () and reply.text == text
