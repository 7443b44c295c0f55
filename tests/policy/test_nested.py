"""Repositories below the workspace's own: git follows their settings once it takes them for submodules."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from joey.policy import Settings, Workspace
from joey.policy.shell import nested
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine
from joey.system.git import quiet_git_environment

RULES = Settings(reads="allow", writes="allow", allow=("git", "mv", "mkdir", "rm", "ls", "bash"))
COMMON = replace(RULES, allow=("git",))


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@example.com")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with another in it, in no index, of which the branch `other` makes a submodule."""
    folder = repository(tmp_path / "ws")
    inner = repository(folder / "u" / "v")
    first = git(inner, "rev-parse", "HEAD")
    git(inner, "commit", "-qm", "second", "--allow-empty")
    git(folder, "checkout", "-qb", "other")
    for commit in (first, git(inner, "rev-parse", "HEAD")):
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},u/v")
        git(folder, "commit", "-qm", "a submodule")
    git(folder, "update-index", "--force-remove", "u/v")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    return folder


def make_hostile(repository: Path, trace: Path) -> None:
    run = f"touch '{trace}'"
    with (repository / ".git" / "config").open("a") as config:
        config.write(f'[diff]\n\texternal = "{run}"\n[diff "x"]\n\tcommand = "{run}"\n\ttextconv = "{run}"\n')
        config.write(f'[filter "x"]\n\tclean = "{run}; cat"\n\tprocess = "{run}"\n')
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    (repository / "a.txt").write_text("b\n")


def judge(line: str, root: Path, rules: Settings = RULES) -> Verdict:
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    return combine(judge_line(line, rules, workspace, str(root)))


LINES = [
    "git add u && git diff --submodule=diff",
    "git add . && git status",
    "git add -A; git -C . diff --submodule=diff",
    "git add u\ngit describe --dirty",
    "git checkout other && git diff --submodule=diff",
    "git cherry-pick other~1 && git diff --submodule=diff",
    "git reset --soft other && git status",
    "git checkout other",
    "git switch other",
    "git checkout -b new other",
    "git diff --submodule=diff | git add u",
    "git show other --submodule=diff",
    "git log -p --submodule=diff other",
    "git diff main other --submodule=diff",
    "git diff-index -p --submodule=diff other",
    "git format-patch --stdout --submodule=diff main..other",
    "mv u w && git status",
    "bash -c 'git add u' && git diff --submodule=diff",
]


@pytest.mark.parametrize("line", LINES)
def test_git_asks_where_a_repository_inside_may_be_a_submodule_by_then(root: Path, tmp_path: Path, line: str) -> None:
    assert judge(line, root).allowed, judge(line, root).reason
    make_hostile(root / "u" / "v", tmp_path / "trace")
    verdict = judge(line, root)
    assert not verdict.allowed
    assert "the repository in u/v may be a submodule by then" in verdict.reason


@pytest.mark.parametrize(
    "line",
    [*LINES[:13], "git status", "git add u", "git merge other", "git diff other", "git show other", "git log -p other"],
)
def test_what_is_allowed_runs_nothing_of_it(root: Path, tmp_path: Path, line: str) -> None:
    make_hostile(root / "u" / "v", trace := tmp_path / "trace")
    (own := tmp_path / "gitconfig").write_text("[diff]\n\tsubmodule = diff\n")
    if judge(line, root).allowed:
        variables = {"GIT_CONFIG_GLOBAL": str(own), "GIT_EDITOR": "true"}
        environment = {**os.environ, **quiet_git_environment(), **variables}
        subprocess.run(["bash", "-c", line], cwd=root, env=environment, capture_output=True, check=False)
    assert not trace.exists()


@pytest.mark.parametrize("rules", [Settings.for_profile("plan"), replace(RULES, allow=("git show *",))])
def test_neither_plan_mode_nor_a_rule_for_these_words_says_anything_about_it(
    root: Path, tmp_path: Path, rules: Settings
) -> None:
    assert judge("git show other --submodule=diff", root, rules).allowed
    make_hostile(root / "u" / "v", tmp_path / "trace")
    assert not judge("git show other --submodule=diff", root, rules).allowed
    assert judge("git show other --submodule=log", root, rules).allowed
    assert judge("git show other", root, rules).allowed


