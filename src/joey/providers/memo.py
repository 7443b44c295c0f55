"""Remembering what was made of an object, so that a long conversation is not converted anew for each request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Calls `make` once for each object. Objects are told apart by identity, so they must not change.

    The objects are held, or another could come to stand at the same address; when there are too many, all are let go.
    """

    def __init__(self, make: Callable[[K], V], *, limit: int = 20_000) -> None:
        self._make = make
        self._limit = limit
        self._made: dict[int, tuple[K, V]] = {}

    def __call__(self, key: K) -> V:
        known = self._made.get(id(key))
        if known is not None:
            return known[1]
        if len(self._made) >= self._limit:
            self._made.clear()
        value = self._make(key)
        self._made[id(key)] = (key, value)
        return value
