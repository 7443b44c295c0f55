"""What a command planted: files that run or steer something later, which were not there before.

What exists is covered by a mount; what does not exist cannot be (a mount over nothing would leave an empty file on the
disk). So after a command the workspace is looked through for guarded files that are newer than its start. The time of
the last change of an inode decides: no program can set it.

In git folders everything changes all the time; there only what git runs or follows is looked at. A submodule counts as
well: git enters the folders that the index names as such. A repository that was just made or cloned is as it should
be, unless it has hooks, or configuration beyond what git itself writes; its files are those that somebody committed.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.sandbox.git import GUARDED, git_folders, led_to
from joey.sandbox.mounts import MAX_ENTRIES, SKIPPED, entries_of, walk

_SLACK = 0.05
"""File systems take the time from a clock that ticks less often."""
_GITLINK = 0o160000
_MAX_INDEX = 64 * 1024 * 1024
_MAX_CONFIG = 1024 * 1024
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf)"
    r"|user\.(name|email)|init\.defaultbranch|extensions\.(objectformat|refstorage|worktreeconfig|partialclone)"
    r"|remote\.[^\n]*\.(url|fetch|pushurl|tagopt|prune|promisor|partialclonefilter)|remote\.pushdefault"
    r"|branch\.[^\n]*\.(remote|merge|rebase|description|pushremote)|push\.default|pull\.(rebase|ff)|commit\.gpgsign"
    r"|submodule\.[^\n]*\.(url|active|update|branch)|submodule\.active|gc\.auto|advice\.[a-z]+|color\.ui"
)
_URL_RUNS = re.compile(r"\s*(ext|fd)::", re.IGNORECASE)


@dataclass(slots=True)
class _Folder:
    """What a folder held when it was looked at."""

    looked_at: float
    folders: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    is_repository: bool = False


class Watch:
    """Looks for planted files again and again. A folder whose inode did not change since it was looked at holds what it
    held, so only those that changed are read again."""

    def __init__(self, workspace: Path, guarded: Callable[[str], bool]) -> None:
        self._root = str(workspace.resolve())
        self._guarded = guarded
        self._folders: dict[str, _Folder] = {}

    def planted(self, since: float, covered: frozenset[str] = frozenset()) -> dict[Path, float]:
        """The guarded files that came to be since then (seconds since the epoch), but for covered ones, and when."""
        since -= _SLACK
        found: dict[Path, None] = {}
        repositories: dict[Path, None] = {}
        for name, folder in self._walk(since):
            if folder.is_repository:
                repositories[Path(name, ".git")] = None
            fresh = (Path(each) for each in folder.guarded if each not in covered)
            found.update(dict.fromkeys(each for each in fresh if _newest(each) >= since))
        root = Path(self._root)
        for git in git_folders(root):
            repositories[git.path] = None
            repositories.update(dict.fromkeys(_submodules(git.path, root, since)))
        for repository in repositories:
            found.update(dict.fromkeys(_in_git(repository, since, covered)))
        return {path: _newest(path) for path in found}

    def _walk(self, since: float) -> Iterator[tuple[str, _Folder]]:
        """The folders of the workspace, nearest first. What lies in a repository that was just made is its own."""
        left, seen = deque([self._root]), 0
        while left and seen < MAX_ENTRIES:
            name = left.popleft()
            folder = self._look(name)
            seen += 1 + len(folder.folders)
            if name != self._root and folder.is_repository and _changed(Path(name, ".git")) >= since:
                yield name, _Folder(0.0, is_repository=True)
                continue
            yield name, folder
            left.extend(folder.folders)

    def _look(self, name: str) -> _Folder:
        known = self._folders.get(name)
        if known is not None and _changed(name) < known.looked_at - _SLACK:
            return known
        folder = self._folders[name] = _Folder(time.time())
        entries = entries_of(name)
        folder.is_repository = any(each.name == ".git" for each in entries)
        folder.guarded = tuple(each.path for each in entries if each.name != ".git" and self._guarded(each.path))
        folder.folders = tuple(
            each.path
            for each in entries
            if each.is_dir(follow_symlinks=False) and each.name not in SKIPPED and each.path not in folder.guarded
        )
        return folder


def _changed(path: Path | str) -> float:
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0.0


def _newest(path: Path) -> float:
    """When a file, or anything in a guarded folder, was changed last."""
    inside = walk(path, lambda _text: True) if path.is_dir() and not path.is_symlink() else ()
    return max((_changed(each) for each in (path, *inside)), default=0.0)


def _in_git(repository: Path, since: float, covered: frozenset[str]) -> Iterator[Path]:
    """What in a git folder, or in place of one, would make git run or follow something new."""
    if repository.is_symlink() or not repository.is_dir():
        named = None if repository.is_symlink() else led_to(repository)
        if named is not None:  # a worktree or a submodule, as git makes them
            yield from _in_git(named, since, covered)
        elif _changed(repository) >= since and str(repository) not in covered:
            yield repository
        return
    for name in GUARDED:
        path = repository / name
        if str(path) in covered or not os.path.lexists(path):
            continue
        if name == "hooks":
            yield from (each for each in _hooks(path) if _changed(each) >= since or _changed(path) >= since)
        elif _changed(path) >= since and not (name == "config" and is_harmless_config(path)):
            yield path
    for worktree in (repository / "worktrees").glob("*/config.worktree"):
        if _changed(worktree) >= since and str(worktree) not in covered and not is_harmless_config(worktree):
            yield worktree


def _hooks(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return [folder]
    return [each for each in folder.iterdir() if not each.name.endswith(".sample")]


def is_harmless_config(path: Path) -> bool:
    """Whether a configuration of git says nothing beyond what git itself writes on `init` and `clone`."""
    try:
        text = path.read_text("utf-8") if path.is_file() and path.stat().st_size <= _MAX_CONFIG else None
    except (OSError, UnicodeDecodeError):
        return False
    if text is None or "\\\n" in text:
        return False
    # A submodule's own folder says where its files are; whoever was led there checked that.
    entries = [each for each in _entries(text) if each[0] != "core.worktree" or path.parent.name == ".git"]
    return all(map(_is_harmless, entries))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in (each.strip() for each in text.splitlines()):
        if head := re.fullmatch(r'\[\s*([\w.-]+)\s*(?:"(.*)")?\s*\]', line):
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
        elif line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield f"{section}.{name.strip().lower()}", value


def _is_harmless(entry: tuple[str, str]) -> bool:
    name, value = entry
    return _HARMLESS.fullmatch(name) is not None and not _URL_RUNS.match(value) and "!" not in value


# Submodules, as the index names them


def _submodules(git_folder: Path, root: Path, since: float) -> Iterator[Path]:
    """The git folders of submodules, if the index was changed meanwhile: git enters them whenever it is asked."""
    index = git_folder / "index"
    if _changed(index) < since:
        return
    try:
        data = index.read_bytes() if index.stat().st_size <= _MAX_INDEX else b""
        names = list(gitlinks(data))
    except (OSError, ValueError, struct.error, IndexError):
        return
    for name in names:
        path = root / os.fsdecode(name) / ".git"
        if os.path.lexists(path):
            yield path


def gitlinks(index: bytes) -> Iterator[bytes]:
    """The paths of an index (versions 2 to 4) that stand for other repositories. Raises ValueError for what is none."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    at, name = 12, b""
    for _ in range(count):
        start = at
        mode, flags = struct.unpack_from(">I", index, at + 24)[0], struct.unpack_from(">H", index, at + 60)[0]
        at += 64 if flags & 0x4000 else 62
        dropped = 0
        if version == 4:
            dropped, at = _number(index, at)
        end = index.index(b"\0", at)
        name = name[: len(name) - dropped] + index[at:end] if version == 4 else index[at:end]
        at = end + 1 if version == 4 else start + ((end - start) // 8 + 1) * 8
        if mode == _GITLINK:
            yield name


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as git writes offsets, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
