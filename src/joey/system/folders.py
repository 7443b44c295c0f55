"""Where Joey keeps what belongs to the user, on this machine: one function each, nothing created by asking."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from joey.system.places import cache_place, data_place, models_place, state_place, user_place


def user_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's settings, modes and tools: $XDG_CONFIG_HOME/joey, or ~/.config/joey."""
    return Path(user_place(environment))


def project_folder(workspace: Path) -> Path:
    """What a project has for Joey: its `.joey` folder."""
    return workspace / ".joey"


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """What Joey remembers between runs: $XDG_STATE_HOME/joey, or ~/.local/state/joey."""
    return Path(state_place(environment))


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """What can be had again: $XDG_CACHE_HOME/joey, or ~/.cache/joey."""
    return Path(cache_place(environment))


def worktrees_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The worktrees that tasks work in: `worktrees` in $XDG_DATA_HOME/joey, or in ~/.local/share/joey. Commands see
    neither what Joey remembers nor its cache, so they are elsewhere."""
    return Path(data_place(environment)) / "worktrees"


def clones_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The clones that tasks of a fleet work in, for the same reason not in what Joey remembers."""
    return Path(data_place(environment)) / "fleet"


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for the user alone. Raises OSError.

    (`mkdir(parents=True, mode=0o700)` makes only the last one private.)"""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def close_to_others(folder: Path) -> None:
    """Take from others what they may do in a folder of Joey's that was made before, or by a wide umask."""
    with contextlib.suppress(OSError):
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and status.st_mode & 0o077:
            folder.chmod(0o700)


def private_file(path: str, flags: int) -> int:
    """How `open` opens a file for the user alone: `open(path, "w", opener=private_file)`."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def models_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The weights of models that run on this machine: $JOEY_MODELS, or `models` in the cache."""
    return Path(models_place(environment))


def index_folder(workspace: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """What was made of a workspace for searching it by meaning, beside the tasks: one folder a workspace."""
    name = hashlib.sha256(os.fsencode(workspace.resolve())).hexdigest()[:24]
    return state_folder(environment) / "index" / name
