from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.events import (
    StreamEvent,
    StreamFinished,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    UsageReported,
)
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import ParseError, Reply, collect, get
from joey.protocols.native import NativeParser
from joey.testing import check_laws, cut_at, cuttings, read
from joey.toolspec import ToolSpec

TOOLS = [ToolSpec(name) for name in ("read_file", "write_to_file", "ask", "ask_followup_question")]


def parser(tools: list[ToolSpec] | None = None) -> NativeParser:
    made = get("native").parser(TOOLS if tools is None else tools)
    assert isinstance(made, NativeParser)
    return made


def run(*chunks: Chunk, tools: list[ToolSpec] | None = None) -> Reply:
    events = read(parser(tools), chunks)
    check_laws(events)
    return collect(events)


def calls(*chunks: Chunk) -> list[tuple[str, str, Any]]:
    reply = run(*chunks)
    assert not reply.malformed
    return [(call.call_id, call.name, call.arguments) for call in reply.calls]


def piece(
    index: int | None, call_id: str | None = None, name: str | None = None, arguments: str | None = None
) -> Chunk:
    return ToolCallChunk(index, call_id, name, arguments)


# Live


def test_a_call_is_seen_growing() -> None:
    native = parser()
    assert native.feed(piece(0, "t1", "write_to_file", "")) == [ToolCallStarted("t1", "write_to_file")]
    assert native.feed(piece(0, None, None, '{"path": "a", "file')) == [
        ToolCallDelta("t1", ("path",), "a", '{"path": "a", "file')
    ]
    assert native.feed(piece(0, None, None, '_text": "x\\')) == [
        ToolCallDelta("t1", ("file_text",), "x", '_text": "x\\')
    ]
    assert native.arguments("t1") == {"path": "a", "file_text": "x"}
    assert native.feed(piece(0, None, None, 'ny"}')) == [ToolCallDelta("t1", ("file_text",), "\ny", 'ny"}')]
    finished, end = native.finish()
    assert isinstance(finished, ToolCallFinished)
    assert finished.arguments == {"path": "a", "file_text": "x\ny"}
    assert end == StreamFinished("tool_calls")
    assert native.arguments("t1") == finished.arguments


def test_text_is_closed_before_a_call_and_keeps_its_place_after_it() -> None:
    reply = run(
        TextChunk("before "), TextChunk("it"), piece(0, "t1", "read_file", '{"path":"a"}'), TextChunk("after it")
    )
    assert reply.content == (
        TextBlock("before it"),
        ToolUseBlock("t1", "read_file", {"path": "a"}),
        TextBlock("after it"),
    )


def test_usage_and_stop_reasons_come_through() -> None:
    events = read(parser(), [UsageChunk(5, 6, 7, 8), StopChunk("refusal", "content_filter")])
    assert events == [UsageReported(5, 6, 7, 8), StreamFinished("refusal", "content_filter")]


def test_reasoning_between_the_pieces_of_a_call_does_not_end_it() -> None:
    reply = run(
        ReasoningChunk("hm"),
        piece(0, "t1", "read_file", '{"path":'),
        ReasoningChunk("let me see", "signed"),
        piece(0, None, None, '"a"}'),
    )
    assert [call.arguments for call in reply.calls] == [{"path": "a"}]


# Which call a chunk belongs to


def test_interleaved_parallel_calls_stay_apart() -> None:
    assert calls(
        piece(0, "t1", "read_file"),
        piece(1, "t2", "write_to_file"),
        piece(0, None, None, '{"path":'),
        piece(1, None, None, '{"path":"w",'),
        piece(0, None, None, '"r"}'),
        piece(1, None, None, '"file_text":""}'),
    ) == [("t1", "read_file", {"path": "r"}), ("t2", "write_to_file", {"path": "w", "file_text": ""})]


