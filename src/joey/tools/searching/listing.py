"""What is in a folder, as far as it fits: breadth first, so that a cut list still shows the shape of the whole.

The walk stops when it has enough, so a tree of a million files costs no more than the part that is shown. The first
level is always complete, whatever the limit. Not shown: what .gitignore, .ignore or .rgignore files say (those of the
folder, of the folders above it up to the repository's root, and of those below), and what the ignore file of the
workspace hides. Shown but not entered: hidden folders, folders of installed packages and caches, symbolic links to
folders. Naming such a folder as the one to list lifts that for the folder itself.

The folder is given by its resolved path. Each folder is opened from the root down without following a link, so that
one that was replaced by a link since it was seen is not entered; for the first folder that is a LinkInPathError.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from joey.bounded.files import read_regular
from joey.bounded.folders import LinkInPathError, opened_folder
from joey.bounded.patterns import git_patterns
from joey.system.filenames import quoted
from joey.tools.paths import reason

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
NOT_ENTERED = frozenset({"node_modules", "__pycache__", "venv", "env", "bower_components", "Pods", "site-packages"})
"""Folders that hold other people's files, and too many of them. (`dist`, `vendor` or `pkg` may well be one's own.)"""


@dataclass(slots=True)
class FolderListing:
    """The entries found, relative to the folder; those of folders end in a slash."""

    entries: list[str] = field(default_factory=list)
    cut: bool = False
    """Some entries are missing because the limit was reached."""
    timed_out: bool = False
    not_entered: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one ignore file's folder, and those of the folders above it."""

    folder: str
    spec: GitIgnoreSpec
    above: _Rules | None

    def hide(self, path: str, *, is_folder: bool) -> bool:
        """Whether the path is ignored. The deepest folder whose patterns mention it decides."""
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        verdict = self.spec.check_file(f"{relative}/" if is_folder else relative).include
        if verdict is not None:
            return verdict
        return self.above is not None and self.above.hide(path, is_folder=is_folder)


def list_folder(
    folder: Path, *, recursive: bool, limit: int, hidden: Callable[[Path], bool], seconds: float = 10.0
) -> FolderListing:
    """The entries of a folder. `hidden` says which (absolute) paths are not to be shown at all."""
    walk = _Walk(folder, limit, hidden, time.monotonic() + seconds)
    walk.first_level(_rules_above(folder))
    if recursive:
        walk.below()
    walk.listing.entries.sort(key=_tree_order)
    return walk.listing


class _Walk:
    def __init__(self, folder: Path, limit: int, hidden: Callable[[Path], bool], deadline: float) -> None:
        self.listing = FolderListing()
        self._folder = folder
        self._limit = limit
        self._hidden = hidden
        self._deadline = deadline
        self._waiting: deque[tuple[str, _Rules | None]] = deque()

    def first_level(self, rules: _Rules | None) -> None:
        self._visit(str(self._folder), rules)

    def below(self) -> None:
        while self._waiting and not self._is_over():
            folder, rules = self._waiting.popleft()
            self._visit(folder, rules)

    def _is_over(self) -> bool:
        self.listing.timed_out = time.monotonic() > self._deadline
        # Whether a folder that waits holds anything is not known without looking, so this may be said of empty ones.
        self.listing.cut = self.listing.cut or len(self.listing.entries) >= self._limit
        return self.listing.timed_out or self.listing.cut

    def _visit(self, folder: str, rules: _Rules | None) -> None:
        is_first = folder == str(self._folder)
        rules = _rules_in(folder, rules)
        for entry in self._sorted_entries(folder, is_first=is_first):
            is_folder = entry.is_folder
            if self._is_left_out(entry, rules):
                continue
            if not is_first and len(self.listing.entries) >= self._limit:
                self.listing.cut = True
                return
            name = os.path.relpath(entry.path, self._folder).replace(os.sep, "/")
            self.listing.entries.append(f"{name}/" if is_folder else name)
            if is_folder and self._may_enter(entry, name):
                self._waiting.append((entry.path, rules))

    def _sorted_entries(self, folder: str, *, is_first: bool) -> list[_Entry]:
        try:
            return sorted(_entries(folder), key=lambda entry: _natural(entry.name))
        except OSError as problem:
            if is_first and isinstance(problem, LinkInPathError):
                raise
            name = os.path.relpath(folder, self._folder).replace(os.sep, "/")
            self.listing.unreadable.append(f"{quoted(name + '/')} ({reason(problem)})")
            return []

    def _is_left_out(self, entry: _Entry, rules: _Rules | None) -> bool:
        if entry.name == ".git":
            return True
        if rules is not None and rules.hide(entry.path, is_folder=entry.is_folder and not entry.is_link):
            return True
        try:
            return self._hidden(Path(entry.path).resolve())
        except (OSError, RuntimeError):  # a loop of links leads nowhere, so that nothing is hidden there
            return False

    def _may_enter(self, entry: _Entry, name: str) -> bool:
        if entry.name.startswith(".") or entry.name in NOT_ENTERED or entry.is_link:
            self.listing.not_entered.append(f"{name}/")
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    path: str
    is_folder: bool
    """Also if it is a link to one."""
    is_link: bool


def _entries(folder: str) -> list[_Entry]:
    """What is in a folder, looked at while it is open."""
    with opened_folder(Path(folder)) as descriptor, os.scandir(descriptor) as found:
        return [
            _Entry(each.name, f"{folder.rstrip('/')}/{each.name}", _is_folder(each), each.is_symlink())
            for each in found
        ]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _rules_above(folder: Path) -> _Rules | None:
    """The ignore files of the folders above, from the root of the repository down. Without a repository: none."""
    parents = [folder, *folder.parents]
    root = next((index for index, each in enumerate(parents) if (each / ".git").exists()), 0)
    rules: _Rules | None = None
    for each in reversed(parents[1 : root + 1]):
        rules = _rules_in(str(each), rules)
    # A folder that the rules hide and that is asked for by name is shown without them.
    if rules is not None and any(rules.hide(str(each), is_folder=True) for each in parents[: root or 1]):
        return None
    return rules


def _rules_in(folder: str, above: _Rules | None) -> _Rules | None:
    lines = [line for name in (*IGNORE_FILES, ".git/info/exclude") for line in _patterns(Path(folder, name))]
    if not lines:
        return above
    return _Rules(folder, git_patterns(lines), above)


def _patterns(path: Path) -> Iterable[str]:
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `part2` before `part10`, and without regard to letter case."""
    pieces = re.split(r"(\d+)", name.lower())
    key = tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces if piece)
    return (*key, (2, 0, name))


def _tree_order(entry: str) -> tuple[tuple[int, tuple[tuple[int, int, str], ...]], ...]:
    """Folders before files, and what is in a folder right after it."""
    *folders, last = entry.rstrip("/").split("/")
    kind = 0 if entry.endswith("/") else 1
    return (*((0, _natural(name)) for name in folders), (kind, _natural(last)))
