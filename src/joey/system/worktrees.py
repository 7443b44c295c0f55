"""Git worktrees that Joey makes: a folder and a branch for one piece of work, each written down before it is made.

    ~/.local/share/joey/worktrees/PROJECT-HASH/NAME         the files
    ~/.local/state/joey/worktrees/PROJECT-HASH/NAME.json    what Joey knows of it; commands of a task do not see it
    .git/worktrees/joey-NAME                                git's own part, as `git worktree add` makes it
    refs/heads/joey/NAME                                    the branch

`git worktree add` would run the repository's hooks and filters. So git's part, which is four small files, is written
here, and the files come from `private_git`, which reads no configuration of the repository's. Filters such as that of
git-lfs do not run: their files are pointers in the worktree. Submodules are empty folders.

A worktree is written down first and marked as ready last. One that was cut short is found by its note and made again,
or removed: nothing is made that nobody knows of.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from joey.errors import UsageError
from joey.system.filenames import quoted
from joey.system.folders import make_private, worktrees_folder
from joey.system.git import Repository, SafeGit, find_repository
from joey.system.git_trees import (
    GitFailed,
    TreeSnapshot,
    commit_of,
    indexed_git,
    run_git,
    take_snapshot,
    tree_of,
    write_commit,
)
from joey.system.worktree_notes import NAME, Worktree, notes_folder, read_note, write_note

_NO_COMMIT = "0" * 40
_MERGES_TREES = (2, 38)
"""The version of git that merges without touching files."""


@dataclass(frozen=True, slots=True)
class WorktreeStatus:
    """What a worktree holds that the commit it began with does not."""

    changed: bool
    """Whether there is anything."""
    uncommitted: bool
    """Whether some of it is not on its branch."""
    tip: str
    """The last commit of its branch."""


def check_name(name: str) -> str:
    """A name that is one folder, one reference, and no option. Raises UsageError."""
    if not NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise UsageError(
            f"{quoted(name)} cannot name a worktree: letters, digits, and . _ - between them, at most 60; "
            "a prompt stands before --worktree, or after --worktree=NAME"
        )
    return name


class Worktrees:
    """The worktrees of this user. Every method looks at the disk again."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._files = worktrees_folder(environ)
        self._notes = notes_folder(environ)

    # Finding

    def all(self) -> tuple[Worktree, ...]:
        """All there are, the newest last."""
        found = (read_note(path) for path in sorted(self._notes.glob("*/*.json")))
        return tuple(sorted((each for each in found if each is not None), key=lambda each: each.made))

    def named(self, name: str, folder: Path) -> Worktree | None:
        """The worktree of this name that belongs to the repository of a folder."""
        found = find_repository(folder)
        return read_note(self._note(found, check_name(name))) if found is not None else None

    def _note(self, found: Repository, name: str) -> Path:
        mark = hashlib.sha256(os.fsencode(found.common)).hexdigest()[:10]
        project = re.sub(r"[^A-Za-z0-9._-]", "_", found.common.parent.name).lstrip(".-") or "project"
        return self._notes / f"{project[:40]}-{mark}" / f"{name}.json"

    def suits(self, folder: Path) -> bool:
        """Whether a folder can have worktrees whose changes are merged: it is in a repository with a commit, and git is
        not too old."""
        found = find_repository(folder)
        if found is None or _git_version() < _MERGES_TREES:
            return False
        with contextlib.suppress(GitFailed), indexed_git(found, self._environ) as git:
            return commit_of(git, "HEAD") is not None
        return False

    # Making

    def make(self, folder: Path, name: str, *, task: str = "", with_changes: bool = False) -> Worktree:
        """A worktree of the repository of a folder, at its last commit, or `with_changes` that are not committed. One
        of this name that was cut short is made again. Raises UsageError or GitFailed."""
        found = _repository(folder)
        note = self._note(found, check_name(name))
        known = read_note(note)
        if known is not None and known.ready:
            raise UsageError(f"there is a worktree {name} already, in {quoted(known.folder)}; choose another name")
        if known is not None:
            self.remove(known, discard=True)
        with indexed_git(found, self._environ) as git:
            base = _base(git, found, with_changes=with_changes)
            place = self._files / note.parent.name / name
            made = datetime.now(UTC).isoformat(timespec="seconds")
            worktree = Worktree(name, str(found.top), base, str(place), task, made)
            _refuse_links(found, place)
            _refuse_existing(git, found, worktree)
            try:
                write_note(note, worktree, new=True)
            except OSError as error:
                raise GitFailed(f"the worktree {name} could not be written down: {error}") from None
            try:
                reference = f"refs/heads/{worktree.branch}"
                run_git(git, "update-ref", "--end-of-options", reference, base, _NO_COMMIT)
                _make_files(git, found, worktree)
            except BaseException as error:
                self.remove(worktree, discard=True)
                if isinstance(error, OSError):
                    raise GitFailed(f"the worktree {name} could not be made: {error}") from None
                raise
        ready = replace(worktree, ready=True)
        write_note(note, ready)
        return ready

    # Looking, keeping

    def status(self, worktree: Worktree) -> WorktreeStatus:
        """Raises GitFailed if it is not there any more."""
        with indexed_git(_checkout(worktree), self._environ) as git:
            tip = commit_of(git, f"refs/heads/{worktree.branch}") or worktree.base
            tree = take_snapshot(git).tree
            changed, uncommitted = tree != tree_of(git, worktree.base), tree != tree_of(git, tip)
            return WorktreeStatus(changed or tip != worktree.base, uncommitted, tip)

    def snapshot(self, worktree: Worktree) -> TreeSnapshot:
        """Its files as a tree, which stays in the repository. Raises GitFailed."""
        with indexed_git(_checkout(worktree), self._environ) as git:
            return take_snapshot(git)

    def commit(self, worktree: Worktree, message: str) -> str | None:
        """Put what is not on the branch there; None if there was nothing. No hook runs. Raises GitFailed."""
        checkout = _checkout(worktree)
        with indexed_git(checkout, self._environ) as git:
            reference = f"refs/heads/{worktree.branch}"
            tip = commit_of(git, reference)
            tree = take_snapshot(git).tree
            if tip is not None and tree == tree_of(git, tip):
                return None
            commit = write_commit(git, tree, [tip or worktree.base], message, _identity(checkout, self._environ))
            run_git(git, "update-ref", "--end-of-options", reference, commit, tip or _NO_COMMIT)
            _replace_index(git, checkout)
            return commit

    # Removing

    def remove(self, worktree: Worktree, *, discard: bool = False) -> None:
        """Remove the files. What they hold is put on the branch first, which stays; with `discard` it goes, too."""
        if not discard and worktree.path.is_dir():
            self.commit(worktree, f"Changes of the worktree {worktree.name}")
        _remove_folder(worktree.path)
        found = find_repository(worktree.origin)
        if found is not None:
            _remove_folder(_admin(found, worktree))
            self._remove_branch(found, worktree, discard=discard)
        note = self._notes / worktree.path.parent.name / f"{worktree.name}.json"
        note.unlink(missing_ok=True)  # the folders stay: somebody may be making another one in them right now

    def _remove_branch(self, found: Repository, worktree: Worktree, *, discard: bool) -> None:
        """A branch that holds nothing of its own goes with its worktree."""
        with contextlib.suppress(GitFailed), indexed_git(found, self._environ) as git:
            reference = f"refs/heads/{worktree.branch}"
            tip = commit_of(git, reference)
            if tip is not None and ((discard and worktree.ready) or tip == worktree.base):
                run_git(git, "update-ref", "-d", "--end-of-options", reference, tip)


