"""Requests that are wrong somewhere: each is refused with its reason or understood, and none is a failure of ours."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from gateway_kit import CHAT_TOOLS, MESSAGES_TOOLS, RESPONSES_TOOLS, SCHEMA, recorded, upstream
from joey.gateway.refusal import Refusal
from joey.gateway.replies import KeptReplies
from joey.gateway.schemas import checked
from joey.gateway.seal import Seal
from joey.gateway.server import WIRES
from joey.gateway.upstream import estimate
from joey.gateway.wires.base import ReadingContext
from joey.messages import TextBlock

ROUNDS = 200
BY_NAME = {wire.name: wire for wire in WIRES}
WRONG: list[Any] = [
    None, True, 0, -1, 2**70, 1e308, float("nan"), "", "x", "\ud800", "\0", "auto", [], {}, [[]], [None], [1], ["x"],
    [{}], {"type": "x"}, {"type": None}, {"type": []}, {"name": {}}, {"a": {"b": []}}, "a" * 3000,
]  # fmt: skip
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
LARK = {"type": "grammar", "syntax": "lark", "definition": "start: /a+/"}
CALL = {"id": "c1", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
BODIES: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "t"}, PART]},
            {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "r"},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "user", "content": "go on"},
        ],
        "tools": [*CHAT_TOOLS, {"type": "custom", "custom": {"name": "patch", "format": {"grammar": LARK}}}],
        "tool_choice": {"type": "function", "function": {"name": "list_files"}},
        "response_format": FORMAT,
        "stop": ["a"],
        "max_tokens": 5,
        "temperature": 1,
        "stream_options": {"include_usage": True},
        "parallel_tool_calls": False,
    },
    "responses": {
        "model": "m",
        "instructions": "i",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "t"}]},
            {"type": "additional_tools", "tools": RESPONSES_TOOLS[:1]},
            {"type": "function_call", "call_id": "c1", "name": "list_files", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "done"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}], "encrypted_content": "x"},
        ],
        "tools": [
            *RESPONSES_TOOLS,
            {"type": "namespace", "name": "n", "tools": RESPONSES_TOOLS[1:]},
            {"type": "custom", "name": "patch", "format": LARK},
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "list_files"}]},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "reasoning": {"effort": "low"},
        "max_output_tokens": 5,
    },
    "messages": {
        "model": "m",
        "system": [{"type": "text", "text": "s"}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "t"}, {"type": "image", "source": {"type": "base64"}}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "r", "signature": "x"},
                    {"type": "tool_use", "id": "c1", "name": "list_files", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "tool_reference", "tool_name": "write_file"}],
                    }
                ],
            },
        ],
        "tools": [*MESSAGES_TOOLS, {"type": "bash_20250124", "name": "bash"}],
        "tool_choice": {"type": "tool", "name": "list_files"},
        "max_tokens": 5,
        "thinking": {"type": "enabled", "budget_tokens": 2},
        "output_config": {"effort": "low", "format": FORMAT},
        "metadata": {"user_id": "u"},
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from places(value[index], (*path, index))


def spoiled(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The body with something wrong in it."""
    made = copy.deepcopy(body)
    *way, last = chance.choice(list(places(made)))
    holder: Any = made
    for step in way:
        holder = holder[step]
    if isinstance(holder, dict) and chance.random() < 0.2:
        del holder[last]
    else:
        holder[last] = copy.deepcopy(chance.choice(WRONG))
    return made


def understand(wire: Any, body: Any, chance: random.Random) -> bool:
    """Whether it is understood, and everything made of it that goes to a model."""
    model = upstream("x", protocol=chance.choice(["json_mix", "xml", "morph_xml", "native"]), grammar=True)
    try:
        request = wire.understood(body, ReadingContext(Seal(b"k" * 32), KeptReplies()))
        encoded = model.encode(request)
    except Refusal as refusal:
        return _refused(wire, refusal)
    model.parser(request)
    return estimate(encoded) > 0


def _refused(wire: Any, refusal: Refusal) -> bool:
    assert refusal.status == 400 and json.dumps(wire.error(refusal))
    return False


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_a_request_that_is_wrong_somewhere_is_refused_or_understood(wire: Any) -> None:
    chance = random.Random(wire.name)
    assert understand(wire, BODIES[wire.name], chance), "the whole one must be understood"
    found = [understand(wire, spoiled(BODIES[wire.name], chance), chance) for _ in range(ROUNDS)]
    assert 20 < sum(found) < ROUNDS - 20


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_so_is_one_of_a_real_client(wire: Any) -> None:
    chance = random.Random(wire.name)
    bodies = [each.body for each in recorded() if each.path.split("?")[0].endswith(wire.path) and each.body]
    for _ in range(30):
        understand(wire, spoiled(chance.choice(bodies), chance), chance)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"required": "path"}, "required must be a list of names"),
        ({"properties": []}, "properties must be an object of schemas"),
        ({"properties": {"a": {"type": 5}}}, "properties.a.type must be a string"),
        ({"anyOf": [{"enum": {}}]}, "anyOf.0.enum must be a list"),
        ({"items": {"description": ["x"]}}, "items.description must be a string"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_place(schema: Any, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        checked(schema, "the tool 'x'")


def test_a_keyword_that_is_null_is_none_and_what_nobody_knows_stays() -> None:
    given = {"type": "object", "required": None, "x": None, "properties": {"a": {"enum": None, "default": None}}}
    assert checked(given, "x") == {"type": "object", "x": None, "properties": {"a": {"default": None}}}


def test_a_schema_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(300):
        schema = {"items": schema}
    with pytest.raises(Refusal, match="nested"):
        checked(schema, "x")


@pytest.mark.parametrize(
    ("wire", "fields", "words"),
    [
        ("chat", {"messages": [1]}, "messages: each message needs a role"),
        ("messages", {"messages": [{"content": "x"}]}, "messages: each message needs a role"),
        ("chat", {"messages": [{"role": "bot", "content": "x"}]}, "messages: the role 'bot' is unknown"),
        ("responses", {"input": [{"role": "bot", "content": "x"}]}, "input: the role 'bot' is unknown"),
        ("chat", {"tool_choice": {"type": "function"}}, "tool_choice needs the name of a tool"),
        ("messages", {"tool_choice": {"type": "tool", "name": 5}}, "tool_choice needs the name of a tool"),
        ("chat", {"messages": []}, "messages must not be empty"),
        ("chat", {"messages": [{"role": "user"}]}, "messages have no content"),
        ("responses", {"instructions": "", "input": ""}, "input must not be empty"),
        ("responses", {"instructions": "", "input": [{"role": "user", "content": ""}]}, "input has no content"),
        *(
            (wire, {"messages": [{"role": "user", "content": content}]}, "each part must be a string or an object")
            for wire in ("chat", "messages")
            for content in ([1], {"found": "a.py"}, [{"found": "a.py"}])
        ),
    ],
)
def test_what_is_wrong_is_said_in_words_of_the_api(wire: str, fields: Any, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        BY_NAME[wire].understood({**BODIES[wire], **fields}, ReadingContext(Seal(bytes(32)), KeptReplies()))


def test_a_part_that_is_null_is_none_and_an_unknown_one_is_mentioned() -> None:
    content = [None, "a", {"text": "b"}, {"type": "hologram"}]
    body = {**BODIES["chat"], "messages": [{"role": "user", "content": content}]}
    request = BY_NAME["chat"].understood(body, ReadingContext(Seal(bytes(32)), KeptReplies()))
    *texts, mention = [block.text for block in request.messages[0].content if isinstance(block, TextBlock)]
    assert texts == ["a", "b"] and "hologram" in mention
