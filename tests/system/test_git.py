"""Real hostile repositories. Each trap is a program that leaves a file; none may run when Joey looks, and each is shown
to run when git is called plainly, so that these tests can fail."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import threading
from pathlib import Path

import pytest

from git_kit import IDENTITY, TRAPS, Hostile, fsmonitor
from joey.actions import RunCommand
from joey.policy import IgnoreRules, Settings, Workspace, judge
from joey.sandbox import SandboxSettings
from joey.system.git import (
    LOOKING,
    find_repository,
    looking_at,
    quiet_git_environment,
    safe_git_environment,
)
from joey.task.mentions import WorkspaceSources
from joey.tools.base import ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey.tools.shell.environment import command_environment


@pytest.fixture(params=TRAPS, ids=lambda trap: trap.__name__)
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> Hostile:
    repository = Hostile(tmp_path)
    request.param(repository)
    assert not repository.ran
    return repository


def plainly(work: Path, *arguments: str) -> None:
    """Run git as a person at a terminal would."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["git", *arguments], cwd=work, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    reader = threading.Thread(target=_drain, args=(ours,), daemon=True)
    reader.start()
    process.wait(60)
    reader.join(60)
    os.close(ours)


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError:  # how a pseudo-terminal says that nobody is left at its other end
        pass


LOOKS = (("status",), ("diff", "HEAD"), ("show", "HEAD"))
WORK = (
    ("add", "-A"), ("reset", "-q"), ("add", "a.txt"), ("commit", "-qm", "Second"), ("branch", "side"), ("tag", "mark"),
    ("checkout", "-q", "side"), ("commit", "--amend", "-qm", "Again"), ("rm", "-q", "--cached", "a.txt"), ("stash",),
    ("switch", "-qc", "more"), ("merge", "-q", "side"), ("describe", "--always", "--dirty"), ("mv", "a.txt", "b.txt"),
)  # fmt: skip
AUTHOR = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def test_the_trap_works_when_git_is_called_plainly(hostile: Hostile) -> None:
    for look in LOOKS:
        plainly(hostile.work, *look)
    assert hostile.ran


async def test_no_trap_runs_when_joey_looks(hostile: Hostile) -> None:
    sources = WorkspaceSources(Workspace(str(hostile.work), str(hostile.outside), IgnoreRules.read({})))
    before = _tree(hostile.work)
    changes = await sources.git_changes()
    commit = await sources.commit("HEAD")
    assert not hostile.ran and _tree(hostile.work) == before
    is_repository, is_complete = (hostile.work / ".git").exists(), "promisor" not in hostile.git_configuration
    assert (changes is not None) == is_repository
    assert (commit is not None) == (is_repository and is_complete)


def _tree(folder: Path) -> dict[str, float]:
    return {str(path): path.lstat().st_mtime for path in folder.rglob("*")}


def as_the_model(repository: Hostile, words: tuple[str, ...], *, asks: bool = True) -> None:
    """Run git as a command of the model's: if the policy allows it under the user's rule `git`, unless nobody asks."""
    workspace = Workspace(str(repository.work), str(repository.outside), IgnoreRules.read({}))
    verdict = judge([RunCommand(shlex.join(["git", *words]))], Settings(allow=("git",)), workspace)
    if verdict.allowed or not asks:
        environment = {**command_environment(os.environ).variables, **quiet_git_environment(), **AUTHOR}
        subprocess.run(["git", *words], cwd=repository.work, env=environment, check=False, capture_output=True)


def test_no_trap_runs_in_a_command_of_the_model_s_that_a_rule_allows(hostile: Hostile) -> None:
    for words in (*LOOKS, *WORK):
        as_the_model(hostile, words)
    assert not hostile.ran


@pytest.mark.parametrize("name", ["post-index-change", "reference-transaction"])
def test_no_hook_runs_unasked_that_nobody_expects(tmp_path: Path, name: str) -> None:
    repository = Hostile(tmp_path)
    (repository.work / ".git/hooks").mkdir(exist_ok=True)
    (repository.work / ".git/hooks" / name).symlink_to(repository.trap("exit 0"))
    for words in (*LOOKS, *WORK):
        as_the_model(repository, words)
    assert not repository.ran
    for words in (*LOOKS, *WORK):
        as_the_model(repository, words, asks=False)
    assert repository.ran, "this hook is not tried by any command here"


