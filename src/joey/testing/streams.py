"""One stream, cut in many ways: the outcome must not depend on the cuts.

for pieces in cuttings(text, seed=1):
    assert collect(read(parser(), pieces)) == expected
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from joey.chunks import Chunk
from joey.events import (
    MarkupDelta,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TextFinished,
    TextStarted,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
)
from joey.protocols import Parser

Cutting: TypeAlias = list[str]


def whole(text: str) -> Cutting:
    return [text]


def by_character(text: str) -> Cutting:
    return list(text)


def cut_at(text: str, places: Iterable[int]) -> Cutting:
    """The text cut at these offsets. Empty pieces stay: real streams have them."""
    edges = [0, *sorted(min(max(place, 0), len(text)) for place in places), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def cut_everywhere(text: str) -> Iterator[Cutting]:
    """The text in two pieces, once for every place it can be cut."""
    for place in range(len(text) + 1):
        yield cut_at(text, [place])


def cuttings(text: str, *, seed: int, count: int = 8) -> Iterator[Cutting]:
    """Whole, by character, in fours, and `count` random cuttings, some coarse and some fine."""
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    yield whole(text)
    yield by_character(text)
    yield cut_at(text, range(0, len(text), 4))
    for _ in range(count):
        pieces = rng.randint(1, max(1, min(len(text), rng.choice((3, 8, 60)))))
        yield cut_at(text, [rng.randint(0, len(text)) for _ in range(pieces)])


def read(parser: Parser, pieces: Iterable[str | Chunk]) -> list[StreamEvent]:
    """Every event of a reply that comes in these pieces."""
    events: list[StreamEvent] = []
    for piece in pieces:
        events += parser.feed(piece)
    return events + parser.finish()


def check_laws(events: Sequence[StreamEvent], text: str | None = None, *, with_reasoning: bool = False) -> None:
    """Assert the laws of `joey.events`. With `text`, also that the events of a text protocol put it together again;
    `with_reasoning` says that reasoning was part of that text, as in the dialects."""
    names: dict[str, str] = {}
    raws: dict[str, list[str]] = {}
    ended: set[str] = set()
    text_open = False
    found: list[str] = []
    for event in events:
        if isinstance(event, TextStarted):
            assert not text_open, "a text block started inside a text block"
            text_open = True
        elif isinstance(event, TextDelta):
            assert text_open, "text outside a text block"
            assert event.text, "an empty TextDelta"
            found.append(event.text)
        elif isinstance(event, TextFinished):
            assert text_open, "a text block ended that was not open"
            text_open = False
        elif isinstance(event, MarkupDelta):
            assert event.text, "an empty MarkupDelta"
            found.append(event.text)
        elif isinstance(event, ReasoningDelta):
            assert not text_open, "reasoning inside a text block"
            found += [event.text] if with_reasoning else []
        elif isinstance(event, ToolCallStarted):
            assert not text_open, "a call started inside a text block"
            assert event.call_id not in names, f"call {event.call_id} started twice"
            names[event.call_id] = event.name
            raws[event.call_id] = []
        elif isinstance(event, ToolCallDelta):
            assert event.call_id in names and event.call_id not in ended, "a delta outside its call"
            raws[event.call_id].append(event.raw)
            found.append(event.raw)
        elif isinstance(event, (ToolCallFinished, ToolCallMalformed)):
            assert event.call_id not in ended, f"call {event.call_id} ended twice"
            ended.add(event.call_id)
            if event.call_id in names:
                assert event.name == names[event.call_id], "a call ended under another name"
                assert "".join(raws[event.call_id]) == event.source, "the deltas of a call are not its source"
            else:
                assert isinstance(event, ToolCallMalformed), "a call finished that never started"
                found.append(event.source)
    assert not text_open, "a text block was left open"
    assert set(names) <= ended, f"calls left open: {sorted(set(names) - ended)}"
    if text is not None:
        assert "".join(found) == text, "the events do not put the text together again"
