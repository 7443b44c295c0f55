"""What a command finds where: the places of a sandbox, in the order in which they are put there.

The whole disk is read-only underneath. Above it lie fresh /proc and /dev, empty /tmp, /var/tmp and /run, the workspace
(writable), its git folder (writable but for what git runs), protected files (read-only), caches (Joey's own), and what
is hidden (empty). Only what exists is covered: a mount over nothing would leave an empty file behind on the disk.

A place inside the workspace is opened step by step without following links, and handed over as that descriptor: what
a process of the workspace puts in its place meanwhile is not what gets mounted.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from joey.bounded.folders import entries_in
from joey.sandbox.git import GitFolder, git_folders
from joey.sandbox.hidden import CACHES, READABLE_CACHES, hidden_places, homes
from joey.sandbox.settings import Walls
from joey.system.folders import cache_folder, state_folder, user_folder

Identity: TypeAlias = tuple[int, int]
"""A file whatever its name is: device and inode."""
Kind: TypeAlias = Literal["read", "write", "closed", "empty", "passage", "link"]
PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - the sandbox's own
_SYSTEM = ("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run", "/var", "/opt")
SKIPPED = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", "target", ".git"})
"""Folders of a workspace that are not looked through: large, and what lies in them runs only where they are used."""
_IGNORE_FILES = (".joeyignore", ".rooignore")
MAX_ENTRIES = 20_000
MAX_COVERED = 400


@dataclass(frozen=True, slots=True)
class Mount:
    """One place. A source that is a number is a descriptor; `closed` and `empty` have none."""

    kind: Kind
    place: str
    source: str | int = ""
    is_folder: bool = False


@dataclass(slots=True)
class Layout:
    """All the places of a sandbox, and the descriptors that some of them are handed over by."""

    mounts: list[Mount] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that lead programs to the places made for them."""
    covered: dict[str, Identity] = field(default_factory=dict)
    """The files of the workspace that cannot be changed. Their names may come to stand for others, where a folder above
    them is renamed."""
    writes: bool = True
    """Whether the workspace is writable."""

    def close(self) -> None:
        for each in self.descriptors:
            os.close(each)
        self.descriptors.clear()


def too_broad(workspace: Path) -> str | None:
    """Why commands may not write in a workspace: it holds far more than a project. None if they may."""
    root = workspace.resolve()
    if str(root) in ("/", *_SYSTEM):
        return f"the workspace is {root}, a folder of the system"
    for home in homes():
        if root == home:
            return "the workspace is your home folder"
        if home.is_relative_to(root):
            return f"the workspace ({root}) holds your home folder"
    return None


def layout(walls: Walls, more: Iterable[Mount] = ()) -> Layout:
    """The places for these walls, as the disk is now, and `more`. Raises OSError."""
    made = Layout(environment=dict.fromkeys(("TMPDIR", "TMP", "TEMP"), "/tmp"))  # noqa: S108
    root = walls.workspace.resolve()
    made.writes = too_broad(root) is None
    try:
        found = [
            *_visible(root),
            *_caches(root, made),
            *_workspace(root, walls, made),
            *(_opened("write", each, Path("/"), made) for each in walls.writable),
            *more,
        ]
        hidden = list(_hidden(walls, root, found))
        found = [*(each for each in found if _stays(each, root, hidden)), *hidden]
        links = _links_to(walls.workspace)
    except BaseException:
        made.close()
        raise
    made.mounts = [*links, *sorted(found, key=lambda each: each.place.count("/") if each.place != "/" else 0)]
    return made


def _is_private(path: Path | str) -> bool:
    return any(str(path).startswith(f"{each}/") for each in PRIVATE)


def _visible(root: Path) -> Iterator[Mount]:
    """What must be there although it lies in a folder that is empty inside: Python, Joey, programs, the home folder."""
    package = Path(__file__).resolve().parent
    needed = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent, package, *homes()]
    resolver = Path("/etc/resolv.conf").resolve()
    programs = (Path(each) for each in os.environ.get("PATH", "").split(":") if each.startswith("/"))
    for each in dict.fromkeys((*needed, *programs, resolver, Path("/run/current-system"))):
        if _is_private(each) and each.exists() and each != root:
            yield Mount("read", str(each), str(each), is_folder=each.is_dir())


