"""What git shows of files that an ignore file hides: nothing, whatever the options are, unless somebody was asked."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.shell.programs.git import PROGRAMS
from joey.policy.shell.programs.git_files import WIDENS
from joey.policy.verdict import Verdict, combine

RULES = Settings(reads="allow", writes="allow", allow=("git",))
SECRET = "hunter2"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    ran = subprocess.run(
        ["git", "--no-pager", *identity, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return ran.stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hidden file that has changed beside another, was called `moved.txt` later, and one in a folder that is gone."""
    folder = tmp_path_factory.mktemp("shown") / "ws"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for text in ("one", "two", "three"):
        (folder / "key.pem").write_text(f"{SECRET} {text}\n" * 9)
        (folder / "src" / "old.pem").write_text(f"{SECRET} {text}\n")
        (folder / "a.txt").write_text(f"{text}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", text)
    git(folder, "tag", "blob", git(folder, "rev-parse", "HEAD:key.pem").strip())
    git(folder, "mv", "key.pem", "moved.txt")
    (folder / "moved.txt").write_text("plain\n" + f"{SECRET} three\n" * 8)
    (folder / "src" / "old.pem").unlink()
    (folder / "src" / "b.py").write_text("b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "move")
    (folder / "moved.txt").write_text("plain\n")
    git(folder, "commit", "-qam", "plain")
    (folder / ".joeyignore").write_text("*.pem\n")
    return folder


def judge(line: str, root: Path, rules: Settings = RULES) -> Verdict:
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    return combine(judge_line(line, rules, workspace, str(root)))


WIDER = [
    "git log -p -1 --full-diff a.txt",
    "git log -p --full-diff -- a.txt",
    "git show --full-diff HEAD -- a.txt",
    "git whatchanged -p --full-diff a.txt",
    "git log -p --follow moved.txt",
    "git log -L1,5:moved.txt",
    "git log -p --submodule=diff -- a.txt",
    "git log -p a.txt '*'",
    "git log -p '*' a.txt",
    "git log -p a.txt .",
    "git show HEAD~3 a.txt ':/'",
    "git show blob -- a.txt",
    "git show --stat blob",
    "git show --all -- a.txt",
    "git show --stat --tags",
    "git diff blob a.txt",
    "git diff blob -- a.txt",
    "git grep hunter2 blob -- a.txt",
    "git cat-file -p blob",
    "git range-diff HEAD~3..HEAD~2 HEAD~3..HEAD~2 -- a.txt",
    "git stash list -p a.txt",
    "git stash show -p a.txt",
    "git log -p -- src",
    "git show HEAD~2 -- src",
    "git log -p src",
    "git diff HEAD~3 -- src",
    "git grep hunter2 HEAD~3:src",
    "git archive HEAD~3 src",
    "git archive HEAD~3:src",
    "git format-patch --stdout HEAD~3 -- src",
    "git log --oneline -G '^hunter'",
    "git log --oneline -Shunter2",
    "git log --oneline --pickaxe-regex -S hunter",
    "git diff --stat -G hunter HEAD~3",
    "git diff --shortstat -I hunter HEAD~3",
    "git log --oneline --find-object=blob",
]


@pytest.mark.parametrize("line", WIDER)
def test_what_shows_more_than_its_paths_asks(root: Path, line: str) -> None:
    verdict = judge(line, root)
    assert verdict.decision == "ask" and "an ignore file hides" in verdict.reason
    assert not judge(line, root, Settings.for_profile("plan")).allowed


@pytest.mark.parametrize(
    "line",
    [
        "git log -p -1 a.txt", "git log -p -- a.txt", "git show HEAD -- a.txt", "git show main -- a.txt",
        "git diff HEAD~1 -- a.txt", "git diff main..HEAD -- a.txt", "git diff", "git diff -- src",
        "git grep x -- src", "git show HEAD:a.txt", "git blame -C -C a.txt", "git log --oneline --follow a.txt",
        "git stash list", "git log --stat -- src", "git diff --stat v1 -- src", "git show --stat HEAD",
        "git format-patch --stdout HEAD~1 -- a.txt", "git log --oneline -G x -- a.txt",
    ],
)  # fmt: skip
def test_what_keeps_to_files_that_nothing_hides_does_not_ask(root: Path, line: str) -> None:
    assert judge(line, root).allowed, judge(line, root).reason


LEAKS = [
    "git for-each-ref '--format=%(raw)' refs/tags/blob", "git for-each-ref --format '%(refname) %(*raw)'",
    "git tag -l --format='%(raw)'", "git tag '--format=%(if)%(raw)%(then)x%(end)'", "git branch --format='%(raw)'",
    "git for-each-ref --sort=raw", "git tag --sort=-raw:size",
]  # fmt: skip


@pytest.mark.parametrize("line", LEAKS)
def test_a_format_that_shows_the_content_of_a_tag_asks(root: Path, line: str) -> None:
    assert "may show what is in a file" in judge(line, root).reason
    confined = Settings(reads="allow", writes="allow", confined=True)
    assert judge(line, root, confined).decision == "ask"


def test_a_tag_of_a_file_asks_and_other_formats_do_not(root: Path) -> None:
    assert "not a commit" in judge("git tag leak HEAD:src", root).reason
    for line in (
        "git tag v1.2 HEAD~1",
        "git tag -l 'v*' --sort=-v:refname",
        "git for-each-ref --sort=-committerdate --format='%(refname:short) %(objectname:short) %(contents:subject)'",
        "git branch --format='%(if)%(HEAD)%(then)*%(end)%(color:red)%(refname)%(upstream:track)' --sort=refname",
        "git ls-tree --format='%(objectmode) %(path)' HEAD",
    ):
        assert judge(line, root).allowed, judge(line, root).reason


def test_a_file_that_is_only_in_the_index_is_hidden_as_well(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(folder))
    (folder / "src" / "new.pem").write_text(SECRET)
    git(folder, "add", "-A")
    (folder / "src" / "new.pem").unlink()
    (folder / ".joeyignore").write_text("*.pem\n")
    assert SECRET in git(folder, "diff", "--", "src")
    assert "an ignore file hides" in judge("git diff -- src", folder).reason


def test_a_folder_that_no_line_is_about_may_be_shown(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(folder))
    (folder / ".joeyignore").write_text("config/secrets.yml\n/top.secret\n")
    assert judge("git log -p -- src", folder).allowed
    (folder / ".joeyignore").write_text("src/secrets.yml\n")
    assert not judge("git log -p -- src", folder).allowed


VALUES = {"--diff-merges": "m", "--date": "iso", "--sort": "refname", "-L": "1,1:a.txt", "--color": "never"}


def options(subcommand: str) -> Iterator[list[str]]:
    for name, option in (PROGRAMS["git"].subcommands or {})[subcommand].options.items():
        if name in WIDENS:
            continue
        value = VALUES.get(name, "1")
        if name == "-#":
            yield ["-3"]
        elif option.kind is None or option.attached:
            yield [name]
        if option.kind is not None and option.attached:
            yield [f"{name}={value}" if name.startswith("--") else f"{name}{value}"]
        elif option.kind is not None:
            yield [name, value]


@pytest.mark.parametrize("subcommand", ["log", "show", "diff"])
def test_every_other_option_is_seen_to_keep_to_the_paths(root: Path, subcommand: str) -> None:
    """The table is the claim, git the judge: no option of it shows the hidden file beside the one that was named."""
    words = ["HEAD~3"] if subcommand == "diff" else ["HEAD~2"]
    shown = [
        option
        for option in options(subcommand)
        if option[0] not in ("--no-index", "--all", "--tags")
        and SECRET in git(root, subcommand, "-p", *option, *words, "--", "a.txt")
    ]
    assert shown == []
    assert SECRET in git(root, "log", "-p", "--full-diff", "HEAD~2", "--", "a.txt")


COPIES = [
    "git worktree add wt HEAD", "git worktree add -b x wt", "git -C src worktree add ../wt", "git clone . wt",
    "git checkout-index -a --prefix=wt/", "git archive HEAD | tar x -C wt", "cp -r . wt", "cp -r config wt",
    "mv config wt", "git merge -s subtree other", "git mv config wt",
]  # fmt: skip


@pytest.fixture
def anchored(tmp_path: Path) -> Path:
    """A workspace whose ignore file hides single places, with a worktree and a clone of it inside."""
    folder = tmp_path / "ws"
    (folder / "config").mkdir(parents=True)
    (folder / "src").mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "config" / "secrets.yml").write_text(SECRET)
    (folder / "top.secret").write_text(SECRET)
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "worktree", "add", "-q", "trees/one")
    git(folder, "clone", "-q", ".", "src/clone")
    (folder / ".joeyignore").write_text("config/secrets.yml\n/top.secret\n")
    return folder


