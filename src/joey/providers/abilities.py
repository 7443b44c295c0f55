"""What a model takes: the same conversation goes to all of them, transformed where one takes less.

The table knows the families that differ from the usual; a model it does not know is taken for a usual one. Users
override it for a model of their own with `dataclasses.replace`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeAlias

from joey.images.sizing import PictureLimits

USUAL_PICTURES = PictureLimits()
IdRule: TypeAlias = Literal["anthropic", "openai", "mistral"]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model, or the endpoint that serves it, takes."""

    system: Literal["system", "developer", "none"] = "system"
    """The role of the system prompt. With none, it becomes the beginning of the first user message."""
    streaming: bool = True
    tools: bool = True
    """A tools parameter. Without it, calls and results in the history are written as text."""
    images: bool = True
    pictures: PictureLimits = USUAL_PICTURES
    """How large and how many, if it takes any."""
    temperature: bool = True
    stream_usage: bool = True
    """Whether the endpoint takes the request to count tokens in a stream."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    merge_tool_result_text: bool = False
    """Text after tool results goes into the last of them: some models forget their reasoning at a user message."""
    echo_reasoning: bool = False
    """Whether the model wants its plain reasoning back (`reasoning_content`)."""
    ids: IdRule = "openai"
    context_window: int | None = None
    """How many tokens a conversation may have; None if that is not known."""


USUAL = Abilities()
_OPENAI_PICTURES = PictureLimits(longest_side=2048, refused_bytes=20 * 1024 * 1024, most_bytes=40 * 1024 * 1024)
_REASONERS = Abilities(
    system="developer", temperature=False, max_tokens="max_completion_tokens", pictures=_OPENAI_PICTURES
)
_KNOWN: tuple[tuple[re.Pattern[str], Abilities], ...] = tuple(
    (re.compile(pattern), abilities)
    for pattern, abilities in (
        (
            r"o1-(mini|preview)",
            Abilities(system="none", tools=False, temperature=False, images=False, max_tokens="max_completion_tokens"),
        ),
        # Chat Completions takes no tools for these beside their reasoning; a protocol in text needs none.
        (r"gpt-(5\.6|[6-9]|\d\d)", replace(_REASONERS, tools=False)),
        (r"(o\d|gpt-5)", _REASONERS),
        (r"claude-[a-z]+-([5-9]|\d\d)", Abilities(temperature=False)),
        (r"deepseek-(reasoner|r1)", Abilities(merge_tool_result_text=True, images=False, temperature=False)),
        (r"(glm-|minimax-|kimi-k2-thinking)", Abilities(merge_tool_result_text=True, echo_reasoning=True)),
        (r"(mistral|codestral|devstral|magistral|ministral)-", Abilities(ids="mistral")),
    )
)


_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"claude-[a-z]+-([5-9]|\d\d)(-|$)", 1_000_000),
        (r"claude-", 200_000),
        (r"gpt-(5\.6|6)", 1_050_000),
        (r"gpt-5", 400_000),
        (r"gpt-4\.1", 1_047_576),
        (r"(gpt-4o|gpt-4-turbo|o1-(mini|preview))", 128_000),
        (r"(o1|o3|o4-mini)", 200_000),
        (r"deepseek-(chat|reasoner)$", 128_000),
    )
)


@cache
def abilities_of(model: str) -> Abilities:
    """The abilities of a model by its name; a vendor in front of it (`openai/o3`) does not matter."""
    name = model.rsplit("/", 1)[-1].lower()
    known = next((abilities for pattern, abilities in _KNOWN if pattern.match(name)), USUAL)
    window = next((tokens for pattern, tokens in _WINDOWS if pattern.match(name)), None)
    return replace(known, context_window=window)