def _links_to(workspace: Path) -> list[Mount]:
    """The links on the way to a workspace that lie in a folder which is empty inside."""
    way = [*reversed(workspace.absolute().parents), workspace.absolute()]
    links = (each for each in way if _is_private(each) and each.is_symlink())
    return [Mount("link", str(each), str(each.readlink())) for each in links][:1]


# The workspace


def _workspace(root: Path, walls: Walls, made: Layout) -> Iterator[Mount]:
    if not made.writes:  # the disk underneath is read-only already
        if _is_private(root):
            yield Mount("read", str(root), str(root), is_folder=True)
        return
    yield Mount("write", str(root), str(root), is_folder=True)
    covered = list(_covered(root, walls))
    repositories = git_folders(root)
    for each in _folders_above(root, covered, repositories):
        yield _opened("write", each, root, made)
    for folder in repositories:
        yield _opened("write", folder.path, root, made)
        for each in folder.guarded:
            _cover(each, made)
            yield from _read_only(each, root, made)
    if (root / ".git").is_file():  # of a linked worktree or a submodule: it names the folder that git obeys
        _cover(root / ".git", made)
        yield from _read_only(root / ".git", root, made)
    for each, kind in covered:
        _cover(each, made)
        if kind == "read":
            yield from _read_only(each, root, made)
        else:
            yield Mount(kind, str(each), is_folder=each.is_dir())


def _folders_above(
    root: Path, covered: Sequence[tuple[Path, Kind]], repositories: Sequence[GitFolder]
) -> Iterator[Path]:
    """The folders between the workspace and what is known by its place alone, topmost first: what is hidden, what git's
    configuration names, and what guarded links lead to. A mount of its own keeps each from being renamed, which would
    put another file in that place, or this one where nothing hides it."""
    places = [each for each, kind in covered if kind == "closed"]
    places += [each for folder in repositories for each in folder.guarded if not each.is_relative_to(folder.path)]
    guarded = (*(each for each, kind in covered if kind == "read"), *places)
    places += [Path(os.path.realpath(each)) for each in guarded if each.is_symlink()]
    inside = (each for each in places if each.is_relative_to(root) and ".git" not in each.relative_to(root).parts)
    above = {parent for each in inside for parent in each.parents if parent != root and parent.is_relative_to(root)}
    yield from sorted((each for each in above if each.is_dir()), key=lambda each: len(each.parts))


def _cover(path: Path, made: Layout) -> None:
    if not path.is_symlink() and (found := identity(path)) is not None:
        made.covered[str(path)] = found


def identity(path: Path | str) -> Identity | None:
    """Which file this is, links not followed; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _read_only(path: Path, root: Path, made: Layout) -> Iterator[Mount]:
    if not path.is_symlink():
        yield _opened("read", path, root, made)
        return
    # A link cannot be covered: what takes its place is looked for afterwards. What it leads to can.
    target = Path(os.path.realpath(path))
    inside = target != root and target.is_relative_to(root) and ".git" not in target.relative_to(root).parts
    if inside and target.exists() and not target.is_symlink() and str(target) not in made.covered:
        _cover(target, made)
        yield _opened("read", target, root, made)


def _opened(kind: Kind, path: Path, root: Path, made: Layout) -> Mount:
    if not path.is_relative_to(root):
        return Mount(kind, str(path), str(path), is_folder=path.is_dir())
    descriptor = open_beneath(root, path.relative_to(root))
    made.descriptors.append(descriptor)
    return Mount(kind, str(path), descriptor, is_folder=stat.S_ISDIR(os.fstat(descriptor).st_mode))


def open_beneath(root: Path, relative: Path) -> int:
    """A descriptor for a place in a folder, reached without following any link. Raises OSError."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    current = os.open(root, flags | os.O_DIRECTORY)
    for number, part in enumerate(relative.parts):
        last = number == len(relative.parts) - 1
        try:
            step = os.open(part, flags if last else flags | os.O_DIRECTORY, dir_fd=current)
        finally:
            os.close(current)
        current = step
    if stat.S_ISLNK(os.fstat(current).st_mode):
        os.close(current)
        raise OSError(f"{root / relative} is a symbolic link")
    return current