@pytest.mark.parametrize("line", COPIES)
def test_a_copy_of_what_is_hidden_asks(anchored: Path, line: str) -> None:
    rules = replace(RULES, allow=("git", "cp", "mv", "tar"))
    for settings in (rules, replace(rules, allow=("*",), deny=("nothing",))):
        assert not judge(line, anchored, settings).allowed


WHOLE = [
    "git archive HEAD~1:", "git archive HEAD~1:./", "git grep x HEAD~1:", "git diff HEAD~2: HEAD~1:",
    "git diff-tree -p HEAD~2: HEAD~1:", "git diff HEAD~2:./ HEAD~1:.",
]  # fmt: skip


@pytest.mark.parametrize("line", WHOLE)
def test_a_whole_revision_asks_also_where_what_is_hidden_is_gone(anchored: Path, line: str) -> None:
    git(anchored, "rm", "-qr", "config", "top.secret")
    git(anchored, "commit", "-qm", "gone")
    assert "history" in judge(line, anchored).reason


def test_a_folder_of_a_revision_that_no_line_is_about_may_be_shown(anchored: Path) -> None:
    assert judge("git archive HEAD:docs", anchored).allowed and judge("git grep x HEAD:docs", anchored).allowed


def test_in_a_sandbox_another_worktree_asks_as_well(anchored: Path) -> None:
    confined = Settings(reads="allow", writes="allow", confined=True)
    assert judge("git worktree add wt HEAD", anchored, confined).decision == "ask"
    (anchored / ".joeyignore").unlink()
    assert judge("git worktree add wt HEAD", anchored, confined).allowed
    assert judge("git worktree add wt HEAD", anchored).allowed


