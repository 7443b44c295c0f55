"""`joey run --worktree` and `joey worktrees`: a task in a folder and on a branch of its own."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import pytest

from joey.app.permissions import project_permissions
from joey.cli import main
from joey.permissions import Permission
from joey.system.worktrees import Worktrees
from joey.testing.script import Failure, Scripted, reply
from joey_process import JoeyProcess, call, done

IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@example.org")
WRITE = reply(call("w", "write_to_file", path="a.txt", file_text="from the task\n"))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def joey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JoeyProcess:
    process = JoeyProcess(tmp_path)
    process.write("a.txt", "before\n")
    process.write("part/b.txt", "b\n")
    git(process.workspace, "init", "-q", "-b", "main")
    git(process.workspace, "add", "-A")
    git(process.workspace, "commit", "-qm", "Begin")
    monkeypatch.setenv("HOME", str(process.home))
    monkeypatch.chdir(process.workspace)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return process


async def test_the_changes_of_a_task_end_as_a_branch(joey: JoeyProcess, capsys: pytest.CaptureFixture[str]) -> None:
    joey.write("a.txt", "not committed\n")
    ran = await joey.run([WRITE, done()], "Change it", "--worktree", "fix", "--approve", "edits")
    assert ran.code == 0, ran.err
    assert "on the branch joey/fix; `joey worktrees merge fix` takes them over" in ran.err
    assert "note: changes that are not committed are not in the worktree" in ran.err
    assert git(joey.workspace, "show", "joey/fix:a.txt") == "from the task"
    assert git(joey.workspace, "log", "-1", "--format=%s", "joey/fix") == "Change it"
    assert (joey.workspace / "a.txt").read_text() == "not committed\n"
    assert main(["worktrees", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["state"]) == ("fix", "changes, committed")
    assert listed["folder"] in ran.err and "worktrees" in ran.sent(0), "the model is told where it works"
    assert main(["worktrees", "remove", "fix"]) == 0
    assert listed["folder"] not in git(joey.workspace, "worktree", "list") and git(
        joey.workspace, "branch", "--list", "joey/fix"
    )


async def test_what_the_checkout_hides_and_protects_stays_so_in_a_worktree(joey: JoeyProcess) -> None:
    joey.write("keys.txt", "a secret\n")
    joey.write("githooks/pre-commit", "#!/bin/sh\n")
    git(joey.workspace, "add", "-A")
    git(joey.workspace, "commit", "-qm", "More")
    git(joey.workspace, "config", "core.hooksPath", "githooks")
    joey.write(".joeyignore", "keys.txt\n")  # not committed, so that it is not in the worktree
    script = [
        reply(call("r", "read_file", path="keys.txt")),
        reply(call("w", "write_to_file", path="githooks/pre-commit", file_text="#!/bin/sh\ntouch planted\n")),
        done(),
    ]
    ran = await joey.run(script, "go", "--worktree", "w", "--approve", "edits")
    assert "a secret" not in json.dumps(ran.requests)
    assert "listed in .joeyignore" in ran.result("r") and "protected" in ran.result("w")
    assert git(joey.workspace, "show", "main:githooks/pre-commit") == "#!/bin/sh"
    (kept,) = [each.path for each in Worktrees().all()]
    assert (kept / "githooks/pre-commit").read_text() == "#!/bin/sh\n"


async def test_a_task_that_did_not_complete_continues_in_its_worktree(joey: JoeyProcess) -> None:
    failing: list[Scripted] = [WRITE, Failure(400, "no more")]
    ran = await joey.run(failing, "Change it", "--worktree", "--approve", "edits", "-w", "part")
    assert ran.code == 1 and "not committed yet; resume the task" in ran.err
    [worktree] = git(joey.workspace, "branch", "--list", "joey/*").split()[1:]
    assert git(joey.workspace, "diff", "--name-only", "main", worktree) == ""
    [journal] = (joey.home / ".local/state/joey/tasks").glob("*/journal.jsonl")
    again = await joey.run([done()], "Go on", "--resume", journal.parent.name, "--approve", "edits")
    assert again.code == 0, again.err
    assert git(joey.workspace, "diff", "--name-only", "main", worktree) == "part/a.txt"


@pytest.mark.parametrize("part", ["", "part"])
def test_what_is_allowed_in_the_project_holds_in_its_worktrees_and_the_other_way(joey: JoeyProcess, part: str) -> None:
    worktree = Worktrees().make(joey.workspace, "fix").path / part
    checkout = joey.workspace / part
    first, second = Permission("command", "make it"), Permission("command", "make that")
    project_permissions(checkout).add(first)
    project_permissions(worktree).add(second)
    assert project_permissions(checkout).listed() == project_permissions(worktree).listed() == (first, second)
    assert not project_permissions(joey.workspace.parent).listed()


async def test_a_task_in_a_worktree_runs_what_is_allowed_in_the_project(joey: JoeyProcess) -> None:
    project_permissions(joey.workspace).add(Permission("command", "touch made"))
    ran = await joey.run([reply(call("x", "execute_command", command="touch made")), done()], "go", "--worktree", "fix")
    assert (Worktrees().all()[0].path / "made").exists(), ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x", "--worktree", "Fix the tests"], "cannot name a worktree"),
        (["x", "--worktree=--force"], "cannot name a worktree"),
        (["x", "--worktree", "a", "--resume", "last"], "continues in its own folder"),
    ],
)
def test_what_cannot_be_a_worktree_is_an_error(
    joey: JoeyProcess, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["run", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert git(joey.workspace, "branch", "--list", "joey/*") == ""


def test_removing_says_what_there_is(joey: JoeyProcess, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worktrees"]) == 0 and "no worktrees" in capsys.readouterr().err
    assert main(["worktrees", "remove"]) == 2 and "name a worktree" in capsys.readouterr().err
    assert main(["worktrees", "remove", "fix"]) == 2 and "`joey worktrees --all` lists them" in capsys.readouterr().err
    assert main(["worktrees", "remove", "../x"]) == 2 and "cannot name a worktree" in capsys.readouterr().err


def test_merging_shows_the_diff_and_asks(
    joey: JoeyProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Worktrees().make(joey.workspace, "fix")
    (made.path / "a.txt").write_text("after\n")
    assert main(["worktrees", "merge", "fix"]) == 1, "nobody said yes"
    assert "-before\n+after" in capsys.readouterr().out and (joey.workspace / "a.txt").read_text() == "before\n"
    joey.write("a.txt", "mine\n")
    assert main(["worktrees", "merge", "fix", "--yes"]) == 1
    assert "It conflicts with what is there now, in a.txt" in capsys.readouterr().err
    joey.write("a.txt", "before\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["worktrees", "merge", "fix"]) == 0
    assert (joey.workspace / "a.txt").read_text() == "after\n" and Worktrees().all() == ()


def test_nothing_is_asked_where_there_is_nothing_to_merge(
    joey: JoeyProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Worktrees().make(joey.workspace, "fix")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["worktrees", "merge", "fix"]) == 0
    shown = capsys.readouterr()
    assert "There is nothing to merge." in shown.out and "merge?" not in shown.out + shown.err


def test_a_merge_that_only_makes_a_file_executable_says_so(
    joey: JoeyProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Worktrees().make(joey.workspace, "fix")
    (made.path / "a.txt").chmod(0o755)
    assert main(["worktrees", "merge", "fix", "--yes"]) == 0
    assert "Merged: only the executable bit changed, in 1 file." in capsys.readouterr().out
    assert (joey.workspace / "a.txt").stat().st_mode & 0o100
