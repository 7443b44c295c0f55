"""What only the disk can answer about a command: which repository git would use, whether a module is the project's own.

A repository's configuration can name programs that git runs. The workspace's own is read, and only settings that are
known to be harmless go unasked. A repository further inside (a fixture, something unpacked) is not the workspace's own.
Git also shows files that are nowhere in the workspace, from its history; where an ignore file hides something, that is
asked about.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterable, Iterator

from joey.policy.ignore import NAMES
from joey.policy.paths import Workspace
from joey.policy.shell.options import Use
from joey.policy.shell.repository import remote_names, repository_problems

_MAX_INDEX = 64 * 1024 * 1024
_SUBMODULE = 0o160000


def fact_problems(name: str, use: Use, workspace: Workspace, folders: Iterable[str]) -> Iterator[str]:
    """Why a command that the tables understand may do more in these folders."""
    for folder in sorted(folders):
        if name == "git":
            yield from _repository(workspace, folder)
        for module in use.modules:
            if not _is_own_module(workspace, folder, module):
                yield f"`{module}` is not a module of the project"
        for tool in use.installed:
            if not _is_installed(workspace, folder, tool):
                yield f"`{tool}` is not in node_modules, so it would be fetched"
        for remote in use.remotes:
            if not _knows(workspace, remote) and workspace.exists(posixpath.join(folder, remote)):
                yield f"`{remote}` is not a remote of the repository, but a folder"
    yield from _shown(use, workspace)


def _is_own_module(workspace: Workspace, folder: str, module: str) -> bool:
    path = module.replace(".", "/")
    places = [posixpath.join(folder, *above, path) for above in ((), ("src",))]
    return any(workspace.exists(f"{place}{end}") for place in places for end in (".py", "/__init__.py", "/__main__.py"))


def _is_installed(workspace: Workspace, folder: str, tool: str) -> bool:
    root = posixpath.normpath(workspace.root)
    place = posixpath.normpath(folder)
    while place.startswith(root):
        if workspace.exists(posixpath.join(place, "node_modules", ".bin", tool)):
            return True
        place = posixpath.dirname(place)
    return False


def _shown(use: Use, workspace: Workspace) -> Iterator[str]:
    if use.from_top and not workspace.exists(posixpath.join(workspace.root, ".git")):
        yield "the repository is larger than the workspace"
    if not workspace.ignore.specs or not use.shows:
        return
    if use.shows == "history":
        yield "it may show files of the history that an ignore file hides; name the paths that you want (`-- src`)"
    elif _tracks_hidden(workspace):
        yield "it may show files that an ignore file hides; name the paths that you want (`-- src`)"


def _knows(workspace: Workspace, remote: str) -> bool:
    common = _common_folder(workspace, posixpath.join(workspace.root, ".git"))
    text = workspace.text_of(posixpath.join(common, "config")) if common else None
    return remote in remote_names(text or "")


def _repository(workspace: Workspace, folder: str) -> Iterator[str]:
    """Why git, run in this folder, may run programs that a rule for it does not mean."""
    root, place = posixpath.normpath(workspace.root), posixpath.normpath(folder)
    while place != root and place.startswith(root.rstrip("/") + "/"):
        if _is_repository(workspace, place):
            yield f"it would use the repository in {posixpath.relpath(place, root)}, which is not the workspace's own"
            return
        place = posixpath.dirname(place)
    if workspace.exists(posixpath.join(root, ".git")):
        yield from _own_problems(workspace, posixpath.join(root, ".git"))
    elif _is_bare(workspace, root):
        yield "the workspace is a bare repository, whose configuration can run programs"


def _is_repository(workspace: Workspace, folder: str) -> bool:
    return workspace.exists(posixpath.join(folder, ".git")) or _is_bare(workspace, folder)


def _is_bare(workspace: Workspace, folder: str) -> bool:
    return all(workspace.exists(posixpath.join(folder, name)) for name in ("HEAD", "objects"))


def _own_problems(workspace: Workspace, place: str) -> Iterator[str]:
    common = _common_folder(workspace, place)
    text = workspace.text_of(posixpath.join(common, "config")) if common else None
    if text is None:
        yield "the configuration of its repository cannot be read"
    else:
        yield from repository_problems(text)
    for path in _submodules(workspace, place):
        inner = posixpath.join(path, ".git")
        if text is not None and workspace.exists(inner):
            yield from (problem for problem in _own_problems(workspace, inner) if "core.worktree" not in problem)


def _submodules(workspace: Workspace, place: str) -> Iterator[str]:
    """The folders of the repositories inside a repository, which git looks into as well, with their configuration."""
    folder = posixpath.dirname(place)
    try:
        entries = list(_entries(_index(place)))
    except (OSError, ValueError, struct.error):
        return
    for mode, name in entries:
        if mode == _SUBMODULE and workspace.locate(posixpath.join(folder, name)).inside:
            yield posixpath.join(folder, name)


def _common_folder(workspace: Workspace, place: str) -> str | None:
    """The folder with the configuration: `.git` itself, or where that of a linked worktree leads."""
    if workspace.is_folder(place):
        return place
    text = workspace.text_of(place) or ""
    if not text.startswith("gitdir:"):
        return None
    folder = posixpath.join(posixpath.dirname(place), text.removeprefix("gitdir:").strip())
    common = workspace.text_of(posixpath.join(folder, "commondir"))
    return posixpath.normpath(posixpath.join(folder, common.strip())) if common else folder


def _tracks_hidden(workspace: Workspace) -> bool:
    """Whether the repository's index names a file that an ignore file hides; also if it cannot be read."""
    place = posixpath.join(workspace.root, ".git")
    if not workspace.exists(posixpath.join(place, "index")):
        return not workspace.exists(posixpath.join(place, "HEAD"))
    try:
        return any(workspace.ignore.hiding(name) for _, name in _entries(_index(place)) if name not in NAMES)
    except (OSError, ValueError, struct.error):
        return True


def _index(place: str) -> bytes:
    with open(posixpath.join(place, "index"), "rb") as file:  # noqa: PTH123 - paths here are strings
        return file.read(_MAX_INDEX)


def _entries(index: bytes) -> Iterator[tuple[int, str]]:
    """The mode and the name of everything in an index of version 2 or 3. Raises ValueError for another."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError("an index in another format")
    at = 12
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", index, at + 24)
        (flags,) = struct.unpack_from(">H", index, at + 60)
        start = at + (64 if flags & 0x4000 else 62)
        end = index.index(b"\0", start)
        yield mode, index[start:end].decode("utf-8", "surrogateescape")
        at += (end - at + 8) // 8 * 8
