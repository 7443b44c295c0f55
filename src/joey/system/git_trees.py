"""What a checkout holds as a tree of git's, and two such trees made one, without touching a file of the checkout.

Nothing that the repository names is run: everything goes through `private_git`, with a copy of the index. `git add` is
not used, since it starts another git in submodules, which reads their configuration. What changed is listed, and the
list is taken in name by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from joey.errors import JoeyError
from joey.system.filenames import quoted
from joey.system.git import Repository, SafeGit, private_git

_SECONDS = 120.0
_IDENTITY = {"NAME": "Joey", "EMAIL": "joey@localhost"}
_MAX_ERROR = 300


class GitFailed(JoeyError):  # noqa: N818 - what happened, as it is told
    """Git could not do it, and why."""


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """The files of a checkout as they are: a tree, and repositories within it, which no tree can hold."""

    tree: str
    nested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedTree:
    """Two trees made one. With conflicts, the tree is of no use."""

    tree: str
    conflicts: tuple[str, ...] = ()
    """The files that both sides changed in the same place."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What becomes of one path between two trees. A mode is empty where there is nothing."""

    path: str
    old_mode: str
    new_mode: str


@contextmanager
def indexed_git(checkout: Repository, environ: Mapping[str, str] = os.environ) -> Iterator[SafeGit]:
    """A git with a copy of the checkout's index: what is taken in is seen by nobody else. Raises GitFailed."""
    with private_git(checkout, environ) as git:
        if git is None:
            raise GitFailed(f"{quoted(str(checkout.top))} has no branch or commit checked out")
        index = Path(git.environment["GIT_DIR"]) / "index"
        if (checkout.folder / "index").is_file():
            # With its time: git compares a file's time with that to know whether it must look into the file.
            shutil.copy2(checkout.folder / "index", index)
        yield replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(index)})


def run_git(git: SafeGit, *arguments: str, given: bytes = b"", accepts: Sequence[int] = (0,)) -> str:
    """What git prints. Raises GitFailed."""
    try:
        done = subprocess.run(  # noqa: S603 - git itself
            [*git.command, *arguments], cwd=git.top, env=dict(git.environment), input=given, capture_output=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise GitFailed("git is not installed, or its folder is gone") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(f"git {arguments[0]} could not be run: {error}") from None
    if done.returncode not in accepts:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())[:_MAX_ERROR]
        raise GitFailed(f"git {arguments[0]} failed: {words or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "surrogateescape")


def commit_of(git: SafeGit, name: str) -> str | None:
    """The commit that a name (a reference, a hash) stands for; None if there is none."""
    found = run_git(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", accepts=(0, 1))
    return found.strip() or None


def tree_of(git: SafeGit, commit: str) -> str:
    return run_git(git, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()


def take_snapshot(git: SafeGit) -> TreeSnapshot:
    """The tree of all files that are not ignored, as they are on the disk. `git` has an index of its own."""
    changed = run_git(git, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
    new = run_git(git, "ls-files", "-z", "--others", "--exclude-standard")
    names = dict.fromkeys(name for name in (changed + new).split("\0") if name)
    files = [name for name in names if not name.endswith("/")]
    if files:
        listed = "".join(f"{name}\0" for name in files).encode("utf-8", "surrogateescape")
        run_git(git, "update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=listed)
    nested = tuple(name.rstrip("/") for name in names if name.endswith("/"))
    return TreeSnapshot(run_git(git, "write-tree").strip(), nested)


def write_commit(
    git: SafeGit, tree: str, parents: Sequence[str], message: str, identity: Mapping[str, str] = _IDENTITY
) -> str:
    """A commit object. No reference leads to it yet."""
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in identity.items()}
    signed = replace(git, environment={**git.environment, **who})
    before = [word for parent in parents for word in ("-p", parent)]
    return run_git(signed, "commit-tree", tree, *before, given=message.encode("utf-8", "replace")).strip()


def merge_trees(git: SafeGit, base: str, ours: str, theirs: str) -> MergedTree:
    """What both sides made of the tree of the commit `base`, in one tree. Changes no file and no reference."""
    sides = [write_commit(git, tree, (base,), "side") for tree in (ours, theirs)]
    printed = run_git(git, "merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", *sides, accepts=(0, 1))
    tree, *conflicts = printed.split("\0")
    return MergedTree(tree.strip(), tuple(dict.fromkeys(name for name in conflicts if name)))


def changes_between(git: SafeGit, old: str, new: str) -> tuple[TreeEntry, ...]:
    """The paths in which two trees differ."""
    fields = run_git(git, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return tuple(_entry(head, path) for head, path in pairs if head)


def _entry(head: str, path: str) -> TreeEntry:
    old, new, *_ = head.removeprefix(":").split(" ")
    return TreeEntry(path, *("" if mode == "000000" else mode for mode in (old, new)))


def write_files(git: SafeGit, tree: str, paths: Sequence[str], folder: Path) -> None:
    """Put files of a tree into a folder, as a checkout would have them."""
    own = replace(git, environment={**git.environment, "GIT_INDEX_FILE": f"{git.environment['GIT_DIR']}/index-of-tree"})
    run_git(own, "read-tree", tree)
    listed = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    run_git(own, "checkout-index", "-z", "--stdin", f"--prefix={folder}/", given=listed)
