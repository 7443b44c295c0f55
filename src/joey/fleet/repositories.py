"""A workspace of its own for each task: a clone at a commit, and a commit for each turn that changed files.

    mirrors/HASH.git     what was fetched of a repository, once for this machine, and the commits of turns:
                         refs/joey/TASK is the last of a task, and nobody's branch
    clones/TASK/work     the clone that the task works in; it never leads back to the mirror, and
                         shares no file with it: what a command does to its objects stays there

Turns are committed with the mirror as the git folder and the clone as its files. So nothing that a command wrote into
the clone's own .git counts: no hook, no filter, no setting of it is ever run. What is ignored by .gitignore is not
committed. A commit travels as a pack of what is new in it, and is put into the database with its turn.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from joey.errors import JoeyError
from joey.system.filenames import quoted
from joey.system.folders import make_private

_SECONDS = 600.0
_COPIES = 4
_NEW = "new-"
"""Folders of clones that are not in their place yet."""
_INDEX = f"index-{secrets.token_hex(4)}"
"""The index of a clone in this process. git locks an index, and may hold it longer than a killed worker lives."""
MAX_PACK = 64 * 1024 * 1024
"""Bytes that one turn may add. More is a mistake, such as a folder of packages that nothing ignores."""
_SETTINGS = (
    "gc.auto=0",
    "maintenance.auto=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "protocol.ext.allow=never",
    "safe.bareRepository=all",
)
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Joey"), ("EMAIL", "joey@localhost"))
}
_LOOK = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


class RepositoryError(JoeyError):
    """git could not do what a task needs."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a turn changed: a commit, the one before it, and a pack with what is new."""

    sha: str
    parent: str
    pack: bytes


