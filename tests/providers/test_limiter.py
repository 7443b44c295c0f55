from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from joey.messages import Message, TextBlock
from joey.providers import ModelRequest, RetryPolicy, open_model, with_retries
from joey.providers.limiter import Limiter, seconds_until
from joey.testing import Failure, LocalServer, reply
from joey.testing.script import Scripted
from joey.testing.server import ReceivedRequest

NOW = 1_800_000_000.0
TASK = Message("user", (TextBlock("go"),))
TASKS = 50


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("2m59.5s", 179.5), ("1h2m", 3720), ("30", 30), ("0.5", 0.5),
        (f"{NOW + 9:.0f}", 9), (f"{(NOW + 9) * 1000:.0f}", 9), ("2027-01-15T08:00:05Z", 5), ("", None), ("soon", None),
    ],
)  # fmt: skip
def test_the_time_of_a_reset_is_read_in_every_form(reset: str, seconds: float | None) -> None:
    read = seconds_until(reset, NOW)
    assert read is seconds is None or read == pytest.approx(seconds)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Waiting:
    """A limiter beside a clock that stands still, and the requests that got their turn."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.limiter = Limiter(self.clock, lambda: NOW)
        self.reported: list[float] = []

    def delay(self) -> float:
        return self.limiter._delay()

    async def send(self, status: int = 200, **headers: str) -> None:
        async with self.limiter.turn(self.reported.append) as turn:
            turn.hear(status, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    "headers",
    [
        {"x_ratelimit_remaining_requests": "1", "x_ratelimit_reset_requests": "6s"},
        {"anthropic_ratelimit_requests_remaining": "1", "anthropic_ratelimit_requests_reset": "2027-01-15T08:00:06Z"},
        {"x_ratelimit_remaining": "1", "x_ratelimit_reset": f"{(NOW + 6) * 1000:.0f}"},
        {"ratelimit_remaining": "1", "ratelimit_reset": "6"},
    ],
)
async def test_requests_wait_for_the_reset_when_none_is_left(headers: dict[str, str]) -> None:
    waiting = Waiting()
    await waiting.send(200, **headers)
    assert waiting.delay() == 0
    async with waiting.limiter.turn():
        assert waiting.delay() == pytest.approx(6)
        waiting.clock.now += 6.1
        assert waiting.delay() == 0


async def test_tokens_that_are_left_must_do_for_a_request() -> None:
    waiting = Waiting()
    for left in ("10000", "7000", "4000"):
        await waiting.send(x_ratelimit_remaining_tokens=left, x_ratelimit_reset_tokens="9s")
    assert waiting.delay() == 0
    await waiting.send(x_ratelimit_remaining_tokens="1000", x_ratelimit_reset_tokens="9s")
    assert waiting.delay() == pytest.approx(9)


async def test_a_refusal_holds_all_back_and_then_one_goes_alone() -> None:
    waiting = Waiting()
    await waiting.send(429, retry_after="7")
    assert waiting.delay() == pytest.approx(7)
    waiting.clock.now += 7
    async with waiting.limiter.turn() as turn:
        assert waiting.delay() > 0
        turn.hear(200, {})
        assert waiting.delay() == 0


async def test_a_request_that_fails_without_an_answer_lets_the_next_go() -> None:
    waiting = Waiting()
    with pytest.raises(OSError, match="gone"):
        async with waiting.limiter.turn():
            raise OSError("gone")
    assert waiting.delay() == 0


async def test_a_wait_is_reported() -> None:
    waiting = Waiting()
    await waiting.send(429, retry_after="7")
    task = asyncio.create_task(waiting.send())
    await asyncio.sleep(0)
    task.cancel()
    assert waiting.reported == [pytest.approx(7)]


class LimitingServer:
    """Takes so many requests in a window of time and refuses the others, as providers do, and says what is left."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._window = limit, window
        self._ends, self._left = 0.0, limit
        self.refused = self.taken = 0

    def __call__(self, _request: ReceivedRequest) -> Scripted:
        now = asyncio.get_running_loop().time()
        if now >= self._ends:
            self._ends, self._left = now + self._window, self._limit
        reset = f"{(self._ends - now) * 1000:.0f}ms"
        if self._left < 1:
            self.refused += 1
            return Failure(429, "slow down", retry_after=self._ends - now)
        self._left -= 1
        self.taken += 1
        limits = {"limit": self._limit, "remaining": self._left}
        headers = {f"x-ratelimit-{name}-requests": str(value) for name, value in limits.items()}
        return replace(reply("Hi"), headers={**headers, "x-ratelimit-reset-requests": reset})


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m"])
async def test_fifty_tasks_at_once_are_hardly_ever_refused(name: str) -> None:
    limited = LimitingServer(10, 0.3)
    async with LocalServer(limited) as server:

        async def task() -> None:
            url = server.anthropic_url if name.startswith("anthropic") else server.openai_url
            provider, model = open_model(name, base_url=url, api_key="key")

            async def attempt() -> None:
                async for _ in provider.stream(ModelRequest(model, (TASK,))):
                    pass

            await with_retries(attempt, policy=RetryPolicy(), on_retry=lambda _: None)
            await provider.close()

        await asyncio.gather(*(task() for _ in range(TASKS)))
    assert limited.taken == TASKS and limited.refused <= 2


async def test_an_answer_from_before_a_reset_says_nothing_of_what_is_left_after_it() -> None:
    waiting = Waiting()
    limits = {"x_ratelimit_limit_requests": "2", "x_ratelimit_reset_requests": "6s"}
    await waiting.send(200, x_ratelimit_remaining_requests="1", **limits)
    async with waiting.limiter.turn() as late:
        waiting.clock.now += 6.1
        assert waiting.delay() == 0
        late.hear(200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "5s"})
        assert waiting.delay() == 0


async def test_a_limit_that_nobody_names_is_what_was_seen_of_it() -> None:
    waiting = Waiting()
    await waiting.send(200, x_ratelimit_remaining_requests="1", x_ratelimit_reset_requests="6s")
    waiting.clock.now += 6.1
    async with waiting.limiter.turn(), waiting.limiter.turn():
        assert waiting.delay() > 0  # two went: the one that was left, and the one that was answered


async def test_a_reset_that_is_too_far_away_is_not_waited_for() -> None:
    waiting = Waiting()
    await waiting.send(200, x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="5h0m0s")
    assert waiting.delay() == 0
