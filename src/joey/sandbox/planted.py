"""What a command planted: files that run or steer something later, which were not there before.

What exists is covered by a mount; what does not exist cannot be (a mount over nothing would leave an empty file on the
disk). So the guarded files are listed before the first command, by the identity of their inodes, and looked for again
after each. Planted is one that is not what was there before: another inode under that name, also one that was moved
there with the folder it lies in; or the same, changed since the command began. The time of the last change of an inode
decides about that: no program can set it.

In git folders everything changes all the time; there only what git runs or follows is looked at, in whatever folder git
would take for its own, `.git` or not. A submodule counts as well: git enters the folders that the index names as such.
A repository that was just made or cloned is as it should be, unless it has hooks, or configuration beyond what git
itself writes; its files are those that somebody committed.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from joey.bounded.folders import entries_in
from joey.sandbox.git import GUARDED, git_folders, led_to, module_folders
from joey.sandbox.mounts import MAX_ENTRIES, SKIPPED, Identity, identity, walk

_SLACK = 0.05
"""File systems take the time from a clock that ticks less often."""
_GITLINK = 0o160000
_MAX_INDEX = 64 * 1024 * 1024
_MAX_CONFIG = 1024 * 1024
_MAX_KEPT, _MAX_KEPT_FILE = 4 * 1024 * 1024, 64 * 1024
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf"
    r"|sharedrepository)|receive\.denynonfastforwards"
    r"|user\.(name|email)|init\.defaultbranch|extensions\.(objectformat|refstorage|worktreeconfig|partialclone)"
    r"|remote\.[^\n]*\.(url|fetch|pushurl|tagopt|prune|promisor|partialclonefilter)|remote\.pushdefault"
    r"|branch\.[^\n]*\.(remote|merge|rebase|description|pushremote)|push\.default|pull\.(rebase|ff)|commit\.gpgsign"
    r"|submodule\.[^\n]*\.(url|active|update|branch)|submodule\.active|gc\.auto|advice\.[a-z]+|color\.ui"
)
_URL_RUNS = re.compile(r"\s*(ext|fd)::", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kept:
    """A guarded file as it was at the last look, so that it can be put back: its folder, its state, and itself."""

    folder: Identity | None
    state: tuple[Identity | None, float]
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Planted:
    """A file that was not there like this before. One that `lay_elsewhere` was guarded there, and is as it was."""

    path: Path
    when: float
    lay_elsewhere: bool = False
    before: Kept | None = None
    """What was there before, in the same folder, if that was a file and is known."""


@dataclass(slots=True)
class _Folder:
    """What a folder held when it was looked at."""

    looked_at: float
    identity: Identity | None
    folders: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    """What in it git would take for a git folder, itself perhaps."""


class Watch:
    """Looks for planted files again and again. A folder whose inode did not change since it was looked at holds what it
    held, so only those that changed are read again. It is made before the first command runs."""

    def __init__(self, workspace: Path, guarded: Callable[[str], bool], max_folders: int = MAX_ENTRIES) -> None:
        self._root = str(workspace.resolve())
        self._guarded = guarded
        self.max_folders = max_folders
        self._folders: dict[str, _Folder] = {}
        self._links: tuple[float, tuple[Path, ...]] = (-1.0, ())
        self._repositories: dict[str, Identity | None] = {}
        self.is_whole = True
        """Whether the workspace is small enough to be looked through to its end."""
        self._looked_at = time.time()
        self._known = {str(path): identity(path) for path, _own in self._watched(float("inf"))}
        self._kept: dict[str, Kept] = {}
        self._put_back: dict[str, tuple[Identity | None, float]] = {}
        self._keep()

    def planted(self, since: float, covered: Mapping[str, Identity]) -> list[Planted]:
        """The guarded files that are not what they were when this was last asked, while commands ran that began at
        `since` (seconds since the epoch). What is covered and has been there cannot have been changed by commands."""
        since -= _SLACK
        began = time.time()
        present: dict[str, Identity | None] = {}
        found = []
        for path, own in self._watched(since):
            present[str(path)] = identity(path)
            if not own and (new := self._judged(path, since, covered)) is not None:
                found.append(new)
        self._known, self._looked_at = present, began
        self._keep(except_for={str(each.path) for each in found})
        return found

    def was_put_back(self, path: Path) -> None:
        """A file is as it was before, by our doing."""
        self._known[str(path)] = identity(path)
        self._put_back[str(path)] = _state(path)

    def _keep(self, except_for: Collection[str] = ()) -> None:
        """Remember what there is now, but for what was just planted."""
        kept: dict[str, Kept] = {}
        room = _MAX_KEPT
        for path in self._known:
            now = self._kept.get(path)
            if path not in except_for and (now is None or now.state != _state(path)):
                now = _read(path)
            if now is not None and (room := room - len(now.content)) >= 0:
                kept[path] = now
        self._kept = kept

    def _judged(self, path: Path, since: float, covered: Mapping[str, Identity]) -> Planted | None:
        now = identity(path)
        same = now is not None and self._known.get(str(path)) == now
        above = covered.get(str(path.parent))  # as the folder of git's hooks is
        if now is None or (same and (covered.get(str(path)) == now or (above and above == identity(path.parent)))):
            return None
        if self._put_back.get(str(path)) == _state(path):
            return None
        when = _newest(path)
        # What was made after the last look and before the command began is the user's, and so is what is out of sight.
        if when < since and (same or not self.is_whole or when >= self._looked_at):
            return None
        if path.name in ("config", "config.worktree") and is_harmless_config(path):
            return None
        before = self._kept.get(str(path))
        if before is not None and before.folder != identity(path.parent):
            before = None  # that one went elsewhere with its folder
        return Planted(path, when, lay_elsewhere=when < since and now in self._known.values(), before=before)

    def _watched(self, since: float) -> Iterator[tuple[Path, bool]]:
        """Everything that is looked at, and whether it is a new repository's own."""
        repositories: dict[Path, None] = {}
        for folder, own in self._walk(since):
            repositories.update((Path(each), None) for each in folder.git)
            yield from ((Path(each), own) for each in folder.guarded)
        root = Path(self._root)
        for git in git_folders(root):
            repositories[git.path] = None
            repositories.update(dict.fromkeys(self._submodules(git.path, root)))
        self._repositories = {str(each): identity(each) for each in repositories}
        found = dict.fromkeys(path for each in repositories for path in _in_git(each))
        yield from ((path, False) for path in found)

    def _walk(self, since: float) -> Iterator[tuple[_Folder, bool]]:
        """The folders of the workspace, nearest first. What lies in a repository that was just made is its own."""
        left, seen = deque([(self._root, False)]), 0
        while left and seen < self.max_folders:
            name, own = left.popleft()
            folder = self._look(name)
            seen += 1 + len(folder.folders)
            own = own or (name != self._root and self._was_made(f"{name}/.git", since))
            yield folder, own
            left.extend((each, own) for each in folder.folders)
        self.is_whole = not left

    def _was_made(self, git: str, since: float) -> bool:
        now = identity(git)
        return now is not None and self._repositories.get(git) != now and _changed(git) >= since

    def _look(self, name: str) -> _Folder:
        known, now = self._folders.get(name), identity(name)
        if known is not None and known.identity == now and _changed(name) < known.looked_at - _SLACK:
            return known
        folder = self._folders[name] = _Folder(time.time(), now)
        entries = entries_in(name)
        names = {each.name for each in entries}
        folder.git = tuple(each.path for each in entries if each.name == ".git")
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
            folder.git = (*folder.git, name)
        folder.guarded = tuple(each.path for each in entries if each.name != ".git" and self._guarded(each.path))
        folder.folders = tuple(
            each.path
            for each in entries
            if each.is_dir(follow_symlinks=False) and each.name not in SKIPPED and each.path not in folder.guarded
        )
        return folder

    def _submodules(self, git_folder: Path, root: Path) -> tuple[Path, ...]:
        """The git folders of submodules, as the index names them: git enters them whenever it is run."""
        index = git_folder / "index"
        changed = _changed(index)
        if changed != self._links[0] or time.time() - changed < 1:
            self._links = changed, tuple(root / os.fsdecode(each) / ".git" for each in _links_in(index))
        return tuple(each for each in self._links[1] if os.path.lexists(each))


