"""What Roo's native parser answered, chunk by chunk.

Roo checks arguments against its tools while it parses; here that is the registry's work. So its events, not its final
blocks, are compared: which calls started, what their arguments were so far after each chunk, and at the end that a
call whose text is JSON is complete with that value, and one whose text is not is refused as Roo refuses it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from joey.chunks import ToolCallChunk
from joey.events import StreamEvent, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.protocols import get
from joey.protocols.native import NativeParser
from joey.testing import check_laws
from vectors_data import cases

BETTER = {
    "shape-008": "a second id on the same index is a second call, not more text of the first (GAP L7)",
    "shape-011": "a provider that sends no id still made a call; it gets an id of ours",
    "invalid_json-014": "white space is no arguments",
    "invalid_json-015": "a comma before a closing bracket is repaired (GAP L8)",
    "invalid_json-017": "single quotes are repaired",
    "invalid_json-018": "single quotes are repaired",
    "invalid_json-025": "a code fence around the arguments is taken off",
    "invalid_json-030": "a raw newline in a string is repaired",
    "invalid_json-033": "a byte order mark is ignored",
    "invalid_json-034": "a byte order mark is ignored",
    "invalid_json-045": "null is no arguments",
    "invalid_json-046": "null is no arguments",
}
"""Cases that Joey answers otherwise, and why."""


def chunks(case: Any) -> list[ToolCallChunk]:
    return [ToolCallChunk(c.get("index"), c.get("id"), c.get("name"), c.get("arguments")) for c in case["chunks"]]


def as_parameter(value: Any) -> str:
    """Roo shows what is no string as JSON text."""
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def check_partials(parser: NativeParser, step: Any) -> None:
    for partial in step.get("partials", ()):
        if partial.get("tool_use"):
            snapshot = parser.arguments(partial["id"])
            for name, value in partial["tool_use"]["params"].items():
                assert as_parameter(snapshot[name]) == value


def texts_of_roo(case: Any) -> dict[str, str]:
    """The argument text of each call that Roo started."""
    texts: dict[str, str] = {}
    for event in (event for step in case["steps"] for event in step["events"]):
        if event["type"] == "tool_call_start":
            texts.setdefault(event["id"], "")
        elif event["type"] == "tool_call_delta":
            texts[event["id"]] += event["delta"]
    return texts


def check(case: Any) -> None:
    parser = get("native").parser([])
    assert isinstance(parser, NativeParser)
    events: list[StreamEvent] = []
    for chunk, step in zip(chunks(case), case["steps"], strict=True):
        events += parser.feed(chunk)
        check_partials(parser, step)
    events += parser.finish()
    check_laws(events)
    started = [(e.call_id, e.name) for e in events if isinstance(e, ToolCallStarted)]
    roo = [e for step in case["steps"] for e in step["events"] if e["type"] == "tool_call_start"]
    assert started == [(event["id"], event["name"]) for event in roo]
    ends = {e.call_id: e for e in events if isinstance(e, (ToolCallFinished, ToolCallMalformed))}
    for call_id, text in texts_of_roo(case).items():
        check_end(ends[call_id], text)


def check_end(end: ToolCallFinished | ToolCallMalformed, text: str) -> None:
    assert end.source == text
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict) and "NaN" not in text:
        assert isinstance(end, ToolCallFinished)
        assert end.arguments == value
        assert not end.repairs
    else:
        assert isinstance(end, ToolCallMalformed)


@pytest.mark.parametrize("case", [c for c in cases("roo/native") if c["id"] not in BETTER], ids=lambda case: case["id"])
def test_calls_and_their_arguments_are_those_roo_saw(case: Any) -> None:
    check(case)


@pytest.mark.parametrize("case", [c for c in cases("roo/native") if c["id"] in BETTER], ids=lambda case: case["id"])
def test_where_roo_is_wrong_joey_is_not(case: Any) -> None:
    with pytest.raises((AssertionError, KeyError)):
        check(case)
