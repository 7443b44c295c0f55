"""Where a task works, as a person names it. Loaded before everything else, so it needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """The folder as a person names it, and the branch that is checked out there; empty where there is none."""

    folder: str
    branch: str = ""

    def __str__(self) -> str:
        return f"{self.folder} ({self.branch})" if self.branch else self.folder


def place_of(folder: Path) -> NamedPlace:
    """Read from git's own files: starting git takes longer than drawing everything else."""
    for each in (folder, *folder.parents):
        if (head := _head(each / ".git")) is not None:
            return NamedPlace(_short(folder), head)
    return NamedPlace(_short(folder))


def _short(folder: Path) -> str:
    home = Path.home()
    return f"~/{folder.relative_to(home)}".removesuffix("/.") if folder.is_relative_to(home) else str(folder)


def _head(git: Path) -> str | None:
    """The branch, or the beginning of the commit; None if this is no repository."""
    try:
        if git.is_file():  # a worktree or a submodule
            git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]
