"""What is written down of each worktree that Joey makes (`joey.system.worktrees`), and which one a folder lies in.

The notes are beside the tasks, where commands of a task see nothing: what they say of a folder cannot come from it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats.json import read_json
from joey.errors import UsageError
from joey.system.folders import make_private, private_file, state_folder, worktrees_folder

BRANCHES = "joey/"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,58}[A-Za-z0-9_-])?")


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree as it was written down."""

    name: str
    repository: str
    """The folder of the checkout that it was made from, to which its changes go back."""
    base: str
    """The commit that it began with."""
    folder: str
    task: str = ""
    """The subtask that works in it; empty for one that a person made."""
    made: str = ""
    ready: bool = False

    @property
    def branch(self) -> str:
        return f"{BRANCHES}{self.name}"

    @property
    def path(self) -> Path:
        return Path(self.folder)

    @property
    def origin(self) -> Path:
        return Path(self.repository)


def notes_folder(environ: Mapping[str, str] = os.environ) -> Path:
    return state_folder(environ) / "worktrees"


def worktree_around(folder: Path, environ: Mapping[str, str] = os.environ) -> Worktree | None:
    """The worktree that a folder is, or lies in."""
    files, folder = worktrees_folder(environ).resolve(), folder.resolve()
    place = folder.relative_to(files).parts[:2] if folder.is_relative_to(files) else ()
    return read_note(notes_folder(environ) / place[0] / f"{place[1]}.json") if len(place) == 2 else None


def project_of(folder: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that this one stands for: in a worktree, the one in the checkout that it was made from."""
    worktree = worktree_around(folder, environ)
    if worktree is None:
        return folder
    return project_of(worktree.origin / folder.resolve().relative_to(worktree.path.resolve()), environ)


def read_note(path: Path) -> Worktree | None:
    try:
        data: Any = read_json(read_regular_text(path))
        worktree = Worktree(**{name: data[name] for name in Worktree.__dataclass_fields__ if name in data})
    except (OSError, ValueError, TypeError):
        return None
    words = [value for name, value in asdict(worktree).items() if name != "ready"]
    return worktree if all(isinstance(each, str) for each in words) and NAME.fullmatch(worktree.name) else None


def write_note(path: Path, worktree: Worktree, *, new: bool = False) -> None:
    """Write it down for good. Of two that make a `new` one of the same name in one instant, one does."""
    make_private(path.parent)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    with open(temporary, "w", encoding="utf-8", opener=private_file) as file:
        json.dump(asdict(worktree), file)
        file.flush()
        os.fsync(file.fileno())
    if not new:
        temporary.replace(path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise UsageError(f"somebody is making the worktree {path.stem} right now; choose another name") from None
    finally:
        temporary.unlink()
