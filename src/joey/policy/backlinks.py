"""What the links of a workspace mean for the places they lead to.

A place takes over the meaning of every link that leads to it, and of every link on the way; links inside such a place
are read the same way, until nothing new is found. Three exceptions keep a link from spoiling what is not its own:

- a dot name that is merely unknown does not protect the whole workspace by leading to its root;
- what is ignored does not hide the workspace itself;
- a link in an ignored folder hides the file it leads to, but not a folder (`node_modules/ours -> ../packages/ours`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from joey.policy.links import follow, links_below, names_below
from joey.policy.protected import UNKNOWN_DOT_NAME


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of a path by the names in it."""

    protected: str | None = None
    hidden_by: str | None = None

    def __bool__(self) -> bool:
        return self.protected is not None or self.hidden_by is not None

    def also(self, other: Meaning) -> Meaning:
        return Meaning(self.protected or other.protected, self.hidden_by or other.hidden_by)


class Backlinks:
    """The links below a root, looked for at the first question and never again: made for one judgement."""

    def __init__(self, root: str, by_name: Callable[[str], Meaning]) -> None:
        self._root = root
        self._by_name = by_name

    def meaning(self, path: str) -> Meaning:
        """What a path means because links lead to it or to a folder above it."""
        return _met(path, self._places)

    def other_names(self, inode: int) -> tuple[str, ...]:
        """The files of the workspace with this inode."""
        return tuple(names_below(self._root, inode))

    @cached_property
    def _places(self) -> dict[str, Meaning]:
        places: dict[str, Meaning] = {}
        left = list(links_below(self._root))
        while True:
            known = len(places)
            unknown = list[tuple[str, str]]()
            for link, target in left:
                meaning = self._by_name(link).also(_met(link, places))
                if meaning:
                    self._add(places, link, target, meaning)
                else:
                    unknown.append((link, target))
            if len(places) == known:
                return places
            left = unknown

    def _add(self, places: dict[str, Meaning], link: str, target: str, meaning: Meaning) -> None:
        for place in _leads_to(target):
            kept = self._kept(place, link, meaning)
            if kept and place != link:
                places[place] = places.get(place, Meaning()).also(kept)

    def _kept(self, place: str, link: str, meaning: Meaning) -> Meaning:
        everything = (self._root + "/").startswith(place.rstrip("/") + "/")
        protected = None if everything and meaning.protected == UNKNOWN_DOT_NAME else meaning.protected
        borrowed = self._by_name(os.path.dirname(link)).hidden_by is not None and os.path.isdir(place)  # noqa: PTH112, PTH120
        return Meaning(protected, None if everything or borrowed else meaning.hidden_by)


class Recent:
    """The links of a workspace for a walk, which asks about thousands of files: as old as a second."""

    MAX_AGE = 1.0

    def __init__(self) -> None:
        self._backlinks: Backlinks | None = None
        self._made = 0.0

    def get(self, make: Callable[[], Backlinks]) -> Backlinks:
        now = time.monotonic()
        if self._backlinks is None or now - self._made > self.MAX_AGE:
            self._backlinks, self._made = make(), now
        return self._backlinks


def _met(path: str, places: dict[str, Meaning]) -> Meaning:
    found = Meaning()
    while places and path:
        found = found.also(places.get(path, Meaning()))
        path = path.rpartition("/")[0]
    return found


def _leads_to(target: str) -> Iterator[str]:
    try:
        trail = follow(target)
    except (OSError, ValueError):  # a loop leads nowhere
        return
    yield trail.resolved
    yield from trail.through
