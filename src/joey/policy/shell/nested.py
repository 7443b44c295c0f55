"""Repositories below the workspace's own, of which git may follow the settings.

Git takes any folder with a `.git` for a submodule once its index, or a commit that it shows, names that folder; then it
runs another git there, which follows the settings of that repository. What the index names is read (`facts`). But a
line may change the index before it looks (`git add . && git status`), a command may do both (`git checkout OTHER`), and
`--submodule=diff` goes by the commits that are shown. In these cases every repository counts as a submodule. They are
looked for once for a line, and only if they matter; what is too large to look through asks.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cached_property

from joey.policy.names import fold
from joey.policy.paths import Workspace
from joey.policy.shell.facts import ONLY_LOOKS, common_folder, git_folder, nearest_repository
from joey.policy.shell.options import Use
from joey.policy.shell.repository import repository_problems
from joey.system.filenames import quoted

_MAX_ENTRIES = 200_000
"""Files and folders that are looked at, and repositories of which the settings are read."""
_MAX_REPOSITORIES = 1_000
_DOT_GIT = ".git"
_BY_THE_INDEX = frozenset(
    {"add", "stage", "commit", "tag", "branch", "push", "rm", "mv", "init", "clone", "config", "remote", "worktree"}
    | {"check-ignore", "cherry", "version", "ls-remote", "symbolic-ref", "show-branch", "submodule", "archive"}
    | {"format-patch", "gc", "fsck"}
)
"""Subcommands that look only into the submodules that the index named before, besides those that only look."""
_INLINE = frozenset({"short", "log"})
"""How changes of a submodule are shown without running anything in it."""
_OWN_FILES = re.compile(r"^\s*worktree = \S+$", re.MULTILINE)


def may_meet_others(use: Use) -> bool:
    """Whether a command of git may look into a repository that is not in the index before it runs."""
    if use.problems or any(
        name == "--submodule" and value and value.text not in _INLINE for name, value in use.options
    ):
        return True
    subcommand = use.path[0] if use.path else ""
    if subcommand in ("checkout", "switch") and not use.operands and use.has("-b", "-c", "--create"):
        return False  # a new branch, here: every file stays as it is
    if use.path[1:2] in (("list",), ("show",)):
        return False
    return bool(subcommand) and subcommand not in ONLY_LOOKS | _BY_THE_INDEX


def may_name_others(use: Use) -> bool:
    """Whether a command of git may change its index, the commit that it is at, or files."""
    return bool(use.problems) or (bool(use.path) and use.path[0] not in ONLY_LOOKS)


class NestedRepositories:
    """The repositories below the one that git uses in a workspace, looked for when they are first needed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def problem(self) -> str | None:
        """Why git may run something if any of them is a submodule."""
        own = nearest_repository(self._workspace, posixpath.normpath(self._workspace.root))
        top = posixpath.dirname(own) if own is not None else posixpath.normpath(self._workspace.root)
        try:
            return next(self._problems(top, own), None)
        except _NotLookedThroughError as reason:
            return f"whether there are other repositories in the workspace is not known: {reason}"

    def _problems(self, top: str, own: str | None) -> Iterator[str]:
        found = 0
        for place in self._places(top, own):
            found += 1
            if found > _MAX_REPOSITORIES:
                raise _NotLookedThroughError("there are too many")
            folder = git_folder(self._workspace, place)
            if folder is None or not self._workspace.exists(posixpath.join(folder, "HEAD")):
                continue  # nothing that git takes for a repository
            common = common_folder(self._workspace, place)
            text = self._workspace.text_of(posixpath.join(common, "config")) if common else None
            name = quoted(posixpath.relpath(place, top).removesuffix(f"/{_DOT_GIT}"))
            if text is None:
                yield f"the configuration of the repository in {name} cannot be read"
                continue
            problems = repository_problems(_OWN_FILES.sub("", text))
            yield from (f"the repository in {name} may be a submodule by then: {problem}" for problem in problems)

    def _places(self, top: str, own: str | None) -> Iterator[str]:
        """Every `.git` below the top, and the repositories of submodules that are kept in the own one."""
        for entry in _below(top, skip=_is_dot_git):
            if _is_dot_git(entry.name):
                if entry.path != own:
                    yield entry.path
            elif entry.is_symlink() and entry.is_dir():
                yield from self._led_to(entry.path, top)
        kept = git_folder(self._workspace, own) if own is not None else None
        for entry in _below(posixpath.join(kept, "modules"), skip=lambda _name: False) if kept is not None else ():
            folder = posixpath.dirname(entry.path)
            if entry.name in ("objects", "commondir") and self._workspace.exists(posixpath.join(folder, "HEAD")):
                yield folder

    def _led_to(self, link: str, top: str) -> Iterator[str]:
        """What a link to a folder may make a submodule. What is below the top is found by itself."""
        target = os.path.realpath(link)
        inside = posixpath.relpath(target, os.path.realpath(top))
        if any(_is_dot_git(name) for name in inside.split("/")):
            raise _NotLookedThroughError(f"{quoted(posixpath.relpath(link, top))} leads into one")
        if inside.startswith("../") and self._workspace.exists(posixpath.join(link, _DOT_GIT)):
            yield posixpath.join(link, _DOT_GIT)


class _NotLookedThroughError(Exception):
    """The message says why."""


def _is_dot_git(name: str) -> bool:
    """Also as some file systems read it, which take other letters and invisible characters for the same."""
    return name == _DOT_GIT or ((name[:1] == "." or not name.isascii()) and fold(name) == _DOT_GIT)


def _below(folder: str, skip: Callable[[str], bool]) -> Iterator[os.DirEntry[str]]:
    """What is below a folder, without what is in those that are skipped."""
    folders, left = [folder], _MAX_ENTRIES
    while folders:
        for entry in _entries(folders.pop()):
            left -= 1
            if left < 0:
                raise _NotLookedThroughError("there are too many files to look at")
            yield entry
            if not skip(entry.name) and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Git may open what is in a folder also where nobody may list it."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        raise _NotLookedThroughError(f"{quoted(folder)} cannot be listed") from None
