"""What real clients sent is understood: every tool found, nothing refused, the history in the model's own words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from gateway_kit import RecordedRequest, client_of, recorded, requests_of, upstream
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest
from joey.gateway.seal import Seal
from joey.gateway.server import WIRES
from joey.gateway.wires.base import ReadingContext
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import get, parse
from joey.task.history import HistoryEncoder

PROTOCOLS = ("json_mix", "xml", "morph_xml", "hermes", "qwen3_coder", "glm45", "mistral_v11", "harmony")
HOSTED = ("web_search", "namespace")


def has_thread(request: RecordedRequest) -> bool:
    return bool(request.body and request.body.get("thread"))


POSTED = [each for each in recorded() if each.method == "POST"]
UNDERSTOOD = [each for each in POSTED if not has_thread(each)]


def understood(request: RecordedRequest) -> ClientRequest:
    path = request.path.partition("?")[0].removeprefix("/v1").removesuffix("/count_tokens")
    (wire,) = [wire for wire in WIRES if wire.path == path]
    return wire.understood(request.body, ReadingContext(Seal(b"secret"), KeptReplies()))


def names_in(tools: Any) -> Iterator[str]:
    """The tools that a client runs itself, found without the gateway's reading."""
    for tool in tools or ():
        if tool.get("type") == "namespace":
            yield from names_in(tool["tools"])
        elif tool.get("type") not in HOSTED and tool.get("name") != "DeferredToolPlaceholder":
            yield (tool.get("function") or tool)["name"]


@pytest.mark.parametrize("request_", UNDERSTOOD, ids=str)
def test_every_tool_of_a_recorded_request_is_found(request_: RecordedRequest) -> None:
    listed = list(names_in(request_.body.get("tools")))
    for item in request_.body.get("input") or ():
        listed += names_in(item["tools"]) if isinstance(item, dict) and item.get("type") == "additional_tools" else ()
    assert [tool.name for tool in understood(request_).tools.tools] == listed
    assert listed or request_.file in ("aider", "opencode", "claude-code-count-tokens", "ai-sdk", "openai-python")


@pytest.mark.parametrize("request_", recorded(), ids=str)
async def test_no_recorded_request_is_refused_but_threads_rightly(request_: RecordedRequest) -> None:
    answer = '{"city": "x"}' if "tool_choice" not in (request_.body or {}) else "All done."
    forced = understood(request_).callable_tools.tools if request_ in UNDERSTOOD else ()
    if forced and understood(request_).choice.mode in ("required", "one"):
        answer = f'<tool_call>{{"name": "{forced[0].flat}", "arguments": {{"city": "x"}}}}</tool_call>'
    async with client_of(upstream(answer)) as client:
        headers = {"user-agent": request_.headers.get("user-agent", "test")}
        got = await client.request(request_.method, request_.path, json=request_.body, headers=headers)
    if has_thread(request_):
        assert got.status_code == 400
        assert got.json()["error"]["details"] == {
            "error_code": "thread_unsupported_request",
            "unsupported": ["thread"],
        }
    else:
        assert got.status_code == 200, got.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("request_", UNDERSTOOD, ids=str)
def test_the_history_is_written_in_the_protocol_and_reads_back_the_same(
    request_: RecordedRequest, protocol: str
) -> None:
    request = understood(request_)
    calls = [block for each in request.messages for block in each.content if isinstance(block, ToolUseBlock)]
    if not calls:
        return
    specs = request.tools.specs
    written = [
        "".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in HistoryEncoder(get(protocol)).encode(request.messages, specs)
        if message.role == "assistant"
    ]
    read = [call for text in written for call in parse(text, protocol=protocol, tools=specs).calls]
    assert [(call.name, call.arguments) for call in read] == [(call.name, call.arguments) for call in calls]


TURNS = [
    (first, second)
    for first, second in itertools.pairwise(UNDERSTOOD)
    if first.file == second.file
    and understood(second).messages[: len(understood(first).messages)] == understood(first).messages
    and len(understood(second).messages) > len(understood(first).messages)
]


@pytest.mark.parametrize(("first", "second"), TURNS, ids=str)
async def test_the_next_turn_begins_with_the_bytes_of_the_last_one(
    first: RecordedRequest, second: RecordedRequest
) -> None:
    model = upstream("Done.", "Done.")
    async with client_of(model) as client:
        for each in (first, second):
            assert (await client.post(each.path, json=each.body)).status_code == 200
    one, other = requests_of(model)
    assert other.system == one.system
    assert other.messages[: len(one.messages)] == one.messages
    assert len(TURNS) > 20
