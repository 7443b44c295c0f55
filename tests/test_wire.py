from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey import events, task_events
from joey.chunks import CHUNKS, ToolCallChunk
from joey.errors import WireError
from joey.events import STREAM_EVENTS, ToolCallDelta, ToolCallStarted
from joey.messages import BLOCKS, MESSAGES, TOOL_RESULTS, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.wire import Codec, encode, tag

CODECS = (STREAM_EVENTS, CHUNKS, BLOCKS, MESSAGES, TOOL_RESULTS)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(alphabet=st.characters(), max_size=20),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    types.NoneType: st.none(),
    Any: JSON_VALUES,
}


def anything(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of a field with this annotation."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in SCALARS:
        return SCALARS[annotation]
    if origin in (Union, types.UnionType):
        return st.one_of(*map(anything, args))
    if origin is tuple:
        return st.lists(anything(args[0]), max_size=3).map(tuple)
    if origin is Literal:
        return st.sampled_from(args)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text(), JSON_VALUES, max_size=3)
    return instances(annotation)


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Any instance of a dataclass, drawn from its annotations."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: anything(hints[field.name]) for field in dataclasses.fields(cls)})


@pytest.mark.property
@pytest.mark.parametrize(
    ("codec", "cls"),
    [(codec, cls) for codec in CODECS for cls in codec.classes],
    ids=lambda each: getattr(each, "__name__", ""),
)
@given(data=st.data())
def test_everything_comes_back_from_json_as_it_was(codec: Codec, cls: type, data: st.DataObject) -> None:
    value = data.draw(instances(cls))
    assert codec.decode(json.loads(json.dumps(encode(value)))) == value


def test_tags_are_class_names_in_snake_case() -> None:
    assert tag(ToolCallStarted) == "tool_call_started"
    assert tag(TextBlock) == "text"


def test_an_event_comes_back_from_json_as_it_was() -> None:
    event = ToolCallDelta("call_1", ("args", 0, "path"), "a\ud83d", '"a\\ud83d', literal=False)
    assert STREAM_EVENTS.decode(json.loads(json.dumps(encode(event)))) == event


def test_nested_blocks_come_back_from_json_as_they_were() -> None:
    message = Message(
        "user",
        (
            ToolResultBlock("t1", (TextBlock("ok"), ImageBlock("image/png", "AA=="))),
            ToolUseBlock("t2", "f", {"a": [1, None]}),
        ),
    )
    assert MESSAGES.decode(json.loads(json.dumps(encode(message)))) == message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"type": "nonsense"}, "unknown type 'nonsense'; known: image"),
        ({"type": "text"}, "text needs a 'text'"),
        ({"type": "text", "text": 5}, "text.text: expected a string, got an integer (5)"),
        ({"type": "text", "text": "a", "bold": True}, "text has no field 'bold'; it has: text"),
        (["text"], "expected a JSON object"),
    ],
)
def test_a_wrong_document_is_refused_with_what_was_expected(data: object, complaint: str) -> None:
    with pytest.raises(WireError) as error:
        BLOCKS.decode(data)
    assert complaint in str(error.value)


def test_a_boolean_is_no_integer() -> None:
    with pytest.raises(WireError, match="expected an integer"):
        CHUNKS.decode({"type": "tool_call_chunk", "index": True})
    assert CHUNKS.decode({"type": "tool_call_chunk", "index": 1}) == ToolCallChunk(1)


def test_events_has_the_events_of_tasks_and_nothing_that_their_module_imports() -> None:
    named = [
        alias.name
        for node in ast.walk(ast.parse(inspect.getsource(events)))
        if isinstance(node, ast.ImportFrom) and node.module == "joey.task_events"
        for alias in node.names
    ]
    assert events.TaskFinished.__module__ == "joey.task_events"
    assert [name for name in named if getattr(events, name) is not getattr(task_events, name)] == []
    defined = {
        name for name, value in vars(task_events).items() if getattr(value, "__module__", "") == "joey.task_events"
    }
    assert defined <= {*named}
    for name in ("Scope", "Todo", "Suggestion", "Literal", "field", "ImageBlock", "ToolResult"):
        assert hasattr(task_events, name) and not hasattr(events, name), name
