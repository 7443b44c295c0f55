"""Where a path really is: inside the workspace, outside, protected, or hidden by an ignore file.

A path is judged as written and as resolved through symlinks, and the stricter answer counts. Names are compared
without letter case, invisible characters, trailing dots and spaces, since some file systems take those for the same.
"""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

from joey.policy.ignore import NAMES, NOTHING_IGNORED, IgnoreRules
from joey.policy.rules import fold

PROTECTED = (
    # Joey's, Roo's and other agents' own configuration and instructions
    ".joey/", ".joeyignore", ".joeymodes", ".roo/", ".roomodes", ".rooignore", ".roorules*", ".rooprotected",
    ".clinerules*", ".cursorrules", ".cursor/", ".windsurfrules", ".claude/", ".agents/",
    "AGENTS.md", "AGENT.md", "AGENTS.local.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md",
    # what git keeps and runs
    ".git", "git~1", ".gitmodules", ".gitconfig", ".husky/", ".githooks/",
    # editors' settings, which can name programs to run
    ".vscode/", ".idea/", "*.code-workspace",
    # files a shell or a login runs
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".login", ".kshrc", ".inputrc", ".envrc", ".xprofile",
    ".xinitrc", ".pam_environment", ".ssh/", ".config/fish/", ".config/autostart/", ".config/systemd/",
)  # fmt: skip
"""What may not be written without asking even where writing is allowed. `.env` is not among them: it is edited
daily and runs nothing. List it in an ignore file to keep it from the model altogether."""

SECRET = (
    ".ssh/",
    ".aws/",
    ".gnupg/",
    ".netrc",
    ".pgpass",
    ".docker/config.json",
    ".kube/",
    ".config/gh/",
    ".git-credentials",
)
"""Places in the home folder where credentials are kept; a command that names one is asked about."""


def resolve(path: str) -> str:
    """An absolute path with every symlink followed, as far as it exists. Raises OSError for a loop of links."""
    real = os.path.realpath(path)
    prefix = real
    while prefix != os.path.dirname(prefix):  # noqa: PTH120 - paths here are strings, as the model wrote them
        if os.path.islink(prefix):  # noqa: PTH114 - only a loop leaves a link in a resolved path
            raise OSError(f"{path} is a loop of symbolic links")
        prefix = os.path.dirname(prefix)  # noqa: PTH120
    return real


@dataclass(frozen=True, slots=True)
class Located:
    """A path and what is known about the place it leads to."""

    path: str
    resolved: str
    inside: bool
    protected: str | None = None
    """The pattern that protects it."""
    hidden_by: str | None = None
    """The ignore file that lists it."""
    problem: str | None = None
    """Why it cannot be judged at all."""
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Workspace:
    """The facts about the disk that the policy needs, each as a function so that tests can make them up."""

    root: str
    home: str = field(default_factory=lambda: os.path.expanduser("~"))  # noqa: PTH111 - strings, as the model wrote them
    ignore: IgnoreRules = NOTHING_IGNORED
    resolve: Callable[[str], str] = resolve
    exists: Callable[[str], bool] = os.path.lexists
    expand: Callable[[str], Iterable[str]] = glob.glob
    protected: tuple[str, ...] = ()
    """More patterns to protect, besides PROTECTED."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        """A folder of the disk, with its ignore files."""
        files = {name: (folder / name).read_text("utf-8", "replace") for name in NAMES if (folder / name).is_file()}
        return cls(str(folder.absolute()), ignore=IgnoreRules.read(files))

    def locate(self, path: str, base: str | None = None) -> Located:
        """Judge a path as a tool would take it, relative to `base` (the root when None)."""
        if not path or "\0" in path:
            return Located(path, path, inside=False, problem="it is empty" if not path else "it holds a NUL character")
        found = [self._locate(each, base or self.root) for each in dict.fromkeys((path, path.replace("\\", "/")))]
        return max(found, key=_strictness)

    def hides(self, path: Path) -> bool:
        """Whether an ignore file hides the path: asked of every file of a walk, so that it is free without one."""
        return bool(self.ignore.specs) and self.locate(str(path)).hidden_by is not None

    def join(self, base: str, path: str) -> str:
        """A path from a folder, `~` being the home folder (or somebody else's, which is outside as well)."""
        if path == "~" or path.startswith("~/"):
            return posixpath.join(self.home, path[2:])
        if path.startswith("~") and not self.exists(posixpath.join(base, path)):
            return "/home/" + path[1:]
        return posixpath.join(base, path)

    def _locate(self, path: str, base: str) -> Located:
        whole = self.join(base, path)
        try:
            resolved, root, home = self.resolve(whole), self.resolve(self.root), self.resolve(self.home)
        except (OSError, ValueError) as error:
            return Located(path, whole, inside=False, problem=f"it cannot be resolved ({error})")
        lexical = posixpath.normpath(whole)
        ways = [resolved, lexical]
        return Located(
            path,
            resolved,
            inside=_relative(resolved, root) is not None,
            protected=next(filter(None, (self._protecting(way, (self.root, root)) for way in ways)), None),
            hidden_by=next(filter(None, (self._hiding(way, (self.root, root)) for way in ways)), None),
            secret=any(_secret(way, base) for way in ways for base in (self.home, home)),
        )

    def _protecting(self, path: str, roots: tuple[str, str]) -> str | None:
        relative = next(filter(None, (_relative(path, root) for root in roots)), None)
        if any(_relative(path, root) == "." for root in roots):
            return None
        folded = "/".join(fold(part).rstrip(" .") or part for part in (relative or path.lstrip("/")).split("/"))
        return _matching((*PROTECTED, *self.protected), folded)

    def _hiding(self, path: str, roots: tuple[str, str]) -> str | None:
        relative = next(filter(None, (_relative(path, root) for root in roots)), None)
        return self.ignore.hiding(relative) if relative and relative != "." else None

    def holds_protected(self, located: Located) -> bool:
        """Whether a folder is, or is above, the workspace, so that removing it takes protected files along."""
        root = self.resolve(self.root)
        return located.resolved == root or _relative(root, located.resolved) is not None


def _strictness(located: Located) -> tuple[bool, bool, bool, bool]:
    return located.problem is not None, located.hidden_by is not None, not located.inside, located.protected is not None


def _relative(path: str, root: str) -> str | None:
    """The path from the root, "." for the root itself, None when it is not in it."""
    if path == root:
        return "."
    start = root.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def _secret(path: str, home: str) -> bool:
    relative = _relative(path, home)
    if path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers"):
        return True
    return relative is not None and _matching(SECRET, fold(relative)) is not None


def _matching(patterns: tuple[str, ...], path: str) -> str | None:
    spec = _spec(patterns)
    for form in (path, path + "/"):
        index = spec.check_file(form).index
        if index is not None:
            return patterns[index]
    return None


@cache
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern.casefold() for pattern in patterns])