@dataclass(frozen=True, slots=True)
class Mirror:
    """What this machine has of one repository."""

    repository: str
    folder: Path

    @classmethod
    def of(cls, repository: str, mirrors: Path) -> Mirror:
        digest = hashlib.sha256(repository.encode()).hexdigest()[:16]
        return cls(repository, mirrors / f"{digest}.git")

    def resolve(self, commit: str) -> str:
        """The full name of a commit, fetched if it is not here. Without a name: the repository's HEAD."""
        with _alone(self.folder.with_suffix(".lock")):
            if not (self.folder / "HEAD").exists():
                _git(None, "init", "--quiet", "--bare", str(self.folder))
            if found := self._full_commit(commit):
                return found
            fetched = ("+HEAD:refs/source/HEAD", "+refs/heads/*:refs/source/heads/*", "+refs/tags/*:refs/source/tags/*")
            self.git("fetch", "--quiet", "--no-tags", "--force", "--end-of-options", self.repository, *fetched)
        for name in (f"refs/source/heads/{commit}", f"refs/source/tags/{commit}", commit or "refs/source/HEAD"):
            with suppress(RepositoryError):
                return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
        raise RepositoryError(f"{quoted(self.repository)} has no commit {commit or 'HEAD'}; push it, or name another")

    def _full_commit(self, commit: str) -> str | None:
        """A full hash that is here names its commit for good; everything else may have moved."""
        if len(commit) < 40:
            return None
        with suppress(RepositoryError):
            return self.git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").strip()
        return None

    def clone(self, base: str, tree: str, work: Path) -> None:
        """A new clone with HEAD at the commit `base`, and the files of the commit `tree`.

        It is made beside its place and put there whole: git may outlive a worker that was killed, and would go on
        writing to the place, or remove it, while another worker uses it."""
        with _alone(work.parent / "cloning.lock"):
            for remains in work.parent.glob(f"{_NEW}*"):
                shutil.rmtree(remains, ignore_errors=True)
            made = Path(tempfile.mkdtemp(prefix=_NEW, dir=work.parent))
            self._make_clone(base, tree, made / work.name)
            for index in work.parent.glob("index-*"):
                index.unlink(missing_ok=True)
            if work.exists():
                work.rename(made / "old")
            (made / work.name).rename(work)
            shutil.rmtree(made, ignore_errors=True)

    def _make_clone(self, base: str, tree: str, work: Path) -> None:
        self._copy(work)
        _git(work, "remote", "remove", "origin")
        _git(work, "checkout", "--quiet", "--detach", base)
        if tree != base:
            self._with_files(work, "read-tree", tree)
            self._with_files(work, "checkout-index", "--all", "--force")
            for gone in self._removed(base, tree):
                (work / gone).unlink(missing_ok=True)

    def _copy(self, work: Path) -> None:
        """A clone without files. It copies the mirror, where other tasks put commits meanwhile: a file of theirs that
        was renamed while it was copied is an error, so it is tried again."""
        command = ("clone", "--quiet", "--no-hardlinks", "--no-checkout", "--no-tags", str(self.folder), str(work))
        for _ in range(_COPIES - 1):
            with suppress(RepositoryError):
                _git(None, *command)
                return
            shutil.rmtree(work, ignore_errors=True)
        _git(None, *command)

    def _removed(self, base: str, tree: str) -> list[str]:
        out = self.git("diff", "--name-only", "--no-renames", "--diff-filter=D", "-z", base, tree)
        return [name for name in out.split("\0") if name]

    def commit(self, work: Path, parent: str, message: str, ref: str) -> Commit | None:
        """The files as they are now, as a commit; None if nothing changed."""
        if not (work.parent / _INDEX).exists():
            self._with_files(work, "read-tree", parent)
        self._with_files(work, "add", "--all", "--", ":/")
        tree = self._with_files(work, "write-tree").strip()
        if tree == self.git("rev-parse", f"{parent}^{{tree}}").strip():
            return None
        sha = self.git("commit-tree", tree, "-p", parent, "-m", message).strip()
        self.git("update-ref", ref, sha)
        return Commit(sha, parent, self._pack(sha, parent))

    def _pack(self, sha: str, parent: str) -> bytes:
        command = ("pack-objects", "--stdout", "--revs", "--thin", "--quiet")
        data = self._run(command, f"{sha}\n^{parent}\n".encode())
        if len(data) > MAX_PACK:
            size = f"{len(data) >> 20} MB"
            raise RepositoryError(f"one turn added {size} of files; name what is not source code in .gitignore")
        return data

    def unpack(self, commits: Sequence[tuple[str, bytes]], ref: str) -> None:
        """Put commits of another machine into the mirror, the oldest first."""
        for sha, pack in commits:
            if self._full_commit(sha) is None:
                self._run(("index-pack", "--stdin", "--fix-thin"), pack)
        if commits:
            self.git("update-ref", ref, commits[-1][0])

    def patch(self, base: str, head: str) -> str:
        return self.git("diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", base, head)

    def publish(self, sha: str, branch: str) -> None:
        """Make a branch of a commit in the repository itself. Raises RepositoryError if it is there already."""
        self.git("push", "--quiet", "--end-of-options", self.repository, f"{sha}:refs/heads/{branch}")

    def git(self, *arguments: str) -> str:
        return self._run(arguments).decode("utf-8", "surrogateescape")

    def _run(self, arguments: Sequence[str], data: bytes = b"") -> bytes:
        return _run(("--git-dir", str(self.folder), *arguments), None, data, {})

    def _with_files(self, work: Path, *arguments: str) -> str:
        """git with the mirror as its folder and the clone's files, and an index beside these."""
        place = {"GIT_INDEX_FILE": str(work.parent / _INDEX)}
        command = ("--git-dir", str(self.folder), "--work-tree", str(work), *arguments)
        return _run(command, work, b"", place).decode("utf-8", "surrogateescape")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """While this is open, no other worker of this machine has this lock."""
    make_private(lock.parent)
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _git(folder: Path | None, *arguments: str) -> str:
    return _run(arguments, folder, b"", {}).decode("utf-8", "surrogateescape")


def _run(arguments: Sequence[str], folder: Path | None, data: bytes, more: dict[str, str]) -> bytes:
    settings = [word for each in _SETTINGS for word in ("-c", each)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _OF_THE_USER}
    try:
        done = subprocess.run(  # noqa: S603 - git, with settings of ours
            ["git", *settings, *arguments],  # noqa: S607 - that of the user
            cwd=folder,
            env={**kept, **_LOOK, **_WHO, **more},
            input=data,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise RepositoryError("git is not installed; install it, or give tasks a folder") from None
    except subprocess.TimeoutExpired:
        raise RepositoryError(f"git {arguments[0]} did not end within {_SECONDS:.0f} s") from None
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().split("\n")
        raise RepositoryError(f"git failed: {words[0] or f'exit code {done.returncode}'}")
    return done.stdout


_OF_THE_USER = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_SSL_CAINFO")
"""Variables with which a user reaches their repositories."""
