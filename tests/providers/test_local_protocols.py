"""Real tokens of a real model that cannot call tools by itself, held to the grammar of each text protocol.

Whatever the model makes of the task, the reply must be well-formed: exactly one call of an offered tool with arguments
of the right types, parsed while it streams. A reply that reaches its length limit is cut, which no grammar prevents:
it is counted apart, must say so and must not run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from joey import protocols
from joey.chunks import Chunk, StopChunk, TextChunk
from joey.events import StreamEvent, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.protocols import collect
from joey.testing import check_laws
from joey.toolspec import ToolChoice, ToolSpec
from local_kit import ask, needs_model, smol


def _tool(name: str, about: str, **parameters: Any) -> ToolSpec:
    return ToolSpec(name, about, {"type": "object", "properties": parameters, "required": list(parameters)})


SCENES = ["day", "night", "party"]
TOOLS = (
    _tool("lamp", "Turn the light on or off.", on={"type": "boolean"}),
    _tool("mood", "Choose a mood.", scene={"type": "string", "enum": SCENES}),
    _tool("dim", "Set the brightness, from 0 to 9.", level={"type": "integer"}),
)
PROMPTS = (
    "Turn on the light in the kitchen.",
    "It is late, I want to sleep.",
    "My friends are coming for a party!",
    "The hall is dark.",
    "I leave the office now.",
    "What can you do for me?",
    "Schalte das Licht im Schlafzimmer aus.",
)
RUNS = {"xml": 7, "json_mix": 7, "morph_xml": 6}
assert sum(RUNS.values()) == 20
WITH_A_DIALECT = {**RUNS, "hermes": 3}


@dataclass
class Tally:
    complete: int = 0
    cut: int = 0
    malformed: list[str] = field(default_factory=list)


def is_right(call: ToolCallFinished) -> bool:
    """Whether the arguments are what the tool's schema asks for."""
    match call.name, dict(call.arguments):
        case "lamp", {"on": bool(), **rest}:
            return not rest
        case "mood", {"scene": str(scene), **rest}:
            return scene in SCENES and not rest
        case "dim", {"level": int(), **rest}:
            return not rest
    return False


@dataclass(frozen=True, slots=True)
class Heard:
    chunks: list[Chunk]
    live: list[StreamEvent]
    """What was seen while it streamed."""
    events: list[StreamEvent]
    """All of it."""

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextChunk))


async def listen(protocol: str, seed: int, choice: ToolChoice, max_tokens: int) -> Heard:
    """One reply, parsed as it comes."""
    codec = protocols.get(protocol)
    provider, parser = smol(seed=seed), codec.parser(TOOLS)
    request = ask(
        PROMPTS[seed % len(PROMPTS)],
        system="You control a house.",
        grammar=codec.grammar(TOOLS, choice),
        max_tokens=max_tokens,
        temperature=0.9,
    )
    chunks: list[Chunk] = []
    events: list[StreamEvent] = []
    async for chunk in provider.stream(request):
        chunks += [chunk]
        events += parser.feed(chunk)
    await provider.close()
    return Heard(chunks, events, events + parser.finish())


@needs_model
@pytest.mark.parametrize("protocol", WITH_A_DIALECT)
async def test_a_real_model_under_a_grammar_writes_no_malformed_call(
    protocol: str, record_property: Callable[[str, object], None]
) -> None:
    tally = Tally()
    for seed in range(WITH_A_DIALECT[protocol]):
        heard = await listen(protocol, seed, ToolChoice("required", parallel=False), max_tokens=64)
        check_laws(heard.events, heard.text)
        assert any(isinstance(event, ToolCallStarted) for event in heard.live), "nothing was seen while it streamed"
        content = collect(heard.events)
        calls = [event for event in heard.events if isinstance(event, ToolCallFinished)]
        if len(calls) == 1 and is_right(calls[0]) and not content.text.strip():
            tally.complete += 1
        elif not calls and content.stop == "length":
            tally.cut += 1
        else:
            tally.malformed.append(heard.text)
    record_property("complete calls of a real model under a grammar", tally.complete)
    record_property("of its calls cut by length", tally.cut)
    assert tally.malformed == []
    assert tally.complete >= WITH_A_DIALECT[protocol] - 2


@needs_model
@pytest.mark.parametrize("protocol", RUNS)
async def test_words_before_a_call_are_free_and_still_nothing_is_malformed(protocol: str) -> None:
    heard = await listen(protocol, 5, ToolChoice(), max_tokens=16)
    check_laws(heard.events, heard.text)
    was_cut = collect(heard.events).stop == "length"
    assert was_cut or not any(isinstance(event, ToolCallMalformed) for event in heard.events)
    assert heard.text


@needs_model
@pytest.mark.parametrize("protocol", RUNS)
async def test_a_call_cut_by_length_is_reported_and_not_run(protocol: str) -> None:
    heard = await listen(protocol, 0, ToolChoice("required", parallel=False), max_tokens=10)
    assert heard.chunks[-1] == StopChunk("length", "length")
    assert not any(isinstance(event, ToolCallFinished) for event in heard.events)
    assert any(isinstance(event, ToolCallMalformed) for event in heard.events) or collect(heard.events).malformed
    assert collect(heard.events).text == heard.text
