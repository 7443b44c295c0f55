"""What only the disk can answer: whose repository it is, whose module, whose tool."""

from __future__ import annotations

import shutil
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


def judge(line: str, root: Path, rules: Settings = RULES) -> Verdict:
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    return combine(judge_line(line, rules, workspace, str(root)))


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


@pytest.mark.parametrize(
    "rules", [Settings.for_profile("plan"), replace(RULES, allow=("git status", "git diff"))], ids=["plan", "rules"]
)
def test_a_rule_for_just_these_words_says_nothing_about_the_repository(root: Path, rules: Settings) -> None:
    git(root, "init", "-q", "inner")
    assert judge("git status", root, rules).allowed
    assert not judge("cd inner && git status", root, rules).allowed
    git(root, "config", "filter.x.clean", "./evil.sh")
    assert "filter.x.clean" in judge("git status", root, rules).reason
    assert "filter.x.clean" in judge("git diff", root, rules).reason


def test_a_plan_is_not_made_with_what_an_ignore_file_hides(root: Path) -> None:
    (root / ".rooignore").write_text("a.txt\n")
    plan = Settings.for_profile("plan")
    for line in ("git diff", "git show"):
        assert "an ignore file hides" in judge(line, root, plan).reason


@pytest.mark.parametrize("name", ["../other", " other", "../link/../other", "../other" + "\n" * 300_000])
def test_the_folder_that_a_repository_shares_has_the_settings(root: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere" / "sub").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path / "elsewhere" / "sub")
    other = (root / ".git" / name.rstrip("\n")).resolve()
    shutil.copytree(root / ".git", other)
    (root / ".git" / "commondir").write_text(name)
    git(root, "config", "--file", str(other / "config"), "core.fsmonitor", "./evil.sh")
    assert not judge("git status", root).allowed


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


def test_git_asks_before_it_shows_what_the_line_has_added(root: Path) -> None:
    (root / ".rooignore").write_text(".env\n")
    (root / ".env").write_text("secret\n")
    assert judge("git add -A", root).allowed
    assert judge("git add -A && git diff --cached --stat", root).allowed
    for line in ("git add -A && git diff --cached", "git add . ; git commit --dry-run -v", "git add -N . && git diff"):
        assert "an ignore file hides" in judge(line, root).reason
    git(root, "add", "-f", ".env")
    assert "an ignore file hides" in judge("git commit --dry-run -v", root).reason


def test_an_ignore_file_is_not_stashed_away(root: Path) -> None:
    (root / "sub").mkdir()
    for line in ("git stash -u", "cd sub && git stash push --include-untracked -m wip"):
        assert judge(line, root).allowed
        (root / ".rooignore").write_text(".env\n")
        assert "it would stash `.rooignore` if git does not track it" in judge(line, root).reason
        (root / ".rooignore").unlink()


def test_a_tag_with_the_name_of_a_file_does_not_restrict_what_is_shown(root: Path) -> None:
    (root / ".rooignore").write_text(".env\n")
    (root / "sub").mkdir()
    for line in ("cd sub && git show a.txt", "git -C sub log -p a.txt", "git log -p -- .", "git show HEAD ./"):
        assert "an ignore file hides" in judge(line, root).reason
    (root / "sub" / "a.txt").write_text("b\n")
    assert judge("git -C sub log -p a.txt", root).allowed


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
    assert "a file of the workspace" in judge("cat a.txt", root, replace(RULES, allow=("cat a.txt",))).reason


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


@pytest.fixture
def hops(root: Path, tmp_path: Path) -> Path:
    """A link to a folder in which a link leads out, and another to one in which something is hidden."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_text("secret")
    for name in ("mid", "hop", "near", "priv", "far"):
        (root / name).mkdir()
    (root / "mid" / "h").symlink_to("../hop")
    (root / "hop" / "dir").symlink_to("../../outside")
    (root / "near" / "n").symlink_to("../far")
    (root / "far" / "p").symlink_to("../priv")
    (root / "priv" / "key.pem").write_text("secret")
    return root


FOLLOWS = ("grep -R x {}", "zip -r out.zip {}", "diff -r {} sub", "find {} -exec cat -- {{}} +")


@pytest.mark.parametrize("line", FOLLOWS)
def test_links_are_followed_as_far_as_a_program_follows_them(hops: Path, line: str) -> None:
    rules = replace(RULES, allow=("grep", "zip", "diff", "find", "cat"))
    (hops / "sub").mkdir()
    assert judge(line.format("near"), hops, rules).allowed, judge(line.format("near"), hops, rules).reason
    assert "a link that leads out" in judge(line.format("mid"), hops, rules).reason
    (hops / ".joeyignore").write_text("priv/\n")
    assert "hidden" in judge(line.format("near"), hops, rules).reason
    (hops / ".joeyignore").write_text("*.pem\n")
    assert "hidden" in judge(line.format("near"), hops, rules).reason


def test_a_circle_of_links_comes_to_an_end_and_a_name_is_no_way_out(hops: Path, tmp_path: Path) -> None:
    rules = replace(RULES, allow=("grep",))
    (hops / "far" / "back").symlink_to("../near")
    (hops / "far" / "self").symlink_to("self")
    (hops / "far" / "self").unlink()
    assert judge("grep -R x near", hops, rules).allowed
    (hops / "far" / "python3").symlink_to(tmp_path / "outside" / "key")
    assert not judge("grep -R x near", hops, rules).allowed


def test_too_many_files_to_follow_ask(hops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joey.policy.paths._MAX_FOLLOWED", 3)
    assert "too many files" in judge("grep -R x .", hops, replace(RULES, allow=("grep",))).reason


def test_names_that_find_hands_on_are_listed_where_links_lead(hops: Path) -> None:
    rules = replace(RULES, allow=("find", "ls", "stat"))
    assert judge("find near -exec ls -l {} +", hops, rules).allowed
    for line in ("find hop -exec ls {} +", "find mid -type l -exec ls {} ;", "find . -print0 | xargs -0 ls"):
        assert (
            "a link that leads out"
            in judge(line.replace(" ;", " ';'"), hops, replace(rules, allow=("find", "ls", "xargs"))).reason
        )


EXACT = (
    "cat f/victim.py", "frobnicate f/victim.py", "sed -i s/a/b/ f/victim.py", "grep -R x f", "cat f/victim.py | head",
    "for i in 1; do cat f/victim.py; done", "python run.py --input=f/victim.py", "echo x > f/victim.py",
    "ls && cat f/victim.py",
)  # fmt: skip


@pytest.mark.parametrize("line", EXACT)
def test_a_command_that_was_allowed_exactly_is_judged_for_where_its_paths_lead_now(root: Path, line: str) -> None:
    (root / "f").mkdir()
    (root / "f" / "victim.py").write_text("")
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "victim.py").write_text("")
    parts = line.split(" && ")
    whole, single = replace(RULES, allow=(f"={line}",)), replace(RULES, allow=tuple(f"={each}" for each in parts))
    assert judge(line, root, whole).allowed and judge(line, root, single).allowed
    (root / "f").rename(root / "old")
    (root / "f").symlink_to("../outside")
    for rules in (whole, single, replace(whole, allow=(f"+network ={line}",))):
        assert judge(line, root, rules).decision == "ask", judge(line, root, rules).reason
    (root / "f").unlink()
    (root / "f").symlink_to(".git/hooks")
    (root / ".git" / "hooks" / "victim.py").write_text("")
    if line.startswith(("sed", "echo", "frob")):
        assert judge(line, root, whole).decision == "ask"


def test_what_was_written_out_in_an_exact_rule_does_not_ask(root: Path) -> None:
    (root.parent / "outside").mkdir()
    (root / "inner").symlink_to("a.txt")
    for line in ("cat ../outside/x", "cat /etc/hosts", "rm -rf build", "echo x > .envrc", "cat inner", "make clean"):
        assert judge(line, root, replace(RULES, allow=(f"={line}",))).allowed, line


@pytest.mark.parametrize(
    "line", ["cat priv/key.pem", "cat lnk", "for i in 1; do cat priv/key.pem; done", "frob priv/key.pem"]
)
def test_an_exact_rule_shows_nothing_that_is_hidden(hops: Path, line: str) -> None:
    (hops / ".joeyignore").write_text("priv/\n")
    (hops / "lnk").symlink_to("priv/key.pem")
    assert judge(line, hops, replace(RULES, allow=(f"={line}",))).decision == "deny"


def test_waiting_needs_no_rule_beside_a_command_that_has_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge("sleep 1; cat a.txt", root).allowed and judge("cat a.txt && sleep 0.5", root).allowed
    assert not judge("sleep 1", root).allowed and not judge("sleep 1 > ../x; cat a.txt", root).allowed
    (root / "bin").mkdir()
    (root / "bin" / "sleep").write_text("#!/bin/sh\n")
    (root / "bin" / "sleep").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:/usr/bin:/bin")
    assert "a file of the workspace" in judge("sleep 1; cat a.txt", root).reason


@pytest.mark.parametrize("setting", ["url", "pushurl"])
@pytest.mark.parametrize("path", ["./inc/bare", "/srv/bare", "../bare", "file:///srv/bare", "inc/bare"])
def test_a_remote_that_is_a_folder_of_this_machine_asks(root: Path, path: str, setting: str) -> None:
    git(root, "config", "remote.origin.url", "https://example.com/x.git")
    git(root, "config", "remote.up.url", "git@example.com:x.git")
    talks = (
        "git push origin main",
        "git push",
        "git fetch origin",
        "git pull",
        "git fetch --all",
        "git ls-remote origin",
    )
    for line in talks:
        assert judge(line, root).allowed, judge(line, root).reason
    git(root, "config", f"remote.origin.{setting}", path)
    for line in talks:
        assert judge(line, root).decision == "ask"
    if path != "inc/bare":  # such a value is not understood at all
        assert "another repository of this machine" in judge("git push origin main", root).reason
        assert judge("git push up main", root).allowed and judge("git status", root).allowed


def test_a_remote_that_no_configuration_names_asks(root: Path) -> None:
    """git also takes a folder for it (`up.git`), and files in `.git/remotes` and `.git/branches`."""
    git(root, "config", "remote.origin.url", "https://example.com/x.git")
    assert judge("git push origin main", root).allowed
    for line in ("git push up main", "git fetch up", "git pull up main", "git ls-remote up"):
        assert judge(line, root).decision == "ask"


def test_an_ignore_file_hides_what_is_in_a_file_and_not_its_times(root: Path) -> None:
    (root / ".joeyignore").write_text("secret.txt\n")
    (root / "secret.txt").write_text("secret\n")
    rules = replace(RULES, allow=("touch", "ls", "stat", "zip"))
    for line in ("touch -r secret.txt a.txt", "ls -l secret.txt", "stat secret.txt"):
        assert judge(line, root, rules).allowed, judge(line, root, rules).reason
    for line in ("touch secret.txt", "zip out a.txt -i@secret.txt", "zip out a.txt -x @secret.txt"):
        assert judge(line, root, rules).decision == "deny", line
