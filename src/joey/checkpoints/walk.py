"""The files and folders of a workspace that a checkpoint looks at.

Left alone, and named as left alone: what `.gitignore` files and `.git/info/exclude` ignore, the folders of version
control (at any depth, so that nested repositories keep their own), and folders that tools can make again. Links are
never followed. A nested repository is a place of its own: the rules above it do not reach into it, as with git.

What a command is about to delete is looked at, too, although it is left alone otherwise: ignored files, and
repositories in folders. Only what the command line names is looked for (`rm -rf build`, `git clean -fdx`), and only
where keeping it is cheap: a folder with too much in it is left out whole, and is named when somebody goes back.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from pathspec import GitIgnoreSpec

from joey.bounded.patterns import git_patterns, read_lines
from joey.system.temporaries import is_temporary

NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
"""Version control keeps these itself; nothing here ever reads or writes in them."""
REMADE = frozenset({
    "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".gradle", ".terraform", ".next", ".cache",
})  # fmt: skip
_Rules: TypeAlias = tuple[tuple[int, GitIgnoreSpec], ...]
"""How many characters of a path to leave out for each set of rules, the outermost first."""


@dataclass(slots=True)
class WalkResult:
    """What is there: paths relative to the workspace, with `/`."""

    found: dict[str, os.stat_result] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    """There, but not looked at. The empty path: there were too many to look at all."""
    temporary: list[str] = field(default_factory=list)
    """Temporary files of Joey's own, which are no part of a workspace."""


def walk(root: Path, limit: int) -> WalkResult:
    seen = WalkResult()
    folders: list[tuple[str, _Rules]] = [("", ())]
    while folders:
        prefix, rules = folders.pop()
        folder = os.path.join(root, prefix)  # noqa: PTH118 - Path objects cost more than all the rest of this loop
        try:
            with os.scandir(folder) as listing:
                children = sorted(listing, key=lambda child: child.name)
        except OSError:
            seen.skipped.add(prefix.rstrip("/"))
            continue
        rules = _rules_of(folder, len(prefix), rules, {child.name for child in children})
        for child in children:
            path = prefix + child.name
            if len(seen.found) >= limit:
                seen.skipped.add("")
                return seen
            if _look_at(child, path, rules, seen) and stat.S_ISDIR(seen.found[path].st_mode):
                folders.append((path + "/", rules))
    return seen


def _look_at(child: os.DirEntry[str], path: str, rules: _Rules, seen: WalkResult) -> bool:
    if is_temporary(child.name):
        seen.temporary.append(path)
        return False
    try:
        info = child.stat(follow_symlinks=False)
    except OSError:
        seen.skipped.add(path)
        return False
    folder = stat.S_ISDIR(info.st_mode)
    unwanted = child.name in NEVER or (folder and child.name in REMADE) or _special(info)
    if unwanted or _ignored(path + "/" if folder else path, rules):
        seen.skipped.add(path)
        return False
    seen.found[path] = info
    return True


def _special(info: os.stat_result) -> bool:
    """A pipe, a socket, a device: opening one could block, and it has no content to keep."""
    return not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode))


def _rules_of(folder: str, depth: int, above: _Rules, names: set[str]) -> _Rules:
    lines: list[str] = []
    if ".git" in names:
        above = ()
        lines += read_lines(os.path.join(folder, ".git", "info", "exclude"))  # noqa: PTH118 - as above
    if ".gitignore" in names:
        lines += read_lines(os.path.join(folder, ".gitignore"))  # noqa: PTH118 - as above
    return (*above, (depth, git_patterns(lines))) if lines else above


def _ignored(path: str, rules: _Rules) -> bool:
    for depth, spec in reversed(rules):
        verdict = spec.check_file(path[depth:]).include
        if verdict is not None:
            return verdict
    return False


MAX_PATHS, MAX_BYTES = 2_000, 16 << 20
"""The largest folder that is kept like this."""


def deleted_by(command: str, folder: Path) -> list[Path]:
    """The places that a command line, run in this folder, names as to be deleted. Whoever hides it is not found."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    found: list[Path] = []
    for ends, parts in groupby(words, lambda word: set(word) <= set(";&|()<>")):
        found += [] if ends else _named(list(parts), folder)
    return found


def _named(words: Sequence[str], folder: Path) -> Iterator[Path]:
    program = words[0].rpartition("/")[2]
    if program == "rm":
        for word in words[1:]:
            if not word.startswith("-"):
                found = glob(word, root_dir=folder)  # noqa: PTH207 - as the shell reads it, absolute or not
                yield from (folder / each for each in found or [word])
    elif words[:2] == ["git", "clean"] and any(word.startswith("-") and "x" in word.lower() for word in words):
        yield folder


def worth_keeping(root: Path, seen: WalkResult, doomed: Collection[Path]) -> list[str]:
    """The paths in a workspace, relative to it, that are about to go and that nobody has looked at."""
    found: dict[str, None] = {}
    for place in doomed:
        name = os.path.relpath(place, root)
        if name.startswith(".."):
            continue
        for skipped in sorted(seen.skipped - {""}):
            if name == "." and skipped not in NEVER:
                found |= dict.fromkeys(_all_in(root, skipped))
            elif _under(skipped, name) or _under(name, skipped):
                found |= dict.fromkeys(_all_in(root, max(skipped, name, key=len)))
    return list(found)


def _under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _all_in(root: Path, name: str) -> list[str]:
    """A path and all below it; nothing if that is too much."""
    found, size = [name], 0
    for folder, folders, files in os.walk(root / name):
        for each in (*folders, *files):
            path = os.path.join(folder, each)  # noqa: PTH118 - many of them
            found.append(os.path.relpath(path, root))
            size += os.lstat(path).st_size
        if len(found) > MAX_PATHS or size > MAX_BYTES:
            return []
    return found
