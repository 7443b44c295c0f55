"""Noticing that a model goes round in circles.

A call is remembered with what it answered. The same call with the same answer again and again leads nowhere, and so
does a cycle of two or three such calls. The same call with a new answer each time is polling, and is left alone.
A call that was refused may be tried again, but until something else happens it is no success: a model that does nothing
else comes to its limit of mistakes.

`at_once` is for models that repeat themselves more and see it less: a call is refused when it was made before and
nothing has been changed or run since, and a cycle after two rounds.
"""

from __future__ import annotations

import json
from collections import deque
from hashlib import sha256
from typing import TypeAlias

from joey.wire import JsonValue

_Step: TypeAlias = tuple[str, str]
_MAX_CYCLE = 3


class Repetition:
    """Remembers the last calls of a task. With limit 3, the fourth round of the same is refused; 0 never refuses."""

    def __init__(self, limit: int, *, at_once: bool = False) -> None:
        self._limit = min(limit, 2) if at_once else limit
        self._at_once = at_once
        self._since_change: set[str] = set()
        """The calls since something was last changed or run, and the one that did it."""
        self._refused: frozenset[_Step] = frozenset()
        """The cycle that was refused last, while nothing else has run since."""
        self._steps: deque[_Step] = deque(maxlen=max(limit, 1) * _MAX_CYCLE)

    def refusal(self, name: str, arguments: JsonValue) -> str | None:
        """Why this call must not run once more, in words for the model; None if it may."""
        if self._limit <= 0:
            return None
        call = _call(name, arguments)
        if self._at_once and call in self._since_change:
            return "This call was just made. Its answer is above. Do the next step."
        for length in range(1, _MAX_CYCLE + 1):
            if self._cycles(call, length):
                self._refused = frozenset(list(self._steps)[-length:])
                self._steps.clear()
                round_ = "This call" if length == 1 else f"This round of {length} calls"
                return (
                    f"{round_} was made {self._limit} times with the same result, so it was not made again. "
                    "Doing the same once more will not help: try something else, or ask the user."
                )
        return None

    def ran(
        self, name: str, arguments: JsonValue, result: str, *, changed: bool = False, refused: bool = False
    ) -> None:
        """A call was made; `changed` if it may have changed what others answer, `refused` if it may yet do some good:
        a file that was not to be written unread can be written after it was read."""
        if changed:
            self._since_change.clear()
        if not refused:
            self._since_change.add(_call(name, arguments))
        step = _call(name, arguments), sha256(result.encode("utf-8", "surrogatepass")).hexdigest()
        self._refused = self._refused if step in self._refused else frozenset()
        self._steps.append(step)

    def forget(self) -> None:
        """The user said something: what was done before may be what they want once more."""
        self._since_change.clear()
        self._steps.clear()
        self._refused = frozenset()

    @property
    def goes_round(self) -> bool:
        """Whether the last call was one that had been refused, with the same result once more."""
        return bool(self._refused)

    def _cycles(self, call: str, length: int) -> bool:
        """Whether the last steps are `limit` rounds of one cycle of this length, and this call would begin another."""
        steps = list(self._steps)[-length * self._limit :]
        if len(steps) < length * self._limit or steps[-length][0] != call:
            return False
        cycle = steps[:length]
        return len(set(cycle)) == length and all(step == cycle[at % length] for at, step in enumerate(steps))


def _call(name: str, arguments: JsonValue) -> str:
    return name + json.dumps(arguments, sort_keys=True, separators=(",", ":"))
