"""What only the disk can answer: whose repository it is, whose module, whose tool."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine

RULES = Settings(reads="allow", writes="allow", allow=("git", "grep", "python", "npx tsc", "cat"))


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def judge(line: str, root: Path) -> Verdict:
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    return combine(judge_line(line, RULES, workspace, str(root)))


def test_the_workspaces_own_repository_is_used(root: Path) -> None:
    (root / "sub").mkdir()
    for line in ("git status", "cd sub && git status", "git -C sub log", "git diff HEAD"):
        assert judge(line, root).allowed, judge(line, root).reason


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "core.hooksPath", "core.sshCommand", "diff.x.command", "include.path"]
)
def test_a_setting_that_runs_programs_asks(root: Path, setting: str) -> None:
    git(root, "config", setting, "./evil.sh")
    assert setting.lower() in judge("git status", root).reason.lower()


def test_a_repository_inside_is_not_the_workspaces_own(root: Path) -> None:
    git(root, "init", "-q", "inner")
    git(root, "init", "-q", "--bare", "fixtures/bare")
    for line in (
        "cd inner && git status",
        "git -C inner status",
        "cd fixtures/bare && git log",
        "cd inner; git status",
    ):
        assert not judge(line, root).allowed, line
    assert judge("git status", root).allowed


def test_the_settings_of_a_submodule_count(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-qm", "first", "--allow-empty")
    git(root, "submodule", "add", "-q", str(other), "lib")
    assert judge("git status", root).allowed, judge("git status", root).reason
    git(root / "lib", "config", "core.fsmonitor", "../evil.sh")
    assert "core.fsmonitor" in judge("git status", root).reason


def test_a_linked_worktree_has_the_settings_of_its_repository(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert judge("git status", tmp_path / "linked").allowed
    git(root, "config", "core.fsmonitor", "./evil.sh")
    assert not judge("git status", tmp_path / "linked").allowed


def test_git_asks_before_it_shows_what_may_be_hidden(root: Path) -> None:
    (root / ".rooignore").write_text(".env\n")
    assert judge("git diff", root).allowed
    assert judge("git show --stat", root).allowed
    assert "of the history" in judge("git show HEAD", root).reason
    assert judge("git show HEAD -- a.txt", root).allowed
    assert judge("git log -p -1 a.txt", root).allowed
    assert not judge("git grep a.txt", root).allowed or not judge("git grep a.txt HEAD", root).allowed
    assert judge("git show HEAD:.env", root).decision == "deny"
    assert judge("git grep --untracked x", root).allowed
    (root / ".env").write_text("secret\n")
    (root / "lib").mkdir()
    (root / "lib" / "other").hardlink_to(root / ".env")
    assert not judge("git grep --untracked x", root).allowed
    assert not judge("grep -r x lib", root).allowed, "the same file has a name there"
    git(root, "add", "-f", ".env")
    assert "an ignore file hides" in judge("git diff --cached", root).reason


def test_in_the_sandbox_git_asks_as_well(root: Path) -> None:
    (root / ".rooignore").write_text(".env\n")
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    confined = Settings(reads="allow", writes="allow", confined=True)
    assert combine(judge_line("git log -p", confined, workspace, str(root))).decision == "ask"
    assert combine(judge_line("git log --oneline", confined, workspace, str(root))).allowed


def test_a_module_must_be_the_projects_own(root: Path) -> None:
    assert not judge("python -m timeit", root).allowed
    assert not judge("python -m mine", root).allowed
    (root / "mine.py").write_text("")
    assert judge("python -m mine --flag", root).allowed


def test_a_tool_must_be_installed(root: Path) -> None:
    assert "node_modules" in judge("npx tsc --noEmit", root).reason
    (root / "node_modules/.bin").mkdir(parents=True)
    (root / "node_modules/.bin/tsc").write_text("")
    assert judge("npx tsc --noEmit", root).allowed


def test_a_file_of_the_workspace_does_not_pass_for_a_program(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "bin").mkdir()
    fake = root / "bin" / "cat"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    assert judge("cat a.txt", root).allowed
    monkeypatch.setenv("PATH", f"{root}/bin:/usr/bin:/bin")
    assert "a file of the workspace" in judge("cat a.txt", root).reason


def test_a_link_below_a_folder_does_not_lead_a_reader_out(root: Path, tmp_path: Path) -> None:
    rules = replace(RULES, allow=("grep", "find", "cat", "xargs"))
    workspace = replace(Workspace.of(root), home=str(tmp_path / "home"))
    following = ["grep -R x .", "find . -exec cat {} +", "find . -print0 | xargs -0 cat"]
    for line in (*following, "grep -r x ."):
        assert combine(judge_line(line, rules, workspace, str(root))).allowed, line
    (tmp_path / "key").write_text("secret")
    (root / "notes.txt").symlink_to(tmp_path / "key")
    for line in following:
        assert "a link that leads out" in combine(judge_line(line, rules, workspace, str(root))).reason
    assert combine(judge_line("grep -r x .", rules, workspace, str(root))).allowed, "it does not follow links"


def test_what_git_puts_in_place_is_not_judged_by_what_was_there_before(root: Path) -> None:
    assert judge("git checkout main && git status", root).allowed
    assert judge("git stash list && cat a.txt", root).allowed
    for line in ("git checkout other && cat a.txt", "git pull; cat a.txt", "git stash pop && echo x > a.txt"):
        assert "only known when the line has run so far" in judge(line, root).reason


def test_a_repository_that_the_line_makes_is_not_known(root: Path) -> None:
    rules = replace(RULES, allow=("git", "mkdir", "cp", "touch"))
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    (root / "conf").mkdir()
    hostile = "mkdir conf/objects conf/refs && cp a.txt conf/HEAD && cp a.txt conf/config && git -C conf status"
    assert "only known when the line has run so far" in combine(judge_line(hostile, rules, workspace, str(root))).reason
    harmless = "mkdir conf/x && touch conf/x/y && cd conf && git status"
    assert combine(judge_line(harmless, rules, workspace, str(root))).allowed


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git status", "allow"), ("git log -3", "allow"), ("git stash list", "allow"), ("git tag -l", "allow"),
        ("git reset --hard", "deny"), ("git checkout dev", "deny"), ("git commit -m x", "deny"), ("git stash", "deny"),
        ("cargo fmt", "deny"), ("go mod tidy", "deny"), ("npm init -y", "deny"), ("cargo test", "allow"),
    ],
)  # fmt: skip
def test_read_only_holds_for_what_a_rule_allows(root: Path, line: str, decision: str) -> None:
    rules = replace(Settings.for_profile("read-only"), allow=("git", "cargo", "go", "npm"))
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    assert combine(judge_line(line, rules, workspace, str(root))).decision == decision
