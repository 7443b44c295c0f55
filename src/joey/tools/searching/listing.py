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
import stat
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from joey.bounded.folders import LinkInPathError, opened_folder, reason
from joey.bounded.patterns import git_patterns, read_lines
from joey.system.filenames import quoted

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
    folder: Path, *, recursive: bool, limit: int, hidden: Callable[[str], bool], seconds: float = 10.0
) -> FolderListing:
    """The entries of a folder. `hidden` says which (absolute) paths are not to be shown at all."""
    walk = _Walk(folder, limit, hidden, time.monotonic() + seconds)
    walk.first_level()
    if recursive:
        walk.below()
    walk.listing.entries.sort(key=_tree_order)
    return walk.listing


def look_at_files(
    folder: Path, *, limit: int, hidden: Callable[[str], bool], seconds: float
) -> tuple[dict[str, os.stat_result], bool]:
    """The regular files that a whole listing would show, with size and time; also whether some are missing.
    Nothing is sorted for a reader: this is for a look at every file, again and again."""
    walk = _StatWalk(folder, limit, hidden, time.monotonic() + seconds)
    walk.first_level()
    walk.below()
    return walk.files, walk.listing.cut or walk.listing.timed_out


class _Walk:
    def __init__(self, folder: Path, limit: int, hidden: Callable[[str], bool], deadline: float) -> None:
        self.listing = FolderListing()
        self._folder = folder
        self._limit = limit
        self._hidden = hidden
        self._deadline = deadline
        self._waiting: deque[tuple[str, str, _Rules | None]] = deque()

    def first_level(self) -> None:
        self._visit(str(self._folder), "", _rules_above(self._folder))

    def below(self) -> None:
        while self._waiting and not self._is_over():
            self._visit(*self._waiting.popleft())

    def _is_over(self) -> bool:
        self.listing.timed_out = time.monotonic() > self._deadline
        # Whether a folder that waits holds anything is not known without looking, so this may be said of empty ones.
        self.listing.cut = self.listing.cut or len(self.listing.entries) >= self._limit
        return self.listing.timed_out or self.listing.cut

    def _visit(self, folder: str, prefix: str, rules: _Rules | None) -> None:
        rules = _rules_in(folder, rules)
        for entry in self._sorted_entries(folder, prefix):
            if self._is_left_out(entry, rules):
                continue
            if prefix and len(self.listing.entries) >= self._limit:
                self.listing.cut = True
                return
            name = prefix + entry.name
            self._found(name, entry)
            if entry.is_folder and self._may_enter(entry, name):
                self._waiting.append((entry.path, f"{name}/", rules))

    def _found(self, name: str, entry: _Entry) -> None:
        self.listing.entries.append(f"{name}/" if entry.is_folder else name)

    def _sorted_entries(self, folder: str, prefix: str) -> list[_Entry]:
        try:
            return self._in_order(folder)
        except OSError as problem:
            if not prefix and isinstance(problem, LinkInPathError):
                raise
            self.listing.unreadable.append(f"{quoted(prefix or './')} ({reason(problem)})")
            return []

    def _in_order(self, folder: str) -> list[_Entry]:
        return sorted(_entries(folder), key=lambda entry: _natural(entry.name))

    def _is_left_out(self, entry: _Entry, rules: _Rules | None) -> bool:
        if entry.name == ".git":
            return True
        if rules is not None and rules.hide(entry.path, is_folder=entry.is_folder and not entry.is_link):
            return True
        try:
            # No folder on the way was a link when it was opened, so that only a link leads elsewhere.
            return self._hidden(str(Path(entry.path).resolve()) if entry.is_link else entry.path)
        except (OSError, RuntimeError):  # a loop of links leads nowhere, so that nothing is hidden there
            return False

    def _may_enter(self, entry: _Entry, name: str) -> bool:
        if entry.name.startswith(".") or entry.name in NOT_ENTERED or entry.is_link:
            self.listing.not_entered.append(f"{name}/")
            return False
        return True


class _StatWalk(_Walk):
    """Keeps what the system says of each file, and sorts no more than is needed to be the same each time."""

    def __init__(self, folder: Path, limit: int, hidden: Callable[[str], bool], deadline: float) -> None:
        super().__init__(folder, limit, hidden, deadline)
        self.files: dict[str, os.stat_result] = {}

    def _found(self, name: str, entry: _Entry) -> None:
        super()._found(name, entry)
        if entry.info is not None and stat.S_ISREG(entry.info.st_mode):
            self.files[name] = entry.info

    def _in_order(self, folder: str) -> list[_Entry]:
        return sorted(_entries(folder, look=True), key=attrgetter("name"))


class _Entry(NamedTuple):
    name: str
    path: str
    is_folder: bool
    """Also if it is a link to one."""
    is_link: bool
    info: os.stat_result | None


def _entries(folder: str, *, look: bool = False) -> list[_Entry]:
    """What is in a folder, looked at while it is open."""
    above = folder.rstrip("/")
    with opened_folder(Path(folder)) as descriptor, os.scandir(descriptor) as found:
        return [
            _Entry(each.name, f"{above}/{each.name}", _is_folder(each), each.is_symlink(), _info(each, look=look))
            for each in found
        ]


def _info(entry: os.DirEntry[str], *, look: bool) -> os.stat_result | None:
    if not look:
        return None
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:  # gone, or not to be looked at
        return None


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
    lines = [line for name in (*IGNORE_FILES, ".git/info/exclude") for line in read_lines(Path(folder, name))]
    if not lines:
        return above
    return _Rules(folder, git_patterns(lines), above)


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
