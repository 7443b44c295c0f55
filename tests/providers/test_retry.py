from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.providers import AuthError, CutStreamError, RateLimitError, Retry, RetryPolicy, with_retries
from joey.providers.failures import ProviderError


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


async def test_a_wait_beyond_patience_is_not_waited_for() -> None:
    with pytest.raises(RateLimitError):
        await _run(Attempts(RateLimitError("tomorrow", retry_after=86_400)), RetryPolicy(patience=600))


@pytest.mark.property
@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_bounded_and_never_negative(attempt: int, chance: float) -> None:
    policy = RetryPolicy(retries=10_000, longest_delay=60)
    delay = policy.delay(attempt, CutStreamError("cut"), chance)
    assert delay is not None and 0 < delay <= 60
