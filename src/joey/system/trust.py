"""Which workspaces the user has trusted: only there does Joey load code that the project brought along.

Opening a folder must not run what is in it. Custom tools (and other programs a project names) are therefore left
alone until the user has said, on this machine, that the folder is theirs to trust. The answer is kept outside the
project, in `trusted.json` in the user's folder, so that a project cannot give it itself. Trusting a folder trusts
what is under it, and a worktree that Joey made of it. A file that cannot be read trusts nothing.
"""

from __future__ import annotations

from pathlib import Path

from joey.errors import JoeyError
from joey.system.folders import user_folder
from joey.system.user_files import read_object, replace_object
from joey.system.worktree_notes import worktree_around


class TrustStore:
    """The trusted folders, read again for each question."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file or user_folder() / "trusted.json"

    def folders(self) -> tuple[Path, ...]:
        listed = read_object(self.file).get("trusted")
        return tuple(Path(item) for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()

    def trusts(self, workspace: Path) -> bool:
        real = workspace.resolve()
        worktree = worktree_around(real)
        places = (real,) if worktree is None else (real, worktree.origin.resolve())
        return any(each == folder or folder in each.parents for folder in self.folders() for each in places)

    def trust(self, workspace: Path) -> None:
        """Remember a folder (where it really is) as trusted."""
        self._write({*self.folders(), workspace.resolve()})

    def distrust(self, workspace: Path) -> None:
        """Forget a folder. One that is trusted through a folder above it stays trusted until that one is forgotten."""
        self._write(set(self.folders()) - {workspace.resolve()})

    def _write(self, folders: set[Path]) -> None:
        try:
            replace_object(self.file, {"trusted": sorted(map(str, folders))})
        except OSError as error:
            raise JoeyError(f"cannot remember which folders are trusted in {self.file}: {error.strerror}") from None