@cache
def _git_version() -> tuple[int, ...]:
    git = SafeGit(("git",), {"PATH": os.environ.get("PATH", os.defpath)}, Path("/"))
    with contextlib.suppress(GitFailed):
        found = re.search(r"(\d+)\.(\d+)", run_git(git, "--version"))
        return tuple(map(int, found.groups())) if found else ()
    return ()


def _repository(folder: Path) -> Repository:
    found = find_repository(folder)
    if found is None:
        raise UsageError(f"{quoted(str(folder))} is not in a git repository; a worktree needs one (`git init`)")
    return found


def _base(git: SafeGit, found: Repository, *, with_changes: bool) -> str:
    head = commit_of(git, "HEAD")
    if head is None:
        raise UsageError(f"{quoted(str(found.top))} has no commit yet; a worktree begins with one")
    if not with_changes:
        return head
    tree = take_snapshot(git).tree
    if tree == tree_of(git, head):
        return head
    return write_commit(git, tree, (head,), "The files as they were when the work began")


def counterpart(worktree: Worktree, folder: Path) -> Path:
    """The folder of a checkout, in a worktree of it."""
    found = find_repository(folder)
    inside = folder.relative_to(found.top) if found is not None else Path()
    there = worktree.path / inside
    if not there.resolve().is_relative_to(worktree.path.resolve()):  # the commit has a link where a folder is now
        raise UsageError(f"{quoted(str(there))} is a symbolic link that leads out of the worktree; no task works there")
    there.mkdir(parents=True, exist_ok=True)  # git has no empty folders
    return there


