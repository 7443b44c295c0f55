"""Laws of the xml protocol that must hold for any text, however it is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.chunks import StopChunk
from joey.events import StreamEvent, ToolCallDelta, ToolCallFinished
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import collect
from joey.protocols.xml.protocol import XmlProtocol
from joey.testing import check_laws, cut_at, read
from joey.toolspec import ToolSpec
from random_tools import TRICKY, calls

XML = XmlProtocol()
TOOLS = [
    ToolSpec(
        "write_to_file", "", {"properties": {"path": {"type": "string"}, "file_text": {}}}, {"content": "file_text"}
    ),
    ToolSpec("run", "", {"properties": {"command": {"type": "string"}, "run": {"type": "string"}}}),
    ToolSpec(
        "read",
        "",
        {
            "properties": {
                "args": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}},
                },
                "limit": {"type": "integer"},
                "note": {"type": ["string", "null"]},
            }
        },
    ),
]
TAGS = [
    f"<{slash}{name}>"
    for name in (
        "write_to_file",
        "run",
        "read",
        "path",
        "content",
        "file_text",
        "command",
        "args",
        "limit",
        "note",
        "n",
    )
    for slash in ("", "/")
]
SNIPPETS = (
    "<run>\n<command>ls -la</command>\n</run>\n",
    "<write_to_file>\n<path>a.py</path>\n<content>\nx = '</content>'\n</content>\n</write_to_file>\n",
    "<read><args><file><path>a</path><n>3</n></file></args><limit>7</limit></read>",
    '<json_parameter name="limit">7</json_parameter>',
    '<json_parameter name="li',
    "</content>\n\n  <path>",
    "```xml\n",
    "~~~\n",
    "> ",
    "``",
)
pieces = st.sampled_from(TAGS) | st.sampled_from(SNIPPETS) | st.sampled_from(TRICKY) | st.text(max_size=6)
replies = st.lists(pieces, max_size=25).map("".join) | st.text(alphabet="<>/`~ \nrunapth", max_size=80) | st.text()
cuts = st.lists(st.integers(0, 400), max_size=30)


def _read(chunks: list[str]) -> list[StreamEvent]:
    return read(XML.parser(TOOLS), chunks)


@pytest.mark.property
@given(replies, cuts)
def test_any_cut_gives_the_same_content_and_loses_nothing(text: str, places: list[int]) -> None:
    whole = _read([text])
    cut = _read(cut_at(text, places))
    single = _read(list(text))
    for events in (whole, cut, single):
        check_laws(events, text)
    assert collect(whole) == collect(cut) == collect(single)


@pytest.mark.property
@given(replies, cuts)
def test_the_deltas_of_a_finished_call_are_its_arguments(text: str, places: list[int]) -> None:
    events = _read(cut_at(text, places))
    for call in events:
        if isinstance(call, ToolCallFinished) and not call.repairs and _opens_each_once(call):
            assert _gather(events, call.call_id) == dict(_flat(call.arguments))


@pytest.mark.property
@given(replies, st.integers(0, 200))
def test_a_reply_cut_short_never_finishes_a_call_that_its_whole_does_not(text: str, end: int) -> None:
    cut = read(XML.parser(TOOLS), [text[:end], StopChunk("length")])
    check_laws(cut, text[:end])
    finished = [event for event in _read([text]) if isinstance(event, ToolCallFinished)]
    short = [event for event in cut if isinstance(event, ToolCallFinished)]
    assert short == finished[: len(short)]


@pytest.mark.property
@given(calls(), cuts, st.booleans())
def test_an_encoded_call_reads_back_equal(
    call: tuple[ToolSpec, dict[str, Any]], places: list[int], known: bool
) -> None:
    tool, arguments = call
    block = XML.encode_call(ToolUseBlock("", tool.name, arguments), [tool] if known else [])
    assert isinstance(block, TextBlock)
    text = f"Here it is.\n{block.text}\nDone."
    events = read(XML.parser([tool]), cut_at(text, places))
    check_laws(events, text)
    [found] = collect(events).calls
    assert found.name == tool.name
    assert json.dumps(found.arguments, sort_keys=True) == json.dumps(arguments, sort_keys=True)
    assert not found.repairs


def _opens_each_once(call: ToolCallFinished) -> bool:
    """Whether no argument was given twice, in which case the deltas hold both."""
    source = call.source
    return all(source.count(f"<{tag}>") <= 1 for tag in ("path", "command", "run", "args", "limit", "note", "n")) and (
        source.count("<content>") + source.count("<file_text>") <= 1 and "<json_parameter" not in source
    )


def _gather(events: list[StreamEvent], call_id: str) -> dict[Any, str]:
    grown: dict[Any, str] = {}
    for event in events:
        if isinstance(event, ToolCallDelta) and event.call_id == call_id and event.text:
            grown[event.path] = grown.get(event.path, "") + event.text
    return grown


def _flat(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """The leaves of the arguments, as the deltas show them; empty strings show nothing."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is not None:
        for key, item in members:
            yield from _flat(item, (*path, key))
    elif value != "":
        yield path, value if isinstance(value, str) else json.dumps(value)
