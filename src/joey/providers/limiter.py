"""Requests of many tasks to one model, sent at the pace that its provider allows.

Providers say in each answer how many requests and tokens are left, and when there will be more; when there are none,
they refuse (429) and say how long to wait. A limiter hears that from every answer, and lets requests go one after the
other, first come, first served, as long as something is left.

    unheard ──one request goes alone──► heard: as many as are left ──none left──► waits for the reset ──► heard
                                             └──429, or another refusal with a time──► waits so long, then unheard

Where a provider says nothing of limits, everything goes at once after the first answer. There is one limiter for each
server, key and model in an event loop, so that all tasks of a process share it.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary

from joey.providers.errors import retry_after

_FIRST_WAIT, _MAX_WAIT = 1.0, 60.0
"""Seconds to wait after a refusal that does not say how long; doubled with each. Nothing is held back for longer."""
_MAX_ALONE = 5.0
"""Seconds that others wait for the answer to a request that goes alone."""
_HEADER = re.compile(r"ratelimit")
_FIELD = re.compile(r"-(remaining|reset|limit)(?=-|$)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(slots=True)
class _Allowance:
    """What is left of one thing that is counted, and when there will be more (monotonic seconds)."""

    left: float
    resets: float
    limit: float | None = None
    began: float = 0.0
    """When the time that is counted began. What is left of an earlier one says nothing of it."""


class Limiter:
    """The pace of requests to one model."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, today: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._today = today
        self._queue = asyncio.Lock()
        self._changed = asyncio.Event()
        self._heard = False
        self._unanswered = 0
        """Requests that were sent and have no answer yet."""
        self._sent = 0.0
        self._until = 0.0
        self._refusals = 0
        self._allowances: dict[str, _Allowance] = {}
        self._tokens = 0.0
        """About how many tokens a request takes, as the last answers show."""

    @asynccontextmanager
    async def turn(self, on_wait: Callable[[float], None] = lambda _seconds: None) -> AsyncIterator[Turn]:
        """Wait for a turn and send the request inside. `on_wait` gets the seconds, where they are known and some."""
        waiting = self._delay()
        if waiting >= 1.0 and (self._heard or self._clock() < self._until):
            on_wait(waiting)
        async with self._queue:
            while (delay := self._delay()) > 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), delay)
            self._take()
        turn = Turn(self, self._sent)
        try:
            yield turn
        finally:
            turn.over()

    def _delay(self) -> float:
        """Seconds until the next request may go."""
        now = self._clock()
        if now < self._until:
            return self._until - now
        if not self._heard:
            return self._until_answered(now)
        return max((self._until_there_is(name, now) for name in self._allowances), default=0.0)

    def _until_there_is(self, name: str, now: float) -> float:
        allowance = self._allowances[name]
        needed = self._tokens if "tokens" in name else 1.0
        if now >= allowance.resets:
            left = (allowance.limit or math.inf) - self._unanswered * needed
            allowance = self._allowances[name] = _Allowance(left, math.inf, allowance.limit, now)
        if allowance.left >= needed or _MAX_WAIT < allowance.resets - now < math.inf:
            return 0.0  # what is too far away is for the provider to refuse, in its own words
        return allowance.resets - now if allowance.resets < math.inf else self._until_answered(now)

    def _until_answered(self, now: float) -> float:
        return max(0.0, self._sent + _MAX_ALONE - now) if self._unanswered else 0.0

    def _take(self) -> None:
        self._unanswered += 1
        self._sent = self._clock()
        for name, allowance in self._allowances.items():
            allowance.left -= self._tokens if "tokens" in name else 1.0

    def hear(self, status: int, headers: Mapping[str, str], sent: float) -> None:
        """The answer to a request came: what it says of limits holds from now on."""
        now = self._clock()
        self._heard = True
        wait = retry_after(headers, now=self._today())
        for name, left, resets, limit in self._reported(headers):
            self._hear_allowance(name, _Allowance(left, now + resets, limit), sent)
        if status == 429 or (status >= 500 and wait is not None):
            self._refused(now, wait)
        elif status < 400:
            self._refusals = 0
        self._changed.set()

    def _refused(self, now: float, wait: float | None) -> None:
        self._refusals += 1
        usual = min(_MAX_WAIT, _FIRST_WAIT * 2.0 ** (self._refusals - 1))
        self._until = max(self._until, now + min(_MAX_WAIT, usual if wait is None else wait))
        self._heard = False  # the first request after the wait goes alone

    def _hear_allowance(self, name: str, new: _Allowance, sent: float) -> None:
        before = self._allowances.get(name)
        if before is not None and sent < before.began:
            return
        new.began = before.began if before is not None else 0.0
        if new.limit is None:  # at least what has been seen, and this request
            new.limit = max(new.left + max(1.0, self._tokens), (before.limit if before is not None else None) or 0.0)
        if "tokens" in name and before is not None and new.left < before.left + self._tokens:
            self._tokens = max(self._tokens / 2, min(before.left + self._tokens - new.left, new.limit or math.inf))
        # The server may not have counted those that are still on their way.
        new.left -= self._unanswered * (self._tokens if "tokens" in name else 1.0)
        self._allowances[name] = new

    def _reported(self, headers: Mapping[str, str]) -> Iterator[tuple[str, float, float, float | None]]:
        """What is counted, how much of it is left, in how many seconds there will be more, and how much at most."""
        found: dict[str, dict[str, str]] = {}
        for name, value in headers.items():
            field = _FIELD.search(name.lower())
            if field and _HEADER.search(name.lower()):
                found.setdefault(_FIELD.sub("", name.lower()), {})[field[1]] = value
        for name, fields in found.items():
            left, limit = _number(fields.get("remaining")), _number(fields.get("limit"))
            if left is not None:
                yield name, left, seconds_until(fields.get("reset", ""), self._today()) or 1.0, limit

    def answered(self) -> None:
        """One request less without an answer."""
        self._unanswered -= 1
        self._changed.set()


class Turn:
    """A request on its way. It ends with its answer, or with whatever ended it before."""

    def __init__(self, limiter: Limiter, sent: float) -> None:
        self._limiter: Limiter | None = limiter
        self._sent = sent

    def hear(self, status: int, headers: Mapping[str, str]) -> None:
        if self._limiter is not None:
            limiter, self._limiter = self._limiter, None
            limiter.answered()
            limiter.hear(status, headers, self._sent)

    def over(self) -> None:
        if self._limiter is not None:
            limiter, self._limiter = self._limiter, None
            limiter.answered()


def seconds_until(reset: str, now: float) -> float | None:
    """The seconds until a reset: `6m0s`, `20ms`, `1.5`, a time since the epoch, or a date. None if it is none."""
    text = reset.strip().lower()
    if parts := _DURATION.findall(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if (number := _number(text)) is not None:
        return max(0.0, (number / 1000 if number > 1e11 else number) - now) if number > 1e9 else number
    try:
        return max(0.0, datetime.fromisoformat(text.upper()).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], Limiter]] = WeakKeyDictionary()


def limiter_for(*place: str) -> Limiter:
    """The one limiter of this event loop for a server, a key and a model."""
    return _limiters.setdefault(asyncio.get_running_loop(), {}).setdefault(place, Limiter())