def _covered(root: Path, walls: Walls) -> Iterator[tuple[Path, Kind]]:
    """The topmost files and folders of the workspace that are read-only or hidden, as far as it is looked through."""
    found: set[str] = set()
    hides = any((root / name).exists() for name in _IGNORE_FILES)
    for text in walk(root, lambda text: text not in found):
        kind = _kind(text, walls, hides=hides)
        if kind is not None:
            found.add(text)
            yield Path(text), kind
        if len(found) >= MAX_COVERED:
            return


def _kind(text: str, walls: Walls, *, hides: bool) -> Kind | None:
    if walls.guarded(text):  # ignore files are among these: git reads them, and they are no secret
        return "read"
    return "closed" if hides and walls.ignored(path := Path(text)) and not path.is_symlink() else None


def walk(root: Path, goes_into: Callable[[str], bool]) -> Iterator[str]:
    """The files and folders of a workspace, nearest first, up to a number; without git's and the large ones' inside."""
    left, seen = deque([str(root)]), 0
    while left and seen < MAX_ENTRIES:
        for entry in entries_in(left.popleft()):
            seen += 1
            yield entry.path
            if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED and goes_into(entry.path):
                left.append(entry.path)


# Caches and secrets


def _caches(root: Path, made: Layout) -> Iterator[Mount]:
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
    store = cache_folder() / "sandbox" / name
    home = Path.home().resolve()
    if home == root or not home.is_dir():
        return
    for each in CACHES:
        ours, theirs = store / each.replace("/", "-").lstrip("."), home / each
        if theirs.is_dir() and not root.is_relative_to(theirs):
            ours.mkdir(parents=True, exist_ok=True, mode=0o700)
            yield Mount("write", str(theirs.resolve()), str(ours), is_folder=True)
            if each == ".cache":
                yield from _readable_caches(theirs.resolve(), ours)
        elif each in _VARIABLES:
            ours.mkdir(parents=True, exist_ok=True, mode=0o700)
            made.environment[_VARIABLES[each]] = f"/run/joey/{ours.name}"
            yield Mount("write", f"/run/joey/{ours.name}", str(ours), is_folder=True)


_VARIABLES = {".cache": "XDG_CACHE_HOME", ".npm": "npm_config_cache"}
"""How programs are told of a cache where the home folder has none yet."""


def _readable_caches(theirs: Path, ours: Path) -> Iterator[Mount]:
    for name in READABLE_CACHES:
        if (theirs / name).is_dir():
            (ours / name).mkdir(parents=True, exist_ok=True)
            yield Mount("read", str(theirs / name), str(theirs / name), is_folder=True)


def _stays(mount: Mount, root: Path, hidden: Iterable[Mount]) -> bool:
    """Whether a place is not hidden itself, nor in a hidden folder. What commands may write to always stays."""
    if mount.kind == "write" or mount.place == str(root):
        return True
    closed = (Path(each.place) for each in hidden if each.kind != "passage")
    return not any(Path(mount.place).is_relative_to(each) for each in closed)


def _is_elsewhere(mount: Mount) -> bool:
    """Whether something else is put in a place. What a descriptor hands over is the place itself."""
    return isinstance(mount.source, str) and mount.source != mount.place


def _hidden(walls: Walls, root: Path, found: Iterable[Mount]) -> Iterator[Mount]:
    own = (*walls.own, user_folder(), state_folder())
    closed, emptied = hidden_places(own, walls.hide, walls.show)
    shown = [root, *(Path(each.place) for each in found if each.kind == "write")]
    replaced = [Path(each.place) for each in found if each.kind == "write" and _is_elsewhere(each)]
    for kind, places in (("closed", closed), ("empty", emptied)):
        for place in places:
            if place in shown or any(place.is_relative_to(each) for each in replaced if each != root):
                continue  # a folder of Joey's is there instead
            if _is_private(place) and not any(place.is_relative_to(each.place) for each in found):
                continue  # not there anyway
            passage = place.is_dir() and any(each.is_relative_to(place) for each in shown)
            yield Mount("passage" if passage else kind, str(place), is_folder=place.is_dir())  # type: ignore[arg-type]
