"""What must hold for every stream, whatever is in it and however it is cut."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.events import StreamEvent, ToolCallDelta, ToolCallFinished
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import collect
from joey.protocols.morph_xml.parser import MorphXmlParser
from joey.protocols.morph_xml.protocol import MorphXmlProtocol
from joey.testing.streams import by_character, check_laws, cut_at, read
from joey.toolspec import ToolSpec

MORPH = MorphXmlProtocol()
TOOLS = (
    ToolSpec(
        "write",
        "",
        {
            "properties": {
                "path": {"type": "string"},
                "text": {"type": "string"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "n": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "string"}},
                "o": {"type": "object", "properties": {"text": {"type": "string"}}},
            }
        },
    ),
    ToolSpec("w", "", {"properties": {"w": {"type": "string"}}}),
    ToolSpec("noop"),
)

_MARKUP = re.findall(
    r"\S+",
    """<write> </write> <path> </path> <text> </text> <kind> </kind> <n> </n> <list> </list> <o> </o> <w> </w>
    <noop/> <text/> </wri <wr </te &lt; &amp &# <![CDATA[ ]]> <!-- --> < > / </ <item> </item> <text_a='1'>""",
)
_TEXTS = st.lists(
    st.sampled_from([*_MARKUP, "<text a='1'>", " ", "\n", "x", "5", "&", ";", '"']) | st.text(max_size=3), max_size=30
).map("".join)
_CUTS = st.lists(st.integers(0, 150), max_size=12)


@pytest.mark.property
@given(_TEXTS, _CUTS)
def test_how_a_stream_is_cut_changes_nothing(text: str, cuts: list[int]) -> None:
    whole = collect(read(MORPH.parser(TOOLS), [text]))
    for pieces in (by_character(text), cut_at(text, cuts)):
        assert collect(read(MORPH.parser(TOOLS), pieces)) == whole


@pytest.mark.property
@given(_TEXTS, _CUTS)
def test_every_character_is_in_some_event_and_pieces_add_up_to_the_arguments(text: str, cuts: list[int]) -> None:
    events = read(MORPH.parser(TOOLS), cut_at(text, cuts))
    check_laws(events, text)
    for event in events:
        if isinstance(event, ToolCallFinished):
            assert _reported(events, event.call_id) == dict(_leaves((), event.arguments))


def _reported(events: list[StreamEvent], call_id: str) -> dict[Any, Any]:
    """What the deltas of a call said about its arguments, by path."""
    found: dict[Any, Any] = {}
    for event in events:
        if isinstance(event, ToolCallDelta) and event.call_id == call_id and event.path:
            found[event.path] = json.loads(event.text) if event.literal else found.get(event.path, "") + event.text
    return found


def _leaves(path: tuple[Any, ...], value: Any) -> Any:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if children is None:
        yield path, value
        return
    for key, item in children:
        yield from _leaves((*path, key), item)


@pytest.mark.property
@given(st.text())
def test_random_unicode_is_text(text: str) -> None:
    assert collect(read(MORPH.parser(TOOLS), by_character(text))).text == text


# Calls written and read again

_NAMES = st.sampled_from(["path", "content", "items", "tool", "a_b", "x1", "Äpfel", "text"])


def _scalars() -> st.SearchStrategy[tuple[Any, Any]]:
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    return st.one_of(
        st.tuples(st.just({"type": "string"}), st.text() | _TEXTS),
        st.tuples(st.just({"type": ["string", "null"]}), st.none() | st.text()),
        st.tuples(st.just({"anyOf": [{"type": "string"}, {"type": "null"}]}), st.none() | _TEXTS),
        st.tuples(st.just({"type": "integer"}), st.integers()),
        st.tuples(st.just({"type": "number"}), numbers),
        st.tuples(st.just({"anyOf": [{"type": "integer"}, {"type": "null"}]}), st.none() | st.integers()),
        st.tuples(st.just({"type": "boolean"}), st.booleans()),
        st.tuples(st.just({"type": "string", "enum": ["c", " f", "g<"]}), st.sampled_from(["c", " f", "g<"])),
        st.tuples(st.just({"type": "null"}), st.none()),
    )


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    fields = draw(st.dictionaries(_NAMES, inner, max_size=4))
    given_names = [name for name in fields if draw(st.booleans())]
    schema = {"type": "object", "properties": {name: schema for name, (schema, _) in fields.items()}}
    return schema, {name: fields[name][1] for name in given_names}


_LISTS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ({"type": "string"}, st.text() | _TEXTS),
    ({"type": "integer"}, st.integers()),
    ({"type": "boolean"}, st.booleans()),
    ({"type": "array", "items": {"type": "string"}}, st.lists(st.text(), max_size=2)),
    (
        {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
        st.fixed_dictionaries({}, optional={"sku": st.text() | _TEXTS, "qty": st.integers()}),
    ),
]


@st.composite
def _arrays(draw: st.DrawFn) -> tuple[Any, Any]:
    schema, items = draw(st.sampled_from(_LISTS))
    return {"type": "array", "items": schema}, draw(st.lists(items, max_size=4))


_VALUES = st.recursive(_scalars() | _arrays(), _objects, max_leaves=8)


@pytest.mark.property
@given(_objects(_VALUES), _CUTS, st.sampled_from(["", "Before ", "\n"]))
def test_a_call_written_and_read_comes_back_equal(call: tuple[Any, Any], cuts: list[int], before: str) -> None:
    schema, arguments = call
    block = MORPH.encode_call(ToolUseBlock("", "tool", arguments))
    assert isinstance(block, TextBlock)
    reply = collect(read(MORPH.parser([ToolSpec("tool", "", schema)]), cut_at(before + block.text + "!", cuts)))
    assert not reply.malformed
    assert [(found.name, found.arguments) for found in reply.calls] == [("tool", arguments)]
    assert reply.text == before + "!"


# Work


def _work(text: str) -> int:
    parser: MorphXmlParser = MORPH.parser(TOOLS)
    read(parser, cut_at(text, range(0, len(text), 4)))
    return parser.scanned


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("<write><text>", "plain words &amp; entities ", "</text></write>"),
        ("<write><text>", "<p class='x'>html</p>", "</text></write>"),
        ("<write><text>", "</text> again ", "</text></write>"),
        ("<write><text>", "</write> again ", "</text></write>"),
        ("<write><text>", "<text>", "</text></write>"),
        ("<write><text>", " ", "</text></write>"),
        ("<write><text>x</text>", " ", "</write>"),
        ("<write><path ", "a ", "></path></write>"),
        ("", "words < and <tags> and <wr", ""),
        ("", "<write><text>a</write> ", ""),
        ("", "<write>z<text>a</write> ", ""),
        ("<write><text>a</write>", "<write>z<text>a</write> ", "<write><text>a</text></write>"),
        ("", "<write><text>a</text> j </write>", ""),
        ("<write>", "<!-- a > b -->", "</write>"),
        ("<write><!--", " - > ", "--></write>"),
        ("<write><text><![CDATA[", " ]] > ", "]]></text></write>"),
    ],
)
def test_twice_the_text_is_at_most_twice_the_work(before: str, unit: str, after: str) -> None:
    once, twice = _work(before + unit * 1000 + after), _work(before + unit * 2000 + after)
    assert twice <= 2 * once + 200
    assert once <= 12 * len(before + unit * 1000 + after)
