from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.chunks import Chunk
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.providers import (
    AuthError,
    CutStreamError,
    ModelRequest,
    NetworkError,
    Provider,
    ProviderError,
    RateLimitError,
    Retry,
    RetryPolicy,
    open_model,
    with_retries,
)
from joey.providers.anthropic import AnthropicProvider
from joey.providers.openai_chat import OpenAIProvider
from joey.testing import Failure, Faults, LocalServer, Scripted, reply
from joey.testing.script import summary


class Attempts:
    """Fails in order with the errors it was given, then succeeds."""

    def __init__(self, *errors: ProviderError) -> None:
        self.errors = list(errors)
        self.made = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def _run(attempts: Attempts, policy: RetryPolicy) -> tuple[list[Retry], list[float], str]:
    seen: list[Retry] = []
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    result = await with_retries(attempts, policy=policy, on_retry=seen.append, sleep=sleep, chance=lambda: 0.0)
    return seen, slept, result


async def test_what_can_succeed_is_tried_again_and_seen() -> None:
    attempts = Attempts(CutStreamError("cut"), RateLimitError("slow", retry_after=7.5), CutStreamError("cut"))
    seen, slept, result = await _run(attempts, RetryPolicy(first_delay=1))
    assert result == "done" and attempts.made == 4
    assert slept == [1.0, 7.5, 4.0]
    assert [(retry.attempt, retry.delay) for retry in seen] == [(1, 1.0), (2, 7.5), (3, 4.0)]


async def test_what_cannot_succeed_is_not_tried_again() -> None:
    attempts = Attempts(AuthError("no key"))
    with pytest.raises(AuthError):
        await _run(attempts, RetryPolicy())
    assert attempts.made == 1


async def test_there_is_a_limit() -> None:
    attempts = Attempts(*(CutStreamError(f"cut {number}") for number in range(9)))
    with pytest.raises(CutStreamError, match="cut 2"):
        await _run(attempts, RetryPolicy(retries=2))
    assert attempts.made == 3


async def test_a_wait_beyond_the_maximum_is_not_waited_for() -> None:
    with pytest.raises(RateLimitError):
        await _run(Attempts(RateLimitError("tomorrow", retry_after=86_400)), RetryPolicy(max_wait=600))


@pytest.mark.property
@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_bounded_and_never_negative(attempt: int, chance: float) -> None:
    policy = RetryPolicy(retries=10_000, max_delay=60)
    delay = policy.delay(attempt, CutStreamError("cut"), chance)
    assert delay is not None and 0 < delay <= 60


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_over_http_a_reply_is_whole_after_all_that_went_wrong_before(wire: str) -> None:
    call = ToolUseBlock("toolu_1", "write_to_file", {"path": "a.py", "file_text": "x = 1\n"})
    answers: list[Scripted] = [
        Failure(429, "slow down", "rate_limit_error", retry_after=7),
        Failure(500, "oops"),
        reply("Writing.", call, faults=Faults(cut_after=6)),
        reply("Writing.", call, faults=Faults(malformed_at=3)),
        reply("Writing.", call),
    ]
    seen: list[Retry] = []
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with LocalServer(answers) as server:
        url = server.anthropic_url if wire == "anthropic" else server.openai_url
        provider, model = open_model(f"{wire}/m", base_url=url)
        request = ModelRequest(model, (Message("user", (TextBlock("go"),)),))

        async def attempt() -> list[Chunk]:
            return [chunk async for chunk in provider.stream(request)]

        chunks = await with_retries(
            attempt, policy=RetryPolicy(), on_retry=seen.append, sleep=sleep, chance=lambda: 0.0
        )
        await provider.close()
    assert summary(chunks) == summary(reply("Writing.", call).chunks)
    assert [type(retry.error).__name__ for retry in seen] == [
        "RateLimitError",
        "OverloadedError",
        "CutStreamError",
        "CutStreamError",
    ]
    assert slept == [7.0, 2.0, 4.0, 8.0]
    assert len(server.requests) == 5


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_provider_that_does_not_answer_in_time_is_a_network_error(wire: str) -> None:
    async with LocalServer([reply("late", faults=Faults(latency=30))]) as server:
        provider: Provider
        if wire == "anthropic":
            provider = AnthropicProvider(base_url=server.anthropic_url, timeout=0.05)
        else:
            provider = OpenAIProvider(base_url=server.openai_url, timeout=0.05)
        with pytest.raises(NetworkError):
            await anext(aiter(provider.stream(ModelRequest("m", (Message("user", (TextBlock("go"),)),)))))
        await provider.close()