def test_a_workspace_in_a_repository_is_judged_by_that_repository(tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    fsmonitor(repository)
    (repository.work / "part").mkdir()
    workspace = Workspace(str(repository.work / "part"), str(tmp_path), IgnoreRules.read({}))
    verdict = judge([RunCommand("git status")], Settings(allow=("git",)), workspace)
    assert verdict.decision == "ask" and "core.fsmonitor" in verdict.reason


def test_an_ordinary_clone_with_a_submodule_is_no_problem(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    origin.git("clone", "-q", str(origin.work), str(tmp_path / "clone"))
    clone = tmp_path / "clone"
    origin.git("submodule", "--quiet", "add", str(origin.work), "inner", folder=clone)
    verdict = judge([RunCommand("git status")], Settings(allow=("git",)), Workspace.of(clone))
    assert verdict.allowed, verdict.reason


def test_a_configuration_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    (origin.work / ".git/config").unlink()
    os.mkfifo(origin.work / ".git/config")
    assert "-one\n+two" in _look(origin.work, "diff", *LOOKING, "HEAD")


async def test_the_model_s_git_does_its_work(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    (origin.work / ".git/hooks").mkdir(exist_ok=True)
    (origin.work / ".git/hooks/pre-commit").symlink_to(origin.trap("exit 0"))
    commit = f"git {' '.join(IDENTITY)} commit -qam Second"
    line = f"{commit} && git log --format=%s && git status --short && git config core.pager"
    context = ToolContext(origin.work, tmp_path / "storage")
    bare = SandboxSettings(mode="off")  # the hook lies outside the workspace
    result = await ExecuteCommand(sandbox=bare).run(ExecuteCommandParams(command=line), context)
    assert result.text.endswith("Output:\nSecond\nBegin\ncat"), result.text
    assert origin.ran, "a hook of the project's belongs to a commit"


@pytest.mark.parametrize(
    "line", ["status", "diff HEAD", "diff --cached", "show", "log -p --stat", "blame a.txt", "branch -a", "tag -l",
             "grep two", "ls-files", "rev-parse HEAD", "describe --always", "shortlog HEAD", "stash list",
             "reflog", "remote -v"],
)  # fmt: skip
def test_what_the_model_looks_at_works_in_the_safe_environment(tmp_path: Path, line: str) -> None:
    work = Hostile(tmp_path).work
    environment = {**os.environ, **safe_git_environment()}
    done = subprocess.run(
        ["git", *line.split()], cwd=work, env=environment, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def _look(folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> str:
    with looking_at(folder, os.environ if environ is None else environ) as git:
        assert git is not None
        command = [*git.command, *arguments]
        done = subprocess.run(
            command, cwd=folder, env=dict(git.environment), check=True, capture_output=True, text=True
        )
    return done.stdout


def test_a_linked_worktree_and_a_sha256_repository_are_seen(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    origin.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/new").write_text("x")
    assert _look(tmp_path / "side", "status", "--short", "--branch") == "## side\n?? new\n"
    other = tmp_path / "other"
    origin.git("init", "-q", "--object-format=sha256", str(other))
    origin.git("commit", "-q", "--allow-empty", "-m", "Begin", folder=other)
    assert len(_look(other, "rev-parse", "HEAD").strip()) == 64


def test_line_ends_are_compared_as_the_repository_stores_them(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    origin.config(core__autocrlf="true")
    (origin.work / "a.txt").write_bytes(b"one\r\n")
    assert _look(origin.work, "diff", *LOOKING, "HEAD") == ""


def test_a_folder_elsewhere_cannot_be_named_as_the_files_of_a_repository(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/diary").write_text("secret")
    origin.config(core__worktree=str(tmp_path / "private"))
    assert "diary" in origin.git("status", "--short") and "diary" not in _look(origin.work, "status", "--short")


def test_variables_and_programs_of_the_environment_are_not_used(tmp_path: Path) -> None:
    origin = Hostile(tmp_path)
    (origin.work / "git").symlink_to(origin.trap())
    environ = {
        "PATH": f".:{os.environ['PATH']}", "GIT_EXTERNAL_DIFF": origin.trap(), "GIT_DIR": "/nonexistent",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": origin.trap(),
    }  # fmt: skip
    assert "-one\n+two" in _look(origin.work, "diff", "HEAD", environ=environ)
    assert not origin.ran


@pytest.mark.parametrize("content", ["", "gitdir: \n", "gitdir: /nonexistent\n", "x" * 100_000, "gitdir: a\0b\n"])
def test_a_pointer_that_leads_nowhere_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert find_repository(tmp_path) is None


@pytest.mark.parametrize("head", ["", "ref: ../../x\n", "ref: refs/a b\n", "nothing\n", "ref: refs/heads/\x1b\n"])
def test_a_head_that_is_no_reference_is_no_repository(tmp_path: Path, head: str) -> None:
    origin = Hostile(tmp_path)
    (origin.work / ".git/HEAD").write_text(head)
    with looking_at(origin.work) as git:
        assert git is None
