"""Remembering what was made of objects, so that a long conversation is not converted again for each request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[P, V]):
    """Calls `make` once for the same objects. They are told apart by identity, so they must not change.

    The objects are held, or another could come to stand at the same address. `next_round` is for the beginning of a
    request: what was used in none of the last `rounds` requests is let go, so no more is held than conversations that
    are still going on. A few are remembered, since tasks and their subtasks can share a provider.
    """

    def __init__(self, make: Callable[P, V], *, rounds: int = 8) -> None:
        self._make = make
        self._rounds = rounds
        self._round = 0
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], V]] = {}
        self._before: dict[tuple[int, ...], tuple[tuple[object, ...], V]] = {}

    def __len__(self) -> int:
        """How many results are held."""
        return len(self._made) + len(self._before)

    def next_round(self) -> None:
        self._round += 1
        if self._round % self._rounds == 0:
            self._made, self._before = {}, self._made

    def __call__(self, *keys: P.args, **_none: P.kwargs) -> V:
        place = tuple(map(id, keys))
        known = self._made.get(place)
        if known is None:
            known = self._before.pop(place, None) or (keys, self._make(*keys, **_none))
            self._made[place] = known
        return known[1]


class GrowingMemo(Generic[K, V]):
    """What is made of each item of a list that is seen again and again, each time with a few more at its end.

    Only what is new costs a call: items that were there before, in the same places, are recognised. Which items came
    before one may matter for what is made of it: `make` gets them all, and the item's place.
    """

    def __init__(self, make: Callable[[Sequence[K], int], V]) -> None:
        self._make = make
        self._items: tuple[K, ...] = ()
        self._made: list[V] = []

    def __call__(self, items: Sequence[K]) -> Sequence[V]:
        items = tuple(items)  # a list might go on growing
        same = same_beginning(items, self._items)
        self._made[same:] = [self._make(items, place) for place in range(same, len(items))]
        self._items = items
        return tuple(self._made)


def same_beginning(items: tuple[Any, ...], before: tuple[Any, ...]) -> int:
    """How many items at the beginning of both are equal; identical ones are not looked into, so that it costs little
    for two thousand of them."""
    shorter = min(len(items), len(before))
    if items[:shorter] == before[:shorter]:
        return shorter
    return next(place for place in range(shorter) if items[place] != before[place])


class Remembered(Generic[K, V]):
    """What is made of each message of a conversation by itself: at once if the conversation only grew, else looked up
    message by message."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._memo = Memo(make)
        self._growing: GrowingMemo[K, V] = GrowingMemo(lambda items, place: self._memo(items[place]))

    def __call__(self, items: Sequence[K]) -> Sequence[V]:
        self._memo.next_round()
        return self._growing(items)
