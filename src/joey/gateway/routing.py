"""Which upstream answers a request, by the name of the model that the client gives.

The name of an upstream, or one that fits its aliases (`claude-*`), leads to it. Any other name leads to the first:
clients insist on names of their own. A name with `claude-` in front is the same name, since Claude Code lists no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from joey.gateway.line import WaitingLine
from joey.gateway.upstream import Upstream

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