def test_a_second_id_on_the_same_index_starts_a_new_call() -> None:
    assert calls(piece(0, "t1", "read_file", '{"path":"a"}'), piece(0, "t2", "read_file", '{"path":"b"}')) == [
        ("t1", "read_file", {"path": "a"}),
        ("t2", "read_file", {"path": "b"}),
    ]


def test_whole_calls_without_ids_or_indexes_are_each_a_call() -> None:
    same = piece(None, None, "read_file", '{"path":"a"}')
    assert calls(same, same) == [
        ("call_1", "read_file", {"path": "a"}),
        ("call_2", "read_file", {"path": "a"}),
    ]


def test_pieces_without_ids_or_indexes_go_to_the_newest_call() -> None:
    assert calls(
        piece(None, None, "read_file"), piece(None, None, None, '{"path":'), piece(None, None, None, '"a"}')
    ) == [("call_1", "read_file", {"path": "a"})]


def test_every_call_at_index_zero_without_ids_is_told_apart_by_its_name() -> None:
    assert calls(piece(0, None, "read_file", '{"path":"a"}'), piece(0, None, "read_file", '{"path":"b"}')) == [
        ("call_1", "read_file", {"path": "a"}),
        ("call_2", "read_file", {"path": "b"}),
    ]


def test_ids_without_indexes_are_enough() -> None:
    assert calls(
        piece(None, "a", "read_file", '{"path":'),
        piece(None, "b", "read_file", '{"path":"2"'),
        piece(None, "a", None, '"1"}'),
        piece(None, "b", None, "}"),
    ) == [("a", "read_file", {"path": "1"}), ("b", "read_file", {"path": "2"})]


def test_a_repeated_id_at_another_index_is_a_call_of_its_own() -> None:
    assert calls(piece(0, "same", "read_file", '{"path":"a"}'), piece(1, "same", "read_file", '{"path":"b"}')) == [
        ("same", "read_file", {"path": "a"}),
        ("same_2", "read_file", {"path": "b"}),
    ]


def test_an_id_may_come_later() -> None:
    assert calls(piece(0, None, None, '{"path":'), piece(0, "late", "read_file", '"a"}')) == [
        ("late", "read_file", {"path": "a"})
    ]


# Names


def test_arguments_before_the_name_wait_for_it() -> None:
    events = read(parser(), [piece(0, "t", None, '{"path":'), piece(0, None, "read_file", '"a"}')])
    assert events[0] == ToolCallStarted("t", "read_file")
    check_laws(events)
    assert collect(events).calls[0].arguments == {"path": "a"}


def test_a_name_in_pieces_is_put_together() -> None:
    assert calls(
        piece(0, "t", "ask"), piece(0, None, "_followup"), piece(0, None, "_question"), piece(0, None, None, "{}")
    ) == [("t", "ask_followup_question", {})]


def test_a_name_that_begins_another_name_waits_for_the_arguments() -> None:
    native = parser()
    assert native.feed(piece(0, "t", "ask")) == []
    assert native.feed(piece(0, None, None, "{}"))[0] == ToolCallStarted("t", "ask")


def test_a_repeated_name_is_the_same_name() -> None:
    assert calls(
        piece(0, "t", "read_file"), piece(0, "t", "read_file", '{"path":'), piece(0, "t", "read_file", '"a"}')
    ) == [("t", "read_file", {"path": "a"})]


def test_a_call_that_never_shows_a_name_is_reported_not_lost() -> None:
    reply = run(piece(0, "t", None, '{"path":"a"}'))
    assert reply.content == (TextBlock('{"path":"a"}'),)
    [call] = reply.malformed
    assert (call.name, call.source, call.message) == (None, '{"path":"a"}', "a tool call came without a name")


# Arguments


