from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.chunks import ReasoningChunk, StopChunk
from joey.errors import UsageError
from joey.events import StreamFinished
from joey.messages import ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import ParseError, Reply, collect, get
from joey.protocols.tool_choice import ToolChoiceProtocol
from joey.testing.streams import by_character, check_laws, cut_at, read, whole
from joey.toolspec import ToolSpec
from vectors_data import cases


def outcome(pieces: list[Any], text: str) -> tuple[Reply, list[ParseError]]:
    errors: list[ParseError] = []
    events = read(ToolChoiceProtocol().parser((), on_error=errors.append), pieces)
    check_laws(events, text)
    return collect(events), errors


def test_recorded_answers_are_ours() -> None:
    for case in cases("ai-sdk-tool/tool_choice"):
        for pieces in (whole(case["text"]), by_character(case["text"])):
            reply, errors = outcome(pieces, case["text"])
            # What they make a call without arguments is for us a call that must not run.
            made: list[tuple[str | None, Any]] = [(call.name, call.arguments) for call in reply.calls]
            made += [(call.name, {}) for call in reply.malformed]
            [(name, arguments)] = made
            got = [{"type": "tool_call", "name": name, "input": arguments}]
            assert bool(errors) is bool(reply.malformed), case["id"]
            assert {"content": got, "errors": len(errors)} == case["expected"], case["id"]
            assert reply.stop == "tool_calls"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not JSON: expected a value at character 0, got the end"),
        ("[1]", "must be an object, got [1]"),
        ("null", "must be an object, got null"),
        ('{"name": "f", "arguments": {"a": 1e999}}', "a number that is too large"),
        ('{"name": "f", "arguments": [1]}', "the arguments of a forced tool call must be an object, got [1]"),
    ],
)
def test_what_is_wrong_is_reported_and_no_call_runs(text: str, complaint: str) -> None:
    reply, (error,) = outcome([text], text)
    assert not reply.calls and complaint in reply.malformed[0].message
    assert complaint in error.message
    assert error.segment == text


def test_a_call_without_arguments_is_no_mistake() -> None:
    reply, errors = outcome(['{"name": "noop"}'], '{"name": "noop"}')
    assert reply.content == (ToolUseBlock("call_1", "noop", {}),)
    assert reply.stop == "tool_calls" and not reply.malformed and not errors


def test_only_the_first_text_block_is_the_call() -> None:
    pieces = [ReasoningChunk("hm"), '{"name": "f"', "}", ReasoningChunk("so"), "and words"]
    reply, errors = outcome(pieces, '{"name": "f"}and words')
    call = ToolUseBlock("call_1", "f", {})
    assert reply.content == (ReasoningBlock("hm"), call, ReasoningBlock("so"), TextBlock("and words"))
    assert errors == []


def test_a_reply_that_was_cut_off_says_so() -> None:
    events = read(ToolChoiceProtocol().parser(()), ['{"name": "f', StopChunk("length", "max_tokens")])
    assert events[-1] == StreamFinished("length", "max_tokens")


def test_arguments_are_available_when_the_call_is_there() -> None:
    parser = ToolChoiceProtocol().parser(())
    parser.feed('{"name": "f", "arguments": {"a": 1}}')
    with pytest.raises(UsageError, match="no call 'call_1' in this reply yet"):
        parser.arguments("call_1")
    parser.finish()
    assert parser.arguments("call_1") == {"a": 1}


def test_the_description_names_the_one_tool_or_offers_all() -> None:
    protocol = get("tool_choice")
    read_file = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
    assert "calling the tool read_file." in protocol.describe([read_file])
    assert "one of the tools below" in protocol.describe([read_file, ToolSpec("noop")])
    assert protocol.describe([]) == ""
    assert "read_file" in protocol.reminder([read_file])
    (block,) = protocol.encode_results([ToolResultBlock("1", (TextBlock("ok"),))])
    assert block == TextBlock('<tool_response>{"result": "ok"}</tool_response>')


@pytest.mark.property
@given(st.text() | st.sampled_from(['{"name": 5}', '{"arguments": {', "{}"]), st.lists(st.integers(0, 40), max_size=5))
def test_any_reply_becomes_one_call_however_it_is_cut(text: str, cuts: list[int]) -> None:
    expected = outcome([text], text)
    assert outcome(cut_at(text, cuts), text) == expected
    assert len(expected[0].calls) + len(expected[0].malformed) == 1


@pytest.mark.property
@given(st.text(min_size=1), st.dictionaries(st.text(), st.none() | st.integers() | st.lists(st.text())))
def test_an_encoded_call_comes_back_equal(name: str, arguments: dict[str, Any]) -> None:
    block = ToolChoiceProtocol().encode_call(ToolUseBlock("", name, arguments))
    reply, errors = outcome(by_character(block.text), block.text)
    assert reply.content == (ToolUseBlock("call_1", name, arguments),)
    assert errors == []
