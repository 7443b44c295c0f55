"""The sandbox without namespaces: Landlock's rules, where user namespaces are refused (containers, some Ubuntus).

Landlock only adds up what is allowed beneath a place. So everything is allowed to be read but for the way down to what
is hidden, which is listed entry by entry, in writable folders as well: there nothing new can be made on that way. And a
part of a writable folder cannot be made read-only: `.git/hooks` and `.git/config` can be changed here. It also does not
see chmod, nor connections to unix sockets on the disk; of those, the filter for system calls leaves only pairs where
there is no network. What nothing stops is listed by `gaps`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.sandbox.git import git_folders
from joey.sandbox.hidden import hidden_places
from joey.sandbox.mounts import PRIVATE, too_broad
from joey.sandbox.settings import Network, Walls
from joey.system.folders import state_folder, user_folder

_CREATE, _VERSION = 444, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
"""Root could make a node for the disk in the workspace, and read it."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many kinds of access a version knows; from the fifth on 16."""
_TRUNCATE_HELD, _SIGNALS_HELD = 3, 6
"""Since which version."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Not the terminals (`pts`) nor the shared memory (`shm`): a rule for the folder would give those of every other
program as well. `tty` is a command's own terminal, and it has none: it runs in a session of its own."""


def version() -> int:
    """Which Landlock the kernel has; 0 for none."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return max(0, int(libc.syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), _VERSION)))
    except (OSError, AttributeError):
        return 0


@dataclass(frozen=True, slots=True)
class LandlockRules:
    """What the process inside hands to the kernel: the size of the structure, what is governed, and what is allowed."""

    size: int
    files: int
    scoped: int
    beneath: tuple[tuple[str, int], ...]

    @property
    def wire(self) -> tuple[object, ...]:
        return (self.size,), (self.files, 0, self.scoped), list(self.beneath)


def rules(walls: Walls, private: Iterable[Path], abi: int) -> LandlockRules:
    """The rules for these walls; `private` are folders of the sandbox's own."""
    files = (1 << _RIGHTS_BY_VERSION.get(abi, 16)) - 1
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if abi >= _SIGNALS_HELD else 0
    own = (*walls.own, user_folder(), state_folder())
    closed, emptied = hidden_places(own, walls.hide, walls.show)
    hidden = frozenset({*closed, *emptied, *map(Path, PRIVATE)})
    readable = [(each, _READ) for each in _all_but(Path("/"), (*hidden, Path("/dev")))]
    writable = [
        (each, files & ~_MAKE_DEVICES)
        for folder in _writable(walls)
        for each in _all_but(folder, [place for place in hidden if place != folder])
    ]
    writable += [(each, files & ~_MAKE_DEVICES) for each in private]
    devices = [(Path("/dev") / name, files) for name in _DEVICES]
    beneath = [(str(path), _applicable(path, access & files)) for path, access in (*readable, *writable, *devices)]
    return LandlockRules(8 if abi < 4 else 16 if abi < 6 else 24, files, scoped, tuple(beneath))


def gaps(abi: int, network: Network) -> tuple[str, ...]:
    """What a sandbox of Landlock does not stop, in words for the user."""
    found = [
        "changes to .git/hooks, .git/config, .envrc and other files of the workspace that run later",
        "reading files of the workspace that an ignore file hides",
        "chmod, touch and locks on files elsewhere",
        "the size and times of a hidden file whose name is known, and names of hidden files while they are used",
        "seeing other processes and their command lines",
    ]
    if network == "on":
        found.append("with the network: unix sockets of services (Docker, D-Bus, agents), whatever they can do")
    if abi < _SIGNALS_HELD:
        found.append("signals to other processes of yours (Linux before 6.12)")
    if abi < _TRUNCATE_HELD:
        found.append("emptying files elsewhere (Linux before 6.2)")
    return tuple(found)


def _writable(walls: Walls) -> Iterator[Path]:
    root = walls.workspace.resolve()
    if too_broad(root) is None:
        yield root
        yield from (each.path for each in git_folders(root))
    yield from (each.resolve() for each in walls.writable)


def _all_but(folder: Path, left_out: Iterable[Path]) -> Iterator[Path]:
    """The topmost places that hold nothing of what is left out."""
    inside = [each for each in left_out if each.is_relative_to(folder)]
    if folder in inside:
        return
    if not inside:
        yield folder
        return
    for child in _children(folder):
        yield from _all_but(child, inside)


def _children(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if not each.is_symlink()]
    except OSError:
        return []


def _applicable(path: Path, access: int) -> int:
    """A file knows fewer kinds of access than a folder; one too many is an error."""
    return access if path.is_dir() else access & _FILE
