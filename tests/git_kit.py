"""Repositories for tests: one with a commit and a change, and traps in it, which are programs that leave a mark."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")


class Hostile:
    """A repository with a commit and a change, in which traps are set."""

    def __init__(self, folder: Path) -> None:
        self.outside, self.work = folder, folder / "work"
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.work.mkdir()
        self.git("init", "-q")
        (self.work / "a.txt").write_text("one\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        (self.work / "a.txt").write_text("two\n")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        command = ["git", *IDENTITY, *arguments]
        done = subprocess.run(command, cwd=folder or self.work, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def config(self, **settings: str) -> None:
        for name, value in settings.items():
            self.git("config", name.replace("__", "."), value)

    def trap(self, answer: str = "cat") -> str:
        """A program that leaves a mark, and then does what git expects of it."""
        program = self.outside / "trap"
        program.write_text(f"#!/bin/sh\ntouch '{self.marks}/ran'\n{answer}\n")
        program.chmod(0o755)
        return str(program)

    @property
    def git_configuration(self) -> str:
        file = self.work / ".git/config"
        return file.read_text() if file.is_file() else ""

    @property
    def ran(self) -> bool:
        return any(self.marks.iterdir())


def fsmonitor(repository: Hostile) -> None:
    repository.config(core__fsmonitor=repository.trap("exit 1"))


def included(repository: Hostile) -> None:
    (repository.outside / "more").write_text(f"[core]\n\tfsmonitor = {repository.trap('exit 1')}\n")
    repository.config(include__path=str(repository.outside / "more"))


def worktree_configuration(repository: Hostile) -> None:
    repository.config(extensions__worktreeConfig="true")
    repository.git("config", "--worktree", "core.fsmonitor", repository.trap("exit 1"))


def hook(repository: Hostile) -> None:
    (repository.work / ".git/hooks").mkdir(exist_ok=True)
    (repository.work / ".git/hooks/post-index-change").symlink_to(repository.trap("exit 0"))
    (repository.work / "a.txt").write_text("one\n")  # as it was, with another time: the index is refreshed
    os.utime(repository.work / "a.txt", (1, 1))


def hooks_elsewhere(repository: Hostile) -> None:
    hook(repository)
    (repository.work / ".git/hooks").rename(repository.work / "hooks")
    repository.config(core__hooksPath="hooks")


def clean_filter(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* filter=name-of-its-own\n")
    repository.git("config", "filter.name-of-its-own.clean", repository.trap())


def filter_process(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* filter=other\n")
    repository.git("config", "filter.other.process", repository.trap("exit 1"))


def filter_in_info(repository: Hostile) -> None:
    (repository.work / ".git/info").mkdir(exist_ok=True)
    (repository.work / ".git/info/attributes").write_text("* filter=third\n")
    repository.git("config", "filter.third.clean", repository.trap())


def text_conversion(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* diff=images\n")
    repository.git("config", "diff.images.textconv", repository.trap('cat "$1"'))


def diff_driver(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* diff=own\n")
    repository.git("config", "diff.own.command", repository.trap("exit 0"))


def external_diff(repository: Hostile) -> None:
    repository.config(diff__external=repository.trap("exit 0"))


def pager(repository: Hostile) -> None:
    repository.config(core__pager=repository.trap())


def pager_of_a_command(repository: Hostile) -> None:
    repository.config(pager__show=repository.trap(), pager__status=repository.trap())


def signature(repository: Hostile) -> None:
    signed = "echo '[GNUPG:] SIG_CREATED ' >&2\ncat >/dev/null\necho '-----BEGIN PGP SIGNATURE-----'"
    repository.config(gpg__program=repository.trap(signed), log__showSignature="true")
    repository.git("commit", "-qS", "--allow-empty", "-m", "Signed")
    repository.trap("exit 1")
    for mark in repository.marks.iterdir():
        mark.unlink()


def missing_object(repository: Hostile, url: str, **settings: str) -> None:
    """A blob that is not there, and a remote that promises to have it."""
    blob = repository.git("rev-parse", "HEAD:a.txt")
    (repository.work / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repository.config(
        core__repositoryformatversion="1", extensions__partialClone="origin", remote__origin__url=url,
        remote__origin__promisor="true", remote__origin__partialclonefilter="blob:none", **settings,
    )  # fmt: skip


def promisor_by_command(repository: Hostile) -> None:
    missing_object(repository, f"ext::{repository.trap('exit 1')}", protocol__ext__allow="always")


def promisor_by_ssh(repository: Hostile) -> None:
    missing_object(repository, "ssh://nowhere.invalid/x", core__sshCommand=repository.trap("exit 1"))


def promisor_by_upload_pack(repository: Hostile) -> None:
    missing_object(repository, str(repository.outside), remote__origin__uploadpack=repository.trap("exit 1"))


def submodule(repository: Hostile) -> None:
    inner = repository.work / "inner"
    inner.mkdir()
    repository.git("init", "-q", folder=inner)
    repository.git("commit", "-q", "--allow-empty", "-m", "Begin", folder=inner)
    repository.git("add", "inner")
    repository.git("config", "core.fsmonitor", repository.trap("exit 1"), folder=inner)
    (repository.work / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./i\n\tignore = none\n')
    repository.git("config", "submodule.inner.ignore", "none")


def submodule_that_nobody_configured(repository: Hostile) -> None:
    submodule(repository)
    (repository.work / ".gitmodules").unlink()
    repository.git("config", "--remove-section", "submodule.inner")


def bare_repository(repository: Hostile) -> None:
    """The project's own folder looks like a bare repository, whose configuration came with the project."""
    (repository.work / ".git").rename(repository.outside / "moved")
    for part in (repository.outside / "moved").iterdir():
        part.rename(repository.work / part.name)
    config = repository.work / "config"
    config.write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = {repository.trap('exit 1')}\n"
    )


def git_folder_elsewhere(repository: Hostile) -> None:
    fsmonitor(repository)
    (repository.work / ".git").rename(repository.work / "data")
    (repository.work / ".git").write_text("gitdir: data\n")


TRAPS: list[Callable[[Hostile], None]] = [
    fsmonitor, included, worktree_configuration, hook, hooks_elsewhere, clean_filter, filter_process, filter_in_info,
    text_conversion, diff_driver, external_diff, pager, pager_of_a_command, signature, promisor_by_command,
    promisor_by_ssh, promisor_by_upload_pack, submodule, submodule_that_nobody_configured, bare_repository,
    git_folder_elsewhere,
]  # fmt: skip
