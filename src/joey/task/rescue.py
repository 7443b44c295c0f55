"""Calls that a model wrote into its text although it should have made them natively.

Small and self-hosted models do this: the server has no parser for their dialect, or they fall back to one they know.
A reply without a native call is read once more with each of our text protocols. Only complete calls of known tools
count, and only where the protocol that finds them finds no fault. Code fences are prose: a model that explains a call
is not making one.
"""

from __future__ import annotations

from collections.abc import Sequence

from joey import protocols
from joey.events import TextDelta, ToolCallFinished
from joey.protocols import collect
from joey.toolspec import ToolSpec

DIALECTS = ("xml", "json_mix", "morph_xml")


def calls_in_text(text: str, tools: Sequence[ToolSpec]) -> tuple[ToolCallFinished, ...]:
    """The calls the first dialect finds that reads the text without a fault; none if there are none."""
    if "<" not in text or not tools:
        return ()
    known = {tool.name for tool in tools}
    for name in DIALECTS:
        parser = protocols.get(name).parser(tools)
        events = parser.feed(_without_fences(text)) + parser.finish()
        if collect(events).errors:
            continue
        calls = tuple(event for event in events if isinstance(event, ToolCallFinished))
        if calls and all(call.name in known and isinstance(call.arguments, dict) for call in calls):
            return calls
    return ()


def _without_fences(text: str) -> str:
    kept, fenced = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            kept.append(line)
    return "".join(kept)


def text_around(text: str, tools: Sequence[ToolSpec]) -> str:
    """The text without the calls in it, for the message that stands in the history."""
    for name in DIALECTS:
        parser = protocols.get(name).parser(tools)
        events = parser.feed(text) + parser.finish()
        if any(isinstance(event, ToolCallFinished) for event in events):
            return "".join(event.text for event in events if isinstance(event, TextDelta)).strip()
    return text
