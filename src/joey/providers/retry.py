"""Trying again: only what can succeed, not at once, not for ever, and not unseen.

`RetryPolicy` is pure: it says how long to wait before the next attempt, or that there is none. `with_retries` runs
whole attempts: one attempt is one request and the reading of its reply to the end, with a fresh parser. A reply that
broke off is thrown away whole, and since tools run only when their turn's reply is complete, none runs twice.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from joey.providers.errors import ProviderError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Doubling delays with a little chance in them; what a provider asks for in Retry-After comes first."""

    retries: int = 5
    first_delay: float = 1.0
    max_delay: float = 60.0
    max_wait: float = 600.0
    """A provider that asks for a longer wait than this is not waited for."""

    def delay(self, attempt: int, error: ProviderError, chance: float = 0.0) -> float | None:
        """Seconds to wait after the failed `attempt` (1 is the first); None: give up. `chance` is in [0, 1)."""
        if not error.retryable or attempt > self.retries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_wait else None
        whole = min(self.max_delay, self.first_delay * 2.0 ** min(attempt - 1, 60))
        return whole * (1.0 - chance / 4)


@dataclass(frozen=True, slots=True)
class Retry:
    """What `on_retry` gets: the attempt that failed, why, and how long until the next."""

    attempt: int
    retries: int
    error: ProviderError
    delay: float


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    policy: RetryPolicy,
    on_retry: Callable[[Retry], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """The result of the first attempt that succeeds. The last error comes out when there is no more trying."""
    number = 1
    while True:
        try:
            return await attempt()
        except ProviderError as error:
            delay = policy.delay(number, error, chance())
            if delay is None:
                raise
            on_retry(Retry(number, policy.retries, error, delay))
        await sleep(delay)
        number += 1