@pytest.mark.parametrize("line", ["git status", "git add u", "git commit -am x", "git diff", "git checkout -b new"])
def test_what_only_looks_at_the_index_as_it_is_does_not_ask(root: Path, tmp_path: Path, line: str) -> None:
    make_hostile(root / "u" / "v", tmp_path / "trace")
    assert judge(line, root, COMMON).allowed, judge(line, root, COMMON).reason


EVERYDAY = [
    "git add . && git commit -m x",
    "git add -A && git status",
    "git checkout -b x && git diff",
    "git stash && git stash pop",
    "git add a.txt && git commit -qm x && git log --oneline -3",
    "git fetch && git merge --ff-only && git status -sb",
    "git diff --submodule=diff",
]


@pytest.mark.parametrize("line", EVERYDAY)
def test_everyday_lines_do_not_ask(tmp_path: Path, line: str) -> None:
    alone = repository(tmp_path / "alone")
    assert judge(line, alone, COMMON).allowed, judge(line, alone, COMMON).reason
    repository(alone / "vendor" / "lib")
    (alone / "empty" / ".git").mkdir(parents=True)
    assert judge(line, alone, COMMON).allowed, "a repository with settings that are known"


def test_also_what_is_kept_for_submodules_counts(root: Path, tmp_path: Path) -> None:
    kept = root / ".git" / "modules" / "a" / "b"
    kept.parent.mkdir(parents=True)
    (root / "u" / "v" / ".git").rename(kept)
    (root / "u" / "v" / ".git").write_text("gitdir: ../../.git/modules/a/b\n")
    git(kept, "config", "core.worktree", "../../../../u/v")
    assert judge(LINES[0], root).allowed, judge(LINES[0], root).reason
    git(kept, "config", "diff.external", "./evil.sh")
    assert not judge(LINES[0], root).allowed
    (root / "u" / "v" / ".git").unlink()
    assert not judge(LINES[0], root).allowed


def test_links_hide_no_repository(root: Path, tmp_path: Path) -> None:
    outside = repository(tmp_path / "outside")
    (root / "link").symlink_to(outside)
    (root / "self").symlink_to(".")
    assert judge(LINES[0], root).allowed, judge(LINES[0], root).reason
    git(outside, "config", "diff.external", "./evil.sh")
    assert not judge(LINES[0], root).allowed
    (root / "link").unlink()
    (root / ".git" / "x").mkdir()
    (root / "link").symlink_to(".git/x")
    assert "link leads into one" in judge(LINES[0], root).reason


def test_what_cannot_be_looked_through_asks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "_MAX_ENTRIES", 3)
    assert "too many files to look at" in judge(LINES[0], root).reason
    assert judge("git status", root).allowed
    monkeypatch.undo()
    monkeypatch.setattr(nested, "_MAX_REPOSITORIES", 0)
    assert "there are too many" in judge(LINES[0], root).reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root lists every folder")
def test_a_folder_that_cannot_be_listed_asks(root: Path) -> None:
    (root / "u").chmod(0o311)
    assert "cannot be listed" in judge(LINES[0], root).reason
    (root / "u").chmod(0o755)


def test_the_settings_of_git_that_hold_it_stay(root: Path) -> None:
    plan = Settings.for_profile("plan")
    assert judge("git status", root, plan).allowed
    assert judge("env -u CI git status", root, plan).allowed
    for rules in (plan, replace(RULES, allow=("git", "env", "unset", "export", "exec", "declare", "nohup"))):
        for line in ("env -i git status", "env - git status", "nohup env -i git status", "exec -c git status"):
            assert not judge(line, root, rules).allowed, line
        for name in (*quiet_git_environment(), "PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "https_proxy"):
            for line in (
                f"env -u {name} git status", f"env --unset={name} git status", f"env {name}=1 git status",
                f"{name}=1 git status", f"unset {name} && git status", f"export -n {name}; git status",
                f"declare -x {name}=1; git status", f"env -S '-u {name} git status'",
            ):  # fmt: skip
                assert not judge(line, root, rules).allowed, line
