"""Random replies in a dialect: its markers, pieces of good calls, and noise, in any order."""

from __future__ import annotations

import random
from functools import cache

from dialect_cases import cases_of, dialect_names
from joey.messages import ToolUseBlock
from joey.protocols import collect, get
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.spec import Channels, Function, NamedJson, Tagged
from joey.protocols.dialects.table import DIALECTS
from joey.testing import check_laws, cut_at, read
from joey.toolspec import ToolSpec

TOOLS = (
    ToolSpec(
        "get_weather",
        "Weather of a city.",
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}},
        },
    ),
    ToolSpec("ping", "Is it there?"),
)
NOISE = (
    "Hello. ",
    "\n",
    " ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    '"',
    "'",
    "\\",
    ",",
    ":",
    "=",
    "<",
    ">",
    "/",
    "get_weather",
    "ping",
    "city",
    "Paris",
    "3",
    "null",
    "True",
    '{"city": "Paris"}',
    '{"name": "get_weather", "arguments": {"city": "Paris"}}',
    '{"name": "ping", "args": {}}',
    "[ping()",
    ";",
    '"name"',
    "`",
    "```",
    "```json\n",
    "\n```\n",
    "\n> ",
    "~~~",
    "<think>",
    "</think>",
    "é",
    "日本",
    "\ud83c",
    "\x00",
    "<![CDATA[",
    "]]>",
    "functions.",
    ":0",
    ' name="city"',
    " to=",
    "call:",
)


@cache
def markers_of(name: str) -> tuple[str, ...]:
    """Every marker of a dialect that is short enough to occur in a text."""
    dialect = DIALECTS[name]
    frame, calls = dialect.frame, dialect.calls
    found = [*frame.section[0][:3], *frame.section[1][:3], *frame.stops, *frame.removed, *(frame.think or ())]
    if isinstance(calls, Channels):
        found += [*calls.start, *calls.message, *calls.ends]
    part = calls.body if isinstance(calls, Channels) else calls
    found += [*part.open[:3], *part.close[:3]]
    if isinstance(part, Tagged):
        found += [
            *part.key[:3],
            *part.key_end,
            *part.value,
            *part.value_end[:3],
            *part.name_end,
            *part.wrap[0],
            *part.wrap[1],
        ]
    elif isinstance(part, NamedJson):
        found += [*part.args]
    elif isinstance(part, Function):
        found += [*part.quotes]
    return tuple(dict.fromkeys(mark for mark in found if mark)) or ("{",)


@cache
def _good(name: str) -> str:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    calls = [ToolUseBlock("c1", "get_weather", {"city": "Köln", "days": 2}), ToolUseBlock("c2", "ping", {})]
    return protocol.encode_calls(calls, TOOLS).text


def random_reply(name: str, rng: random.Random) -> str:
    """Anything between noise and a good reply."""
    parts: list[str] = []
    for _ in range(rng.randint(1, 12)):
        choice = rng.random()
        if choice < 0.45:
            parts.append(rng.choice(markers_of(name)))
        elif choice < 0.8:
            parts.append(rng.choice(NOISE))
        else:
            good = _good(name)
            start = rng.randint(0, len(good))
            parts.append(good[start : rng.randint(start, len(good))] if rng.random() < 0.6 else good)
    return "".join(parts)


@cache
def _corpus(name: str) -> tuple[str, ...]:
    """Replies to begin with: recorded ones where there are any, and a good one."""
    recorded = cases_of(name) if name in dialect_names() else []
    return (*(case["text"] for case in recorded if len(case["text"]) < 600), _good(name))


def mutated_reply(name: str, rng: random.Random) -> str:
    """A recorded reply with a few accidents: pieces lost, doubled, moved, from another reply, markers and noise."""
    text = rng.choice(_corpus(name))
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 0, 1, 2, 5, 20, 80)))
        other = rng.choice(_corpus(name))
        there = rng.randint(0, len(other))
        new = rng.choice(
            (
                "",
                text[start:end] * 2,
                rng.choice(markers_of(name)),
                rng.choice(NOISE),
                other[there : there + rng.choice((3, 20, 100))],
            )
        )
        text = text[:start] + new + text[end:]
    return text[:1500]


def fuzzed(name: str, number: int) -> str:
    """One input of the endless row of a dialect."""
    rng = random.Random(f"{name}:{number}")
    return random_reply(name, rng) if number % 3 == 0 else mutated_reply(name, rng)


def fuzzed_laws(name: str, number: int) -> str:
    """What is wrong with how one input is read; empty if nothing is."""
    text = fuzzed(name, number)
    try:
        assert_laws(name, text, random.Random(number), by_character=number % 8 == 0)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def assert_laws(name: str, text: str, rng: random.Random, *, by_character: bool = True) -> None:
    """No exception, no character lost, the same outcome whole, by character and at a random cut; now and then of a
    reply that begins inside reasoning."""
    places = [rng.randint(0, len(text)) for _ in range(rng.randint(1, 5))]
    outcomes = []
    protocol, think = get(name), DIALECTS[name].frame.think
    if think is not None and rng.random() < 0.2:
        protocol = protocol.with_options(prompt_tail=think[0])
    for pieces in ([text], cut_at(text, places), *([list(text)] if by_character else [])):
        events = read(protocol.parser(TOOLS), pieces)
        check_laws(events, text, with_reasoning=True)
        outcomes.append(collect(events))
    assert all(outcome == outcomes[0] for outcome in outcomes), f"{name} {text!r} cut at {places}"
