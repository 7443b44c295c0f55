"""Where links lead, in both directions.

Forward: a path is followed link by link, and every link on the way is remembered, since each may have a name that means
something. Links of `/proc` that mean another thing for every process (`/proc/self/cwd`, `/dev/fd/3`) make a path magic:
what it names when it is judged is not what it names when a command runs.

Backward: a link that leads somewhere gives its own meaning to that place. If `.joey` is a link to `conf`, then
`conf/config.toml` steers Joey. To know such places the links of the workspace must be known, so its folders are walked,
widest first and only as far as MAX_ENTRIES; nothing is kept longer than the judgement it was made for.

So a path has the other names, too, that links give it: `conf/config.toml` is `.joey/config.toml`, and is judged as
both. A name found that way may have further names, until nothing new is found. Three exceptions keep a link from
spoiling what is not its own:

- a dot name that is merely unknown does not protect the whole workspace by leading to its root;
- a link that is ignored does not hide the workspace itself;
- a link in an ignored folder hides the file it leads to, but not a folder (`node_modules/ours -> ../packages/ours`).
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from joey.bounded.folders import entries_in
from joey.policy.protected import UNKNOWN_DOT_NAME

MAX_LINKS = 40
"""As many as Linux follows in one path."""
MAX_ENTRIES = 20_000
"""Files and folders that are looked at to find the links of a workspace."""
_MAX_POINTER = 65_536
NOT_WALKED = frozenset(
    {"node_modules", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache"}
)
"""Folders of other people's code and of caches: large, full of links, and not where configuration is looked for."""
_OF_THE_SYSTEM = frozenset({"/proc", "/sys", "/dev"})
_NOT_WALKED_IN_GIT = frozenset({"objects", "refs", "logs", "lfs"})
_GIT_FILES = frozenset({".git", "config", "config.worktree"})
_MAGIC = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:cwd|root|exe|fd/[^/]+|map_files/[^/]+)|/dev/fd/[^/]+")
_MAGIC_START = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:(?P<cwd>cwd)|root)(?=/|$)")
_GIT_PATHS = re.compile(r"^\s*(hookspath|path)\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a path leads."""

    resolved: str
    through: tuple[str, ...] = ()
    """The links that were followed, each by the resolved path of its folder and its own name."""
    magic: bool = False


def follow(path: str) -> Trail:
    """An absolute path with every link followed, as far as it exists. Raises OSError for a loop of links."""
    rest, here = _reversed_parts(path), ""
    through, magic = list[str](), False
    while rest:
        name = rest.pop()
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        step = f"{here}/{name}"
        magic = magic or _MAGIC.fullmatch(step) is not None
        target = _target(step)
        if target is None:
            here = step
            continue
        through.append(step)
        if len(through) > MAX_LINKS:
            raise OSError(f"{path} is a loop of symbolic links")
        rest += _reversed_parts(target)
        here = "" if target.startswith("/") else here
    return Trail(here or "/", tuple(through), magic)


def without_magic(path: str, folder: str) -> str | None:
    """The path as a program that runs in the folder would see it, if it begins with a link of /proc to that."""
    found = _MAGIC_START.match(path)
    if found is None:
        return None
    return (folder if found["cwd"] else "") + path[found.end() :] or "/"


def _reversed_parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - paths here are strings, as the model wrote them
    except OSError:  # no link, or nothing there
        return None


def links_below(root: str) -> Iterator[tuple[str, str]]:
    """The links of a workspace, and the files that name a folder as a link does, each with the place where it leads."""
    for entry in _entries(root):
        if entry.is_symlink():
            yield entry.path, os.path.join(os.path.dirname(entry.path), _target(entry.path) or "")  # noqa: PTH118, PTH120
        elif entry.name in _GIT_FILES and entry.is_file(follow_symlinks=False):
            yield from ((entry.path, place) for place in _named_by_git(entry.path, root))


def names_below(root: str, inode: int) -> Iterator[str]:
    """The files of a workspace that are this one."""
    return (entry.path for entry in _entries(root) if entry.inode() == inode)


def _entries(root: str) -> Iterator[os.DirEntry[str]]:
    folders, left = deque([root]), MAX_ENTRIES
    while folders and left > 0:
        folder = folders.popleft()
        skipped = _NOT_WALKED_IN_GIT if _of_git(folder, root) else NOT_WALKED
        for entry in entries_in(folder):
            left -= 1
            yield entry
            if entry.name not in skipped and entry.is_dir(follow_symlinks=False) and entry.path not in _OF_THE_SYSTEM:
                folders.append(entry.path)


def _of_git(folder: str, root: str) -> bool:
    return "/.git/" in folder[len(root) :] + "/"


def _named_by_git(path: str, root: str) -> Iterator[str]:
    """The places that a file of git names: a repository that is elsewhere, hooks that are elsewhere, more settings."""
    folder, _, name = path.rpartition("/")
    if name == ".git":
        pointer = _text(path)
        if pointer.startswith("gitdir:"):
            elsewhere = os.path.join(folder, pointer[7:].strip())  # noqa: PTH118
            yield elsewhere
            # The settings of a linked worktree are those of its repository, and a file of its own.
            shared = os.path.join(elsewhere, _text(f"{elsewhere}/commondir").strip())  # noqa: PTH118
            yield from _named_by_settings(f"{shared}/config", folder)
            yield from _named_by_settings(f"{elsewhere}/config.worktree", folder)
    elif _of_git(folder, root):
        yield from _named_by_settings(path, root)


def _named_by_settings(path: str, top: str) -> Iterator[str]:
    """Hooks are looked for from the top of the working tree, other settings beside the file that names them."""
    for setting, value in _GIT_PATHS.findall(_text(path)):
        base = top if setting.lower() == "hookspath" else path.rpartition("/")[0]
        yield os.path.join(base, os.path.expanduser(value))  # noqa: PTH111, PTH118


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(_MAX_POINTER)
    except (OSError, ValueError):
        return ""


def is_repository(folder: str, added: str) -> bool:
    """Whether a folder is a git repository without a working tree, or becomes one by an added (folded) name: git takes
    any folder with these names for one, and runs what its `config` says."""

    def has(name: str) -> bool:
        return added == name.lower() or os.path.lexists(f"{folder}/{name}")

    return has("HEAD") and ((has("objects") and has("refs")) or has("commondir"))


def is_other_working_tree(folder: str) -> bool:
    """Whether a folder is the top of another working tree: a clone, or a linked worktree. A submodule is none."""
    place = f"{folder}/.git"
    return os.path.isdir(place) or "/worktrees/" in _text(place)  # noqa: PTH112


MAX_NAMES = 100
"""Names of one path that are looked at. For each, no link is used twice: a circle of links has names without end."""


@dataclass(frozen=True, slots=True)
class LinkMeaning:
    """What is known of a path by the names in it."""

    protected: str | None = None
    hidden_by: str | None = None

    def also(self, other: LinkMeaning) -> LinkMeaning:
        return LinkMeaning(self.protected or other.protected, self.hidden_by or other.hidden_by)


@dataclass(frozen=True, slots=True)
class _Link:
    path: str
    everything: bool
    """Whether it leads to the root of the workspace, or above."""
    hides: bool
    """Whether what hides the link itself hides what is below it."""


class Backlinks:
    """The links below a root, looked for at the first question and never again: made for one judgement."""

    def __init__(self, root: str, by_name: Callable[[str], LinkMeaning]) -> None:
        self._root = root
        self._by_name = by_name

    def meaning(self, path: str) -> LinkMeaning:
        """What a path means by the names that links give it."""
        found, names = LinkMeaning(), {path}
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

    def _meaning(self, name: str, used: frozenset[_Link]) -> LinkMeaning:
        meaning = self._by_name(name)
        unknown = meaning.protected == UNKNOWN_DOT_NAME and any(link.everything for link in used)
        hides = all(link.hides for link in used)
        return LinkMeaning(None if unknown else meaning.protected, meaning.hidden_by if hides else None)

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


@dataclass(frozen=True, slots=True)
class FollowedLinks:
    """Where the links below a folder lead: for each kind of place, one link that leads there."""

    out: str | None = None
    """Out of the workspace, or to credentials."""
    hidden: str | None = None
    protected: str | None = None

    @property
    def complete(self) -> bool:
        return None not in (self.out, self.hidden, self.protected)

    def also(self, other: FollowedLinks) -> FollowedLinks:
        return FollowedLinks(self.out or other.out, self.hidden or other.hidden, self.protected or other.protected)


class LinkWalk:
    """The links below folders. Each folder is looked at once, and no more entries than a limit."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._seen: set[str] = set()

    @property
    def exhausted(self) -> bool:
        return self._left < 0

    def below(self, start: str) -> Iterator[str]:
        for folder, folders, files in os.walk(start):
            if folder in self._seen or self.exhausted:
                folders.clear()
                continue
            self._seen.add(folder)
            self._left -= len(folders) + len(files)
            paths = (os.path.join(folder, name) for name in (*folders, *files))  # noqa: PTH118
            yield from (path for path in paths if os.path.islink(path))  # noqa: PTH114