@pytest.mark.parametrize("arguments", ["", "  ", "{}", None, "null"])
def test_empty_arguments_mean_an_empty_object(arguments: str | None) -> None:
    assert calls(piece(0, "t", "read_file", arguments)) == [("t", "read_file", {})]


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"path": "he', '{"path": "hello", "file_text": "Wo', '{"path": "hello", "file_text": "World"}'],
        ['{"', '{"path', '{"path":', '{"path": "hello", "file_text": "World"}'],
        ['{"path":', '{"path": "hello"', '{"path": "hello", "file_text": "World"}'],
        ['{"path": "hello", ', '"file_text": "World"}', '{"path": "hello", "file_text": "World"}'],
        ['{"path": "hello", "file_text": "World"}'] * 3,
    ],
    ids=["growing", "from the first quote", "after a colon", "pieces, then the whole", "the whole, thrice"],
)
def test_a_provider_that_sends_the_whole_text_again_is_not_doubled(pieces: list[str]) -> None:
    chunks = [piece(0, "t", "write_to_file")] + [piece(0, None, None, text) for text in pieces]
    assert calls(*chunks) == [("t", "write_to_file", {"path": "hello", "file_text": "World"})]


def test_arguments_that_repeat_themselves_are_not_taken_for_sent_again() -> None:
    for text in ('{"a":{"a":{"a":1}}}', '{"{":{"{":"{"}}'):
        for cut in range(1, len(text)):
            pieces = [piece(0, None, None, part) for part in cut_at(text, [cut])]
            assert calls(piece(0, "t", "f"), *pieces) == [("t", "f", json.loads(text))]


@pytest.mark.parametrize(
    ("arguments", "expected", "repair"),
    [
        ('{"path": "a",}', {"path": "a"}, "a comma before a closing bracket"),
        ('{"path": "a\nb\tc"}', {"path": "a\nb\tc"}, "control characters in a string"),
        ("{'path': 'it\\'s \"a\"', 'n': True}", {"path": 'it\'s "a"', "n": True}, "Python quotes and words"),
        ('```json\n{"path": "a"}\n```', {"path": "a"}, "a code fence around the arguments"),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}, "the arguments were a JSON string"),
    ],
)
def test_a_certain_repair_is_made_and_named(arguments: str, expected: Any, repair: str) -> None:
    for pieces in cuttings(arguments, seed=1):
        reply = run(piece(0, "t", "read_file"), *(piece(0, None, None, part) for part in pieces))
        (call,) = reply.calls
        assert call.arguments == expected
        assert any(repair in note for note in call.repairs)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"path": "a', "the JSON is not closed"),
        ('{"path": "a"', "the JSON is not closed"),
        ('{"path": "a",', "the JSON is not closed"),
        ("{'path': 'a", "expected a key in double quotes"),
        ('```json\n{"path": "a"\n```', "expected a value"),
        ('{"a":1}{"b":2}', "expected nothing more at character 7"),
        ('{"a": it is}', "expected a value, got 'it'"),
        ("[1, 2]", "must be a JSON object, got an array"),
        ('"text"', "must be a JSON object, got a string"),
        ("5", "must be a JSON object, got a number"),
        ('{"a": ' * 300, "nested deeper than 200 levels"),
    ],
)
def test_what_is_not_certain_is_malformed_and_stands_as_text(arguments: str, reason: str) -> None:
    for pieces in cuttings(arguments, seed=2):
        reply = run(piece(0, "t", "write_to_file"), *(piece(0, None, None, part) for part in pieces))
        assert reply.content == (TextBlock(arguments),)
        (error,) = reply.malformed
        assert reason in error.message
        assert "write_to_file" in error.message


def test_a_call_cut_by_the_length_limit_is_never_finished() -> None:
    for arguments in ('{"path": "a", "file_text": "half', '{"path": "a"}', ""):
        reply = run(piece(0, "t", "write_to_file", arguments), StopChunk("length"))
        assert not reply.calls
        assert "length limit" in reply.malformed[0].message
        assert reply.stop == "length"


def test_calls_before_the_one_that_was_cut_are_whole() -> None:
    reply = run(
        piece(0, "t1", "read_file", '{"path":"a"}'), piece(1, "t2", "read_file", '{"path":"'), StopChunk("length")
    )
    assert [call.call_id for call in reply.calls] == ["t1"]
    assert len(reply.malformed) == 1


