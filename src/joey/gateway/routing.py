"""Which upstream answers a request, by the name of the model that the client gives.

The name of an upstream, or one that fits its aliases (`claude-*`), leads to it. Any other name leads to the first:
clients insist on names of their own. A name with `claude-` in front is the same name, since Claude Code lists no other.

In front of a model that takes a few requests at a time there is a line, fair between clients, not between requests:
each client has a line of its own, and next is the first of the client that was served longest ago, so that one with
twenty requests does not keep another one with a single request waiting.

    arrives --a slot is free--> served --done--> the next one
       +------ none is -------> waits, first in its client's line
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from joey.gateway.refusal import Refusal
from joey.gateway.upstream import Upstream

MAX_WAITING = 256
_MAX_CLIENTS = 1000


class WaitingLine:
    """The line of one upstream."""

    def __init__(self, slots: int, max_waiting: int = MAX_WAITING) -> None:
        self._free = slots
        self._max_waiting = max_waiting
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        self._count = 0
        self._served: dict[str, None] = {}
        """The clients that were served, the last one at the end."""

    @property
    def waiting(self) -> int:
        return self._count

    @asynccontextmanager
    async def turn(self, client: str, on_wait: Callable[[Callable[[], int]], None]) -> AsyncIterator[None]:
        """Wait for a slot, and have it for the block. `on_wait` gets a function that says how many are in front."""
        if self._free > 0 and not self._count:
            self._free -= 1
            self._note(client)
        else:
            await self._wait(client, on_wait)
        try:
            yield
        finally:
            self._give_back()

    async def _wait(self, client: str, on_wait: Callable[[Callable[[], int]], None]) -> None:
        if self._count >= self._max_waiting:
            raise Refusal("overloaded", "too many requests are waiting for this model; try again later", retry_after=5)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(client, deque()).append(place)
        self._count += 1
        on_wait(lambda: self._in_front_of(client, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._give_back()  # it was given a slot in the moment it left
            else:
                self._drop(client, place)
            raise

    def _in_front_of(self, client: str, place: asyncio.Future[None]) -> int:
        """How many are served before it: from each line as many as there are before it in its own, and one more from
        those that are served earlier."""
        if place.done():
            return 0
        ahead = self._lines[client].index(place)
        names = self._order()
        mine = names.index(client)
        return sum(
            min(len(self._lines[name]), ahead + (index < mine)) if name != client else ahead
            for index, name in enumerate(names)
        )

    def _order(self) -> list[str]:
        """The clients that wait, the one to be served first in front."""
        served = list(self._served)
        return sorted(self._lines, key=lambda name: served.index(name) if name in self._served else -1)

    def _note(self, client: str) -> None:
        self._served.pop(client, None)
        self._served[client] = None
        if len(self._served) > _MAX_CLIENTS:
            self._served.pop(next(iter(self._served)))

    def _drop(self, client: str, place: asyncio.Future[None]) -> None:
        self._count -= 1
        line = self._lines[client]
        line.remove(place)
        if not line:
            del self._lines[client]

    def _give_back(self) -> None:
        if not self._lines:
            self._free += 1
            return
        client = self._order()[0]
        place = self._lines[client][0]
        self._drop(client, place)
        self._note(client)
        place.set_result(None)


CLAUDE = "claude-"


@dataclass(slots=True, eq=False)
class Route:
    """The way of one request: its upstream, the line in front of it, and the place in that line."""

    upstream: Upstream
    line: WaitingLine
    _place: Callable[[], int] | None = field(default=None)

    def wait_for(self, place: Callable[[], int]) -> None:
        self._place = place

    def arrived(self) -> None:
        self._place = None

    def place(self) -> int:
        """How many requests are in front, and 0 if none is."""
        return self._place() + 1 if self._place is not None else 0


class Routing:
    """The upstreams of a gateway, each with its line."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        self.upstreams = tuple(upstreams)
        self._lines = {id(upstream): WaitingLine(upstream.slots) for upstream in upstreams}

    @property
    def waiting(self) -> int:
        return sum(line.waiting for line in self._lines.values())

    def find(self, model: str) -> Route:
        upstream = self._upstream(model)
        return Route(upstream, self._lines[id(upstream)])

    def _upstream(self, model: str) -> Upstream:
        for name in (model, model.removeprefix(CLAUDE)):
            for upstream in self.upstreams:
                if name == upstream.name:
                    return upstream
        for upstream in self.upstreams:
            if any(fnmatchcase(model, alias) for alias in upstream.aliases):
                return upstream
        return self.upstreams[0]
