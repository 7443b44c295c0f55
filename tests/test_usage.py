"""Tokens: one class for a request, a chunk, an event and a task, and the names they are saved under."""

from __future__ import annotations

import pytest

from joey.chunks import CHUNKS, UsageChunk
from joey.events import EVENTS, UsageReported
from joey.usage import Usage
from joey.wire import Codec, encode

NUMBERS = {
    "input_tokens": 1,
    "output_tokens": 2,
    "cache_write_tokens": 3,
    "cache_read_tokens": 4,
    "reasoning_tokens": 1,
}


def test_requests_add_up() -> None:
    assert Usage(1, 2, 3, 4, 1) + UsageChunk(10, 20, 30, 40, 5) == Usage(11, 22, 33, 44, 6)
    assert Usage(1, 2, 3, 4).total == 10


def test_reports_about_one_request_do_not_add_up() -> None:
    assert Usage(5, 2).merge(UsageChunk(5, 9, 1)) == Usage(5, 9, 1)


@pytest.mark.parametrize(
    ("cls", "codec", "tag"),
    [
        (Usage, Codec(Usage), "token_usage"),
        (UsageChunk, CHUNKS, "usage_chunk"),
        (UsageReported, EVENTS, "usage_reported"),
    ],
)
def test_each_is_saved_flat_and_under_the_name_it_always_had(cls: type[Usage], codec: Codec, tag: str) -> None:
    usage = cls.of(Usage(1, 2, 3, 4, 1))
    assert encode(usage) == {"type": tag, **NUMBERS}
    assert codec.decode({"type": tag, **NUMBERS}) == usage