def test_a_call_followed_by_text_was_not_the_one_that_was_cut() -> None:
    reply = run(piece(0, "t1", "read_file", '{"path":"a"}'), TextChunk("and so"), StopChunk("length"))
    assert [call.call_id for call in reply.calls] == ["t1"]


def test_on_error_gets_what_went_wrong() -> None:
    reported: list[ParseError] = []
    native = get("native").parser([], on_error=reported.append)
    read(native, [piece(0, "t", "f", "{")])
    assert [error.segment for error in reported] == ["{"]


# Laws

ARGUMENTS = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@pytest.mark.property
@given(arguments=ARGUMENTS, cuts=st.lists(st.integers(0, 300), max_size=8), ascii_only=st.booleans())
def test_any_arguments_come_back_from_any_cuts(arguments: Any, cuts: list[int], ascii_only: bool) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    events = read(parser(), [piece(0, "t", "f"), *(piece(0, None, None, part) for part in cut_at(text, cuts))])
    check_laws(events)
    assert collect(events).content == (ToolUseBlock("t", "f", arguments),)
    for key, value in arguments.items():
        if isinstance(value, str):
            grown = [e.text for e in events if isinstance(e, ToolCallDelta) and e.path == (key,)]
            assert "".join(grown) == value


@pytest.mark.property
@given(
    chunks=st.lists(
        st.builds(
            ToolCallChunk,
            st.none() | st.integers(0, 2),
            st.none() | st.sampled_from(["", "a", "b"]),
            st.none() | st.sampled_from(["", "read_file", "ask", "x"]),
            st.none() | st.text(alphabet="{}\":,ab\\u'n ", max_size=6),
        )
        | st.builds(TextChunk, st.text(max_size=3))
        | st.builds(StopChunk, st.sampled_from(["length", "tool_calls"])),
        max_size=12,
    )
)
def test_any_chunks_keep_the_laws_and_lose_no_argument_text(chunks: list[Chunk]) -> None:
    events = read(parser(), chunks)
    check_laws(events)
    written = "".join(e.text for e in events if isinstance(e, TextDelta))
    assert written == "".join(c.text for c in chunks if isinstance(c, TextChunk))
    for event in events:
        if isinstance(event, ToolCallMalformed):
            assert event.message


def test_a_thousand_parsers_at_once_do_not_know_of_each_other() -> None:
    rng = random.Random(7)
    parsers = [parser() for _ in range(1000)]
    texts = [json.dumps({"path": f"file {n}", "n": n}) for n in range(1000)]
    events: list[list[StreamEvent]] = [list(p.feed(piece(0, "t", "read_file"))) for p in parsers]
    left = [cut_at(text, [5, 9, 14]) for text in texts]
    while any(left):
        n = rng.choice([n for n in range(1000) if left[n]])
        events[n] += parsers[n].feed(piece(0, None, None, left[n].pop(0)))
    for n, native in enumerate(parsers):
        assert collect(events[n] + native.finish()).calls[0].arguments == {"path": f"file {n}", "n": n}


def test_a_long_argument_takes_no_more_than_three_times_its_size() -> None:
    size = 400_000
    text = json.dumps({"file_text": ('x = "y"\n' * (size // 8))[:size]})
    pieces = cut_at(text, range(0, len(text), 4))
    tracemalloc.start()
    native = parser()
    native.feed(piece(0, "t", "write_to_file"))
    for part in pieces:
        native.feed(piece(0, None, None, part))
    native.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * size


def test_nameless_calls_with_one_id_get_ids_of_their_own() -> None:
    events = read(NativeParser(TOOLS), [ToolCallChunk(1, "a"), ToolCallChunk(0, "a")])
    check_laws(events)
    assert [event.call_id for event in events if isinstance(event, ToolCallMalformed)] == ["a", "a_2"]
