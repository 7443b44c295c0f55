"""The other names that the links of a workspace give to a path.

If `.joey` is a link to `conf`, then `conf/config.toml` is `.joey/config.toml` too, and is judged as both. A name found
that way may have further names, until nothing new is found. Three exceptions keep a link from spoiling what is not its
own:

- a dot name that is merely unknown does not protect the whole workspace by leading to its root;
- a link that is ignored does not hide the workspace itself;
- a link in an ignored folder hides the file it leads to, but not a folder (`node_modules/ours -> ../packages/ours`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from joey.policy.links import follow, links_below, names_below
from joey.policy.protected import UNKNOWN_DOT_NAME

MAX_NAMES = 100
"""Names of one path that are looked at. For each, no link is used twice: a circle of links has names without end."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of a path by the names in it."""

    protected: str | None = None
    hidden_by: str | None = None

    def also(self, other: Meaning) -> Meaning:
        return Meaning(self.protected or other.protected, self.hidden_by or other.hidden_by)


@dataclass(frozen=True, slots=True)
class _Link:
    path: str
    everything: bool
    """Whether it leads to the root of the workspace, or above."""
    hides: bool
    """Whether what hides the link itself hides what is below it."""


class Backlinks:
    """The links below a root, looked for at the first question and never again: made for one judgement."""

    def __init__(self, root: str, by_name: Callable[[str], Meaning]) -> None:
        self._root = root
        self._by_name = by_name

    def meaning(self, path: str) -> Meaning:
        """What a path means by the names that links give it."""
        found, names = Meaning(), {path}
        left: list[tuple[str, frozenset[_Link]]] = [(path, frozenset())]
        while left and len(names) < MAX_NAMES:
            place, used = left.pop()
            for link, name in self._names(place):
                if name not in names and link not in used:
                    names.add(name)
                    left.append((name, used | {link}))
                    found = found.also(self._meaning(name, used | {link}))
        return found

    def other_names(self, inode: int) -> tuple[str, ...]:
        """The files of the workspace with this inode."""
        return tuple(names_below(self._root, inode))

    def _meaning(self, name: str, used: frozenset[_Link]) -> Meaning:
        meaning = self._by_name(name)
        unknown = meaning.protected == UNKNOWN_DOT_NAME and any(link.everything for link in used)
        hides = all(link.hides for link in used)
        return Meaning(None if unknown else meaning.protected, meaning.hidden_by if hides else None)

    def _names(self, path: str) -> Iterator[tuple[_Link, str]]:
        """The names of a path through one link each."""
        place, rest = path, ""
        while self._places:
            yield from ((link, link.path + rest) for link in self._places.get(place or "/", ()))
            if not place:
                return
            place = place.rpartition("/")[0]
            rest = path[len(place) :]

    @cached_property
    def _places(self) -> dict[str, list[_Link]]:
        places: dict[str, list[_Link]] = {}
        for path, target in links_below(self._root):
            for place in _leads_to(target):
                places.setdefault(place, []).append(self._link(path, place))
        return places

    def _link(self, path: str, place: str) -> _Link:
        everything = (self._root + "/").startswith(place.rstrip("/") + "/")
        hidden = self._by_name(path).hidden_by is not None
        inherited = hidden and self._by_name(os.path.dirname(path)).hidden_by is not None  # noqa: PTH120
        borrowed = inherited and os.path.isdir(place)  # noqa: PTH112 - strings, as the model wrote them
        return _Link(path, everything, hides=not (hidden and everything) and not borrowed)


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


def _leads_to(target: str) -> Iterable[str]:
    """The places that a link makes its own: its target as written and as resolved, and the links on the way there."""
    try:
        trail = follow(target)
    except (OSError, ValueError):  # a loop leads nowhere
        return ()
    return dict.fromkeys((os.path.normpath(target), trail.resolved, *trail.through))
