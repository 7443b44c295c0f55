"""Files that a program writes without being given their names: compiled beside sources, kept in caches.

`javac` puts a class beside each source that it comes across, `tsc` a script, `ruff` a cache beside its configuration.
Nothing in the words tells which of them are written, but what is there can be looked at: where one of them is a link
that leads out of the workspace, or to what is protected or hidden, the program would write through it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator

from joey.policy.paths import Workspace
from joey.policy.shell.options import Use
from joey.policy.shell.outputs import RUNS_RUFF, folders_above
from joey.system.filenames import quoted

_MAX_ENTRIES = 100_000
_NOT_SOURCES = frozenset({"node_modules", ".git"})
_OF_TSC = (".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts", ".map", ".tsbuildinfo")
_OF_JAVAC = (".class",)
_RUFF_CACHE = ".ruff_cache"


def emitted_problems(name: str, use: Use, workspace: Workspace, folders: Iterable[str]) -> Iterator[str]:
    """Why a command may write through a link that it is not given."""
    if name in ("tsc", "vue-tsc") and not use.has("--noEmit", "-v", "--version", "-h", "--help", "--showConfig"):
        yield from _compiled(workspace, _OF_TSC)
    elif name == "javac" and use.operands:
        yield from _compiled(workspace, _OF_JAVAC)
    for folder in sorted(folders):
        if (name, *use.path[:1]) in RUNS_RUFF and not use.has("-n", "--no-cache"):
            yield from _caches(use, workspace, folder)
        elif name == "git" and use.path == ("init",):
            place = workspace.join(folder, use.operands[0].text if use.operands else ".")
            yield from _repository(workspace, posixpath.join(place, ".git"))


def _compiled(workspace: Workspace, endings: tuple[str, ...]) -> Iterator[str]:
    """Links below the workspace with the names of what a compiler writes, and those to folders, which it goes into."""
    for path in _links_below(workspace.root):
        if path is None:
            yield "there are too many files to see where it writes"
        elif path.endswith(endings) or workspace.is_folder(path):
            yield from _led_away(workspace, path)


def _links_below(start: str) -> Iterator[str | None]:
    """The links below a folder, without those in packages; None for too many files."""
    left = _MAX_ENTRIES
    for folder, folders, files in os.walk(start):
        folders[:] = [name for name in folders if name not in _NOT_SOURCES]
        left -= len(folders) + len(files)
        if left < 0:
            yield None
            return
        paths = (posixpath.join(folder, name) for name in (*folders, *files))
        yield from (path for path in paths if os.path.islink(path))  # noqa: PTH114 - strings, as the model wrote them


def _led_away(workspace: Workspace, path: str) -> Iterator[str]:
    located = workspace.locate(path)
    if located.problem or not located.inside or located.protected or located.hidden_by:
        name = quoted(posixpath.relpath(path, workspace.root))
        yield f"{name} is a link that leads out of the workspace, or to what is protected, and may be written through"


def _caches(use: Use, workspace: Workspace, folder: str) -> Iterator[str]:
    """A cache is in the folder of the nearest configuration above a file, or else where the command runs."""
    starts = [workspace.join(folder, word.text) for word in use.operands] or [folder]
    above = {place for start in (folder, *starts) for place in folders_above(workspace, start)}
    for path in sorted(posixpath.join(place, _RUFF_CACHE) for place in above):
        yield from _through(workspace, path)
    for start in starts:
        for link in _links_below(start):
            if link is None:
                yield "there are too many files to see where it writes"
            elif _RUFF_CACHE in link[len(start) :].split("/"):
                yield from _led_away(workspace, link)


def _through(workspace: Workspace, path: str) -> Iterator[str]:
    """A folder that is written if it is there: itself, and what is in it."""
    if workspace.is_link(path):
        yield from _led_away(workspace, path)
    elif workspace.is_folder(path):
        for link in _links_below(path):
            yield from _led_away(workspace, link) if link else ()


def _repository(workspace: Workspace, place: str) -> Iterator[str]:
    """`git init` fills a repository that is there, also where a link or a file of that name says."""
    name = quoted(posixpath.relpath(place, workspace.root))
    if workspace.is_link(place) or (workspace.exists(place) and not workspace.is_folder(place)):
        yield f"{name} leads to a repository somewhere else"
    elif workspace.is_folder(place) and (out := workspace.links_in(workspace.locate(place)).out):
        yield f"`{out}` in {name} is a link that leads out of the workspace"
