"""Recorded answers of the Responses API (vectors/providers), whole and cut into odd network pieces."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from joey.chunks import Chunk
from joey.providers import ProviderError
from joey.providers.decoding.decoder import ReplyDecoder, ReplyLimits
from joey.providers.decoding.responses import ResponsesReader
from joey.testing.script import summary
from vectors_data import cases

RECORDED = [case for case in cases("providers/responses") if case["truth"] is not None]
CACHE_WRITES = "the truth knows no tokens written to the cache, which the recording reports and which have a price"


def decoded(body: bytes, *cuts: int) -> tuple[list[Chunk], ProviderError | None]:
    decoder, chunks = ReplyDecoder(ResponsesReader(), ReplyLimits()), list[Chunk]()
    try:
        for start, end in zip((0, *cuts), (*cuts, len(body)), strict=True):
            chunks += decoder.feed(body[start:end])
        chunks += decoder.finish()
    except ProviderError as error:
        return chunks, error
    return chunks, None


def _arguments(text: str) -> Any:
    return json.loads(text or "{}")


def _without_writes(usage: Any) -> Any:
    """The truth's way to count (CACHE_WRITES)."""
    return usage and [
        usage.input_tokens + usage.cache_write_tokens, usage.output_tokens, 0, usage.cache_read_tokens
    ]  # fmt: skip


def _expected_calls(truth: Any) -> list[Any]:
    """A custom tool's text is the one argument of its call; the truth has no word for that."""
    return [
        [name, {"input": given["__not_json__"]} if "__not_json__" in given else given] for name, given in truth["calls"]
    ]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['project']}-{case['kind']}-{case['n']}")
def test_a_recorded_reply_says_what_the_truth_says_however_it_is_cut(case: Any) -> None:
    body, truth = case["body"].encode(), case["truth"]
    chunks, error = decoded(body)
    reported = summary(chunks)
    assert reported["text"] == truth["text"]
    assert reported["reasoning"] == truth["reasoning"]
    assert [[name, _arguments(text)] for _, name, text in reported["calls"]] == _expected_calls(truth)
    assert _without_writes(reported["usage"]) == truth["usage"]
    assert (error is not None) is (truth["error"] is not None)
    if truth["error"]:
        assert truth["error"]["message"] in str(error)
    chance = random.Random(case["source"])
    cuts = sorted(chance.sample(range(1, len(body)), min(len(body) - 1, 40)))
    pieces, cut_error = decoded(body, *cuts)
    assert summary(pieces) == reported and str(cut_error) == str(error)


def test_there_are_enough_recordings() -> None:
    assert len(RECORDED) > 100
