"""The git folders that belong to a workspace, and what in them git runs or follows.

A commit writes objects, references and the index; it never writes hooks or configuration. So a git folder is writable,
with those read-only. A `.git` of a linked worktree or a submodule is a file that names a folder elsewhere. That file
came with the workspace, so its word counts only if the folder it names points back: a worktree's `gitdir`, a
submodule's `core.worktree`. Otherwise a file could make any folder writable.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GUARDED = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
"""What git runs, or what leads it to something else that it runs."""
_OF_WORKTREES = ("commondir", "gitdir", "config.worktree")
_MAX_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A git folder that commands may write to, and those parts that they may not (only what exists)."""

    path: Path
    guarded: tuple[Path, ...]


def git_folders(workspace: Path) -> tuple[GitFolder, ...]:
    """The git folders of the repository that a workspace (resolved) is, or is part of; none outside of one."""
    found = _dot_git(workspace)
    if found is None:
        return ()
    if found.is_symlink():
        return ()
    if found.is_dir():
        if not _is_git_folder(found):
            return (GitFolder(found, (*_existing(found, GUARDED),)),)
        return (_folder(found, found.parent),)
    named = led_to(found)
    return (_folder(named, found.parent),) if named is not None else ()


def _dot_git(workspace: Path) -> Path | None:
    """The nearest `.git`, upwards, as git looks for it."""
    for folder in (workspace, *workspace.parents):
        if os.path.lexists(folder / ".git"):
            return folder / ".git"
    return None


def _is_git_folder(path: Path) -> bool:
    return (path / "HEAD").exists() and (path / "objects").is_dir() and (path / "refs").is_dir()


def led_to(link: Path) -> Path | None:
    """The folder to write to for a `.git` that is a file, if that folder says so itself."""
    named = _line(link, "gitdir: ")
    if named is None:
        return None
    folder = (link.parent / named).resolve()
    if common := _common(folder):
        back = _line(folder / "gitdir", "")
        points_back = back is not None and (folder / back).resolve() == link.resolve()
        return common if points_back and folder.parent == common / "worktrees" else None
    return folder if _is_git_folder(folder) and _worktree_of(folder) == link.parent.resolve() else None


def _common(folder: Path) -> Path | None:
    named = _line(folder / "commondir", "")
    common = (folder / named).resolve() if named else None
    return common if common is not None and _is_git_folder(common) else None


def _worktree_of(folder: Path) -> Path | None:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        lines = (folder / "config").read_text("utf-8", "replace").splitlines()
        parser.read_string("\n".join(line.strip() for line in lines))
        return (folder / parser.get("core", "worktree").strip('"')).resolve()
    except (OSError, configparser.Error):
        return None


def _line(path: Path, start: str) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            line = file.read(4096).split("\n", 1)[0]
    except OSError:
        return None
    return line.removeprefix(start).strip() or None if line.startswith(start) else None


def _folder(path: Path, top: Path) -> GitFolder:
    guarded = [
        *_existing(path, GUARDED),
        *_named_by_config(path / "config", top),
        *(place for each in _inside(path / "worktrees") for place in _named_by_config(each / "config.worktree", top)),
        *(place for each in _inside(path / "worktrees") for place in _existing(each, _OF_WORKTREES)),
        *(place for each in module_folders(path) for place in _existing(each, GUARDED)),
    ]
    return GitFolder(path, tuple(guarded))


def _named_by_config(config: Path, top: Path) -> Iterator[Path]:
    """The folder of hooks and the files of settings that a configuration names, if they are there. Hooks are looked for
    from the top of the working tree."""
    try:
        text = config.read_text("utf-8", "replace")
    except OSError:
        return
    for base, name in _NAMED.findall(text):
        place = (top if base.lower() == "hookspath" else config.parent) / Path(name.strip(' "')).expanduser()
        if place.exists() and not place.is_symlink():
            yield place.resolve()


_NAMED = re.compile(r"^\s*(hooksPath|path)\s*=\s*(\S[^\n#;]*)", re.IGNORECASE | re.MULTILINE)


def _existing(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    return (folder / name for name in names if os.path.lexists(folder / name))


def _inside(folder: Path) -> list[Path]:
    try:
        found = [Path(each.path) for each in os.scandir(folder) if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return found[:_MAX_FOLDERS]


def module_folders(git_folder: Path) -> Iterator[Path]:
    """The git folders of its submodules, and of theirs."""
    return _modules(git_folder / "modules")


def _modules(folder: Path) -> Iterator[Path]:
    """The git folders of submodules. A submodule's name may have slashes, and submodules have submodules."""
    for each in _inside(folder):
        if _is_git_folder(each):
            yield each
            yield from _modules(each / "modules")
        else:
            yield from _modules(each)
