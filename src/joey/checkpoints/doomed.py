"""What a command is about to delete that checkpoints leave out otherwise: ignored files, and repositories in folders.

Only what the command line names is looked for (`rm -rf build`, `git clean -fdx`), and only where keeping it is cheap: a
folder with too much in it is left out whole, and is named when somebody goes back.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Sequence
from glob import glob
from itertools import groupby
from pathlib import Path

from joey.checkpoints.walk import NEVER, WalkResult

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