def _changed(path: Path | str) -> float:
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0.0


def _state(path: Path | str) -> tuple[Identity | None, float]:
    return identity(path), _changed(path)


def _read(path: str) -> Kept | None:
    """A regular file that is not too large to be kept, links not followed."""
    folder, state = identity(Path(path).parent), _state(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_KEPT_FILE:
            return None
        return Kept(folder, state, os.read(descriptor, _MAX_KEPT_FILE), stat.S_IMODE(status.st_mode))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _newest(path: Path) -> float:
    """When a file, or anything in a guarded folder, was changed last."""
    inside = walk(path, lambda _text: True) if path.is_dir() and not path.is_symlink() else ()
    return max((_changed(each) for each in (path, *inside)), default=0.0)


def _in_git(repository: Path) -> Iterator[Path]:
    """What there is in a git folder, or in place of one, that makes git run or follow something."""
    if repository.is_symlink() or not repository.is_dir():
        named = None if repository.is_symlink() else led_to(repository)
        if named is not None:  # a worktree or a submodule, as git makes them
            yield from _in_git(named)
        else:
            yield repository
        return
    for name in GUARDED:
        path = repository / name
        if name == "hooks":
            yield from _hooks(path)
        elif os.path.lexists(path):
            yield path
    yield from (each for each in _rebases(repository) if _runs_programs(each))
    yield from (repository / "worktrees").glob("*/config.worktree")
    yield from (each for each in (repository / "worktrees").glob("*/commondir") if not _is_usual(each))
    for module in module_folders(repository):
        yield from _in_git(module)


def _rebases(repository: Path) -> Iterator[Path]:
    """The lists of what is left to do where a rebase has stopped, also in linked worktrees."""
    for folder in (repository, *(repository / "worktrees").glob("*")):
        yield folder / "rebase-merge" / "git-rebase-todo"


def _runs_programs(todo: Path) -> bool:
    """Whether `git rebase --continue` would run a program. A list that cannot be read counts as one that does."""
    if not os.path.lexists(todo):
        return False
    kept = _read(str(todo))
    return kept is None or re.search(rb"^\s*(?:x|exec)\s", kept.content, re.MULTILINE) is not None


def _is_usual(commondir: Path) -> bool:
    """Whether a worktree's git folder leads to the repository that it lies in."""
    try:
        return commondir.is_file() and commondir.stat().st_size < 100 and commondir.read_bytes().strip() == b"../.."
    except OSError:
        return False


def _hooks(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return [folder] if os.path.lexists(folder) else []
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


def _links_in(index: Path) -> list[bytes]:
    try:
        return list(gitlinks(index.read_bytes() if index.stat().st_size <= _MAX_INDEX else b""))
    except (OSError, ValueError, struct.error, IndexError):
        return []


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
