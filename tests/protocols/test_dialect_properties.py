"""The law of the dialects: any call, written and read at any cut, comes back equal, with the dialect's own markers in
its strings; and whatever text comes, no exception, no character lost, the same outcome for every cut."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dialect_fuzz import fuzzed_laws, markers_of
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import collect, get
from joey.protocols.dialects.parser import DialectParser
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.source import Markers, Source
from joey.protocols.dialects.table import DIALECTS
from joey.testing import cut_at, read
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

TOOLS = (
    ToolSpec(
        "save",
        "Save it.",
        {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "path": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "flag": {"type": "boolean"},
                "tags": {"type": "array"},
                "options": {"type": "object"},
                "note": {"type": ["string", "null"]},
            },
        },
    ),
    ToolSpec("ping", "Is it there?"),
)
FUZZ = int(os.environ.get("JOEY_FUZZ") or 0)
EXAMPLES = FUZZ // 100 or 4
INPUTS = FUZZ // 50 or 9
"""The first of the endless row of inputs; `python -m fuzz dialects` reads as many as one likes."""
TYPED_BY_TEXT = ("minicpm5", "functiongemma")
"""Dialects in which the text "null" of a parameter that may be null can only be null."""


def texts(dialect: str) -> SearchStrategy[str]:
    """Text with the dialect's own markers in it, alone on a line or inside one."""
    piece = st.one_of(
        st.sampled_from(markers_of(dialect)),
        st.sampled_from(
            ["\n", "\n\n", " ", "\r\n", "'", '"', "\\", "null", "True", "3", "]]>", "<![CDATA[", "```", "{", "}"]
        ),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    )
    return st.lists(piece, max_size=6).map("".join)


def values(dialect: str) -> SearchStrategy[JsonValue]:
    numbers = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
    leaf = st.none() | st.booleans() | numbers | texts(dialect)
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
    )


KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)


def arguments(dialect: str) -> SearchStrategy[dict[str, JsonValue]]:
    note = st.none() | texts(dialect)
    if dialect in TYPED_BY_TEXT:
        note = note.filter(lambda text: text is None or text.strip() not in ("null", "None"))
    floats = st.floats(allow_nan=False, allow_infinity=False)
    optional = {
        "text": texts(dialect),
        "path": texts(dialect),
        "count": st.integers(-(10**15), 10**15),
        "ratio": floats | st.integers(-1000, 1000),
        "flag": st.booleans(),
        "tags": st.lists(values(dialect), max_size=3),
        "options": st.dictionaries(KEYS, values(dialect), max_size=3),
        "note": note,
    }
    return st.fixed_dictionaries({}, optional=optional)


@pytest.mark.parametrize("name", DIALECTS)
def test_any_call_comes_back_equal(name: str) -> None:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.lists(arguments(name), min_size=1, max_size=2), st.lists(st.integers(0, 400), max_size=5))
    def holds(given_arguments: list[dict[str, JsonValue]], places: list[int]) -> None:
        calls = [ToolUseBlock(f"c{number}", "save", each) for number, each in enumerate(given_arguments)]
        text = protocol.encode_calls(calls, TOOLS).text
        for pieces in ([text], list(text), cut_at(text, places)):
            reply = collect(read(protocol.parser(TOOLS), pieces))
            assert [call.arguments for call in reply.calls] == given_arguments, text
            assert not reply.malformed and all(call.name == "save" for call in reply.calls)

    holds()


@pytest.mark.property
@pytest.mark.parametrize("name", DIALECTS)
def test_whatever_comes_is_read_without_loss(name: str, record_property: Callable[[str, object], None]) -> None:
    assert [wrong for number in range(INPUTS) if (wrong := fuzzed_laws(name, number))] == []
    record_property("random replies read in the dialects", INPUTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_work_grows_with_the_text_and_no_faster(name: str) -> None:
    """Counted, not timed: characters looked at for each character of a long argument, however it is cut."""
    protocol = get(name)
    body = "x = a < b  # </parameter </tool_cal [TOOL_CALL {'a': \"b\"}   \n\n"

    def looked_at(repeats: int) -> float:
        call = ToolUseBlock("c1", "save", {"path": "a.py", "text": body * repeats})
        written = protocol.encode_call(call, TOOLS)
        assert isinstance(written, TextBlock)
        parser = protocol.parser(TOOLS)
        assert isinstance(parser, DialectParser)
        events = read(parser, [written.text[at : at + 4] for at in range(0, len(written.text), 4)])
        assert collect(events).calls[0].arguments == call.arguments
        return parser.scanned / len(written.text)

    small, large = looked_at(4), looked_at(64)
    assert large <= 6 and large <= small * 1.3


SHAPES = (
    "hermes", "llama3_json", "kimi_k2", "deepseek_v3", "functionary_v32", "qwen3_coder", "glm47", "hy_v3", "minimax_m3",
    "deepseek_v4", "kimi_k3", "pythonic", "olmo3", "gemma4", "harmony", "inkling", "muse_glimmer", "beam",
)  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_model_that_repeats_a_marker_for_ever_costs_no_more_for_each(name: str) -> None:
    """Counted in pieces, inside an argument and outside. What is looked at ahead has an end."""
    protocol = get(name)
    call = protocol.encode_call(ToolUseBlock("c1", "save", {"path": "a.py", "text": "HERE"}), TOOLS)
    assert isinstance(call, TextBlock)

    def looked_at(text: str) -> float:
        parser = protocol.parser(TOOLS)
        assert isinstance(parser, DialectParser)
        read(parser, [text[at : at + 7] for at in range(0, len(text), 7)])
        return parser.scanned / len(text)

    for before in ("", call.text.partition("HERE")[0]):
        for marker in markers_of(name):
            few, many = (looked_at(before + marker * (size // len(marker))) for size in (4_000, 16_000))
            assert many <= few * 1.3, (before, marker)


def test_what_lies_out_of_reach_is_not_searched() -> None:
    """A header is short: behind each opener of a long piece only its reach is looked at, not the rest of the piece."""
    looked: list[int] = []

    class Watched(Markers):
        def find(self, text: str, at: int, last: bool) -> tuple[int, str | None]:
            looked.append(len(text) - at)
            return super().find(text, at, last)

        def find_before(self, text: str, at: int, end: int) -> tuple[int, str | None]:
            looked.append(end - at)
            return super().find_before(text, at, end)

    source = Source()
    source.feed("x" * 10_000 + "<end>")
    source.end()
    for _ in source.more():
        raise AssertionError("there is text")
    for wanted in ((100, None), (10_000, "<end>")):
        steps = source.within(Watched(("<end>",)), wanted[0])
        with pytest.raises(StopIteration) as ended:
            next(steps)
        assert ended.value.value[1] == wanted[1]
    assert looked == [105, 10_005]