@pytest.mark.parametrize("place", ["trees/one", "src/clone"])
def test_an_ignore_file_holds_in_a_copy_that_is_there(anchored: Path, place: str) -> None:
    workspace, rules = Workspace.of(anchored), replace(RULES, allow=("cat", "grep"))
    for name in ("config/secrets.yml", "top.secret"):
        assert workspace.hides(f"{place}/{name}") and workspace.hides(anchored / place / name)
        assert judge(f"cat {place}/{name}", anchored, rules).decision == "deny"
    assert not judge(f"grep -r x {place}", anchored, rules).allowed
    assert judge(f"cat {place}/a.txt", anchored, rules).allowed
    assert not workspace.hides("src/top.secret"), "a folder of the workspace's own is no copy"


@pytest.fixture
def swapped(tmp_path: Path) -> Path:
    """A workspace where `conf` was a folder with a hidden file and is a file now, and a branch is named like a file."""
    folder = tmp_path / "ws"
    (folder / "conf").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "conf" / "key.pem").write_text(f"{SECRET}\n")
    (folder / "a").write_text("a\n")
    (folder / "b.py").write_text("b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "rm", "-qr", "conf")
    (folder / "conf").write_text("conf\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    git(folder, "branch", "a")
    (folder / ".joeyignore").write_text("*.pem\n")
    return folder


WAS_A_FOLDER = [
    "git log -p -- conf", "git log -p conf", "git log -p -- b.py conf", "git show HEAD~1 -- conf",
    "git diff HEAD~1 -- conf", "git diff HEAD~1..HEAD conf", "git format-patch --stdout HEAD~1 -- conf",
    "git archive HEAD~1 conf", "git grep hunter2 HEAD~1 -- conf", "git grep hunter2 HEAD~1:conf",
    "git log -p -- ./conf", "git -C . log -p -- conf", "git whatchanged -p -- conf", "git log -p HEAD~1 -- conf",
]  # fmt: skip


@pytest.mark.parametrize("line", WAS_A_FOLDER)
def test_a_file_that_was_a_folder_is_shown_as_one(swapped: Path, line: str) -> None:
    for rules in (RULES, Settings.for_profile("plan"), Settings.for_profile("read-only").changed(allow=("git",))):
        assert not judge(line, swapped, rules).allowed
    confined = Settings(reads="allow", writes="allow", confined=True)
    assert judge(line, swapped, confined).decision == "ask", "no sandbox hides the history"


def test_so_is_one_that_was_a_folder_in_another_branch_or_in_a_commit_without_a_name(swapped: Path) -> None:
    git(swapped, "checkout", "-q", "-b", "other")
    (swapped / "b.py").unlink()
    (swapped / "b.py").mkdir()
    (swapped / "b.py" / "key.pem").write_text(SECRET)
    git(swapped, "add", "b.py")
    git(swapped, "commit", "-qm", "three")
    lost = git(swapped, "rev-parse", "HEAD").strip()
    git(swapped, "checkout", "-q", "main")
    assert "an ignore file hides" in judge("git log -p --all -- b.py", swapped).reason
    git(swapped, "branch", "-D", "other")
    assert judge("git log -p -- b.py", swapped).allowed
    assert SECRET in git(swapped, "log", "-p", lost, "--", "b.py")
    for line in (f"git log -p {lost} -- b.py", "git log -p -g -- b.py", f"git diff HEAD..{lost} -- b.py"):
        assert "an ignore file hides" in judge(line, swapped).reason


def test_so_is_one_that_is_still_a_folder_in_the_index(swapped: Path) -> None:
    git(swapped, "reset", "-q", "--hard", "HEAD~1")
    (swapped / "conf" / "key.pem").unlink()
    (swapped / "conf").rmdir()
    (swapped / "conf").write_text("conf\n")
    assert SECRET in git(swapped, "diff", "--", "conf")
    assert not judge("git diff -- conf", swapped).allowed and not judge("git diff conf", swapped).allowed
    assert judge("git diff -- b.py", swapped).allowed and judge("git diff b.py", swapped).allowed


@pytest.mark.parametrize(
    "line",
    [
        "rm a; git log -p a", "git log -p a | rm a", "mv a c && git log -p a", "git mv a c; git show -p a",
        "git rm a; git log -p a", "bash -c 'rm a'; git log -p a", "rm b.py; git log -p b.py", "git log -p a",
        "git stash; git log -p b.py", "rm b.py; git show b.py", "find src -delete; git log -p b.py",
        "git log -p b.py | bash -c 'rm b.py'", "git log -p b.py | xargs rm", "git log -p b.py | cat | rm b.py",
    ],
)  # fmt: skip
def test_a_word_that_is_a_path_only_as_long_as_the_file_is_there_asks(swapped: Path, line: str) -> None:
    rules = replace(RULES, allow=("git", "rm", "mv", "find", "bash", "xargs", "cat"))
    assert not judge(line, swapped, rules).allowed
    assert "branch" not in git(swapped, "log", "-p", "a"), "git refuses a word that is both"


@pytest.mark.parametrize("name", ["added", "v1.0-gabc123", "HEAD", "heads/x", "x..y", "stash"])
def test_so_does_a_word_that_has_the_form_of_a_revision(swapped: Path, name: str) -> None:
    git(swapped, "branch", "x")
    git(swapped, "update-ref", "refs/stash", "HEAD")
    (swapped / name).parent.mkdir(exist_ok=True)
    (swapped / name).write_text("x\n")
    assert not judge(f"git log -p {name}", swapped).allowed
    assert judge(f"git log -p -- {name}", swapped).allowed


@pytest.mark.parametrize(
    "line",
    [
        "git log -p -- a", "git log -p b.py", "git add b.py && git diff --cached b.py", "git diff b.py | head -5",
        "git log -p main -- b.py", "rm a; git log -p -- b.py", "git show HEAD~1 b.py", "git diff a -- b.py",
    ],
)  # fmt: skip
def test_a_word_that_can_only_be_a_path_does_not(swapped: Path, line: str) -> None:
    verdict = judge(line, swapped, replace(RULES, allow=("git", "rm", "head")))
    assert verdict.allowed, verdict.reason