def has_changes(folder: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the checkout of a folder has changes that are not committed."""
    with indexed_git(_repository(folder), environ) as git:
        return take_snapshot(git).tree != tree_of(git, "HEAD")


def _admin(found: Repository, worktree: Worktree) -> Path:
    return found.common / "worktrees" / f"joey-{worktree.name}"


def _checkout(worktree: Worktree) -> Repository:
    """The worktree as git sees it. Its own `.git` is not asked: commands in it may have changed that."""
    found = find_repository(worktree.origin)
    if found is None or not worktree.path.is_dir():
        raise GitFailed(f"the worktree {worktree.name} or its repository is gone ({quoted(worktree.folder)})")
    return Repository(worktree.path, _admin(found, worktree), found.common)


def _refuse_links(found: Repository, place: Path) -> None:
    """What is written must be where its name says: a git folder that came from elsewhere can hold links."""
    inside = ("objects", "refs", "refs/heads", "refs/heads/joey", "worktrees")
    for each in (*(found.common / name for name in inside), place.parent, place):
        if each.is_symlink():
            raise UsageError(f"{quoted(str(each))} is a symbolic link; no worktree is made there")


def _refuse_existing(git: SafeGit, found: Repository, worktree: Worktree) -> None:
    """What is there already is somebody else's: before anything is written down, so that nobody removes it as ours."""
    if commit_of(git, f"refs/heads/{worktree.branch}"):
        raise UsageError(f"there is a branch {worktree.branch} already; choose another name")
    for place in (worktree.path, _admin(found, worktree)):
        if os.path.lexists(place):
            raise UsageError(f"{quoted(str(place))} is there already; move it away, or choose another name")


def _make_files(git: SafeGit, found: Repository, worktree: Worktree) -> None:
    """Git's own part, and then the files."""
    place, admin = worktree.path, _admin(found, worktree)
    admin.mkdir(parents=True)
    make_private(place)
    (place / ".git").write_bytes(b"gitdir: " + os.fsencode(admin) + b"\n")
    (admin / "gitdir").write_bytes(os.fsencode(place / ".git") + b"\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "HEAD").write_text(f"ref: refs/heads/{worktree.branch}\n")
    there = {"GIT_WORK_TREE": worktree.folder, "GIT_INDEX_FILE": str(admin / "index")}
    run_git(
        replace(git, environment={**git.environment, **there}, top=place), "read-tree", "--reset", "-u", worktree.base
    )


def _replace_index(git: SafeGit, checkout: Repository) -> None:
    """The worktree's index is the copy from now on, so that `git status` finds nothing changed."""
    beside = checkout.folder / "index.joey"
    shutil.copy2(git.environment["GIT_INDEX_FILE"], beside)
    beside.replace(checkout.folder / "index")


def _identity(checkout: Repository, environ: Mapping[str, str]) -> dict[str, str]:
    """Who commits: as the repository's settings say, else the user's own. They are read as data."""
    places = (("--file", str(checkout.common / "config"), "--no-includes"), ("--global", "--includes"))
    found = {part: [_setting(place, part, environ) for place in places] for part in ("name", "email")}
    named = {part: next(filter(None, values), "") for part, values in found.items()}
    return {"NAME": named["name"] or "Joey", "EMAIL": named["email"] or "joey@localhost"}


def _setting(where: tuple[str, ...], part: str, environ: Mapping[str, str]) -> str:
    environment = {name: environ[name] for name in ("HOME", "PATH", "XDG_CONFIG_HOME") if name in environ}
    git = SafeGit(("git",), {**environment, "GIT_DIR": "/nonexistent"}, Path("/"))
    with contextlib.suppress(GitFailed):
        return run_git(git, "config", *where, "--get", f"user.{part}", accepts=(0, 1)).strip()
    return ""


def _remove_folder(folder: Path) -> None:
    """Remove a folder with all it holds; folders that nobody may write to are opened first."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in _closed_folders(folder):
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise GitFailed(f"{quoted(str(folder))} could not be removed whole; remove it yourself")


def _closed_folders(folder: Path) -> Iterator[Path]:
    for here, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(here, name)
            if not path.is_symlink() and path.stat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
                yield path
