"""Worktrees as Joey makes them: git takes them for its own, nothing of the repository runs, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from git_kit import (
    Hostile,
    clean_filter,
    filter_process,
    fsmonitor,
    hook,
    included,
    promisor_by_command,
    submodule,
    submodule_that_nobody_configured,
)
from joey.errors import UsageError
from joey.sandbox.git import git_folders
from joey.system.git import find_repository
from joey.system.git_trees import (
    GitFailed,
    TreeSnapshot,
    changes_between,
    indexed_git,
    merge_trees,
    take_snapshot,
    write_files,
)
from joey.system.trust import TrustStore
from joey.system.worktree_notes import Worktree, worktree_around, write_note
from joey.system.worktrees import Worktrees, check_name, counterpart, has_changes


@pytest.fixture
def repository(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


@pytest.fixture
def worktrees(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Worktrees:
    monkeypatch.setenv("HOME", environ["HOME"])
    return Worktrees(environ)


def test_git_takes_it_for_its_own(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix-1")
    assert (made.path / "a.txt").read_text() == "one\n", "it begins with the last commit"
    assert made.folder in repository.git("worktree", "list")
    assert repository.git("status", "--short", "--branch", folder=made.path) == "## joey/fix-1"
    assert repository.git("fsck", "--strict") == ""
    repository.git("worktree", "remove", "--force", made.folder)


def test_its_changes_end_as_a_branch_and_the_checkout_stays_as_it_is(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix")
    repository.git("config", "user.name", "Ann")
    (made.path / "a.txt").write_text("three\n")
    (made.path / "new").write_text("n")
    assert worktrees.status(made).uncommitted
    assert worktrees.commit(made, "Say three") and not worktrees.commit(made, "Again")
    assert repository.git("status", "--short", folder=made.path) == ""
    assert repository.git("log", "--format=%an: %s", "master..joey/fix") == "Ann: Say three"
    assert repository.git("diff", "--name-status", "master", "joey/fix") == "M\ta.txt\nA\tnew"
    assert repository.git("status", "--short") == "M a.txt", "as it was before"


def test_it_can_begin_with_changes_that_are_not_committed(repository: Hostile, worktrees: Worktrees) -> None:
    (repository.work / "new").write_text("n")
    (repository.work / ".gitignore").write_text("secret\n")
    (repository.work / "secret").write_text("s")
    made = worktrees.make(repository.work, "child", with_changes=True)
    assert (made.path / "a.txt").read_text() == "two\n" and (made.path / "new").read_text() == "n"
    assert not (made.path / "secret").exists() and not worktrees.status(made).changed
    assert has_changes(repository.work) and repository.git("diff", "--cached", "--name-only") == ""


def test_removing_keeps_what_is_there_on_the_branch(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix")
    (made.path / "closed").mkdir()
    (made.path / "closed/new").write_text("n")
    (made.path / "closed").chmod(0o500)
    worktrees.remove(made)
    assert repository.git("show", "joey/fix:closed/new") == "n"
    assert not made.path.exists() and worktrees.all() == ()
    assert len(repository.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_discarding_leaves_nothing(repository: Hostile, worktrees: Worktrees, packed: bool) -> None:
    made = worktrees.make(repository.work, "fix")
    (made.path / "new").write_text("n")
    worktrees.commit(made, "New")
    if packed:
        repository.git("pack-refs", "--all")
    worktrees.remove(made, discard=True)
    assert repository.git("branch", "--list", "joey/*") == ""
    assert not made.path.exists() and worktrees.all() == ()


def test_a_branch_without_changes_goes_with_its_worktree(repository: Hostile, worktrees: Worktrees) -> None:
    worktrees.remove(worktrees.make(repository.work, "idle"))
    assert repository.git("branch", "--list", "joey/*") == ""


# Names and places


@pytest.mark.parametrize(
    "name", ["", "-f", "--all", "../x", "a/b", "a..b", "x.lock", ".git", "x.", "a b", "Fix the tests", "a\nb", "x" * 61,
             "a~1", "a^", "@{u}", "a\0b", "é"],
)  # fmt: skip
def test_a_name_that_could_mean_more_is_refused(repository: Hostile, worktrees: Worktrees, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a worktree"):
        worktrees.make(repository.work, name)
    assert worktrees.all() == ()


@pytest.mark.parametrize("name", ["a", "fix-1", "0.9_x", "A" * 60])
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("inside", ["refs/heads/joey", "worktrees", "objects"])
def test_a_git_folder_with_links_in_it_gets_no_worktree(
    repository: Hostile, worktrees: Worktrees, tmp_path: Path, inside: str
) -> None:
    place, elsewhere = repository.work / ".git" / inside, tmp_path / "elsewhere"
    if place.exists():
        shutil.copytree(place, elsewhere)
        shutil.rmtree(place)
    else:
        elsewhere.mkdir()
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(UsageError, match="symbolic link"):
        worktrees.make(repository.work, "fix")
    assert sorted(elsewhere.rglob("*")) == before and worktrees.all() == ()


def test_what_is_in_the_way_is_left_alone(repository: Hostile, worktrees: Worktrees) -> None:
    repository.git("branch", "joey/fix")
    with pytest.raises(UsageError, match="branch joey/fix already"):
        worktrees.make(repository.work, "fix")
    assert repository.git("branch", "--list", "joey/fix").strip() == "joey/fix", "it is not ours to remove"
    made = worktrees.make(repository.work, "other")
    with pytest.raises(UsageError, match="already, in"):
        worktrees.make(repository.work, "other")
    assert (made.path / "a.txt").exists()


def test_a_folder_without_a_repository_or_a_commit_has_none(
    worktrees: Worktrees, repository: Hostile, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="not in a git repository"):
        worktrees.make(tmp_path, "fix")
    repository.git("checkout", "-q", "--orphan", "empty")
    with pytest.raises(UsageError, match="no commit yet"):
        worktrees.make(repository.work, "fix")


def test_a_folder_that_is_a_link_in_the_commit_is_no_place_to_work(
    repository: Hostile, worktrees: Worktrees, tmp_path: Path
) -> None:
    (repository.work / "part").symlink_to(tmp_path)
    repository.git("add", "-A")
    repository.git("commit", "-qm", "A link")
    (repository.work / "part").unlink()
    (repository.work / "part/deep").mkdir(parents=True)
    made = worktrees.make(repository.work / "part/deep", "fix")
    with pytest.raises(UsageError, match="leads out of the worktree"):
        counterpart(made, repository.work / "part/deep")
    assert not (tmp_path / "deep").exists()


# A process that died


def test_one_that_was_cut_short_is_made_again(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix", task="t1")
    note = _note(worktrees, made)
    for lost in (False, True):
        write_note(note, replace(made, ready=False))
        (made.path / "a.txt").write_text("half")
        if lost:
            shutil.rmtree(made.path)
        again = worktrees.make(repository.work, "fix", task="t1")
        assert again.ready and (again.path / "a.txt").read_text() == "one\n"


def _note(worktrees: Worktrees, made: Worktree) -> Path:
    return Path(os.environ["HOME"]) / ".local/state/joey/worktrees" / made.path.parent.name / f"{made.name}.json"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"name": 1}', '{"name": "../x", "repository": "/", "base": "", "folder": "/"}']
)
def test_a_note_that_cannot_be_read_is_no_worktree(repository: Hostile, worktrees: Worktrees, text: str) -> None:
    made = worktrees.make(repository.work, "fix")
    _note(worktrees, made).write_text(text)
    assert worktrees.all() == () and worktree_around(made.path) is None


# A repository, and commands in a worktree, that set traps


def smudge_filter(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* filter=own\n")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "Attributes")
    repository.git("config", "filter.own.smudge", repository.trap())
    (repository.work / "a.txt").write_text("two\n")


def merge_driver(repository: Hostile) -> None:
    (repository.work / ".gitattributes").write_text("* merge=own\n")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "Attributes")
    repository.git("config", "merge.own.driver", repository.trap("exit 0"))


HOOKS = (
    "post-checkout", "reference-transaction", "pre-commit", "post-commit", "commit-msg", "post-index-change",
    "post-merge", "pre-merge-commit", "prepare-commit-msg", "post-rewrite",
)  # fmt: skip


def all_hooks(repository: Hostile) -> None:
    hooks = repository.work / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).symlink_to(repository.trap("exit 0"))


TRAPS = [
    fsmonitor, included, hook, clean_filter, filter_process, promisor_by_command, submodule,
    submodule_that_nobody_configured, smudge_filter, merge_driver, all_hooks,
]  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_no_trap_runs_while_a_worktree_is_made_used_merged_and_removed(
    repository: Hostile, worktrees: Worktrees, trap: Callable[[Hostile], None]
) -> None:
    trap(repository)
    try:
        made = worktrees.make(repository.work, "fix", with_changes=True)
        (made.path / "a.txt").write_text("three\n")
        worktrees.commit(made, "Three")
        _merged(repository, worktrees, made)
        worktrees.remove(made)
    except (UsageError, GitFailed):
        assert worktrees.all() == (), "what could not be made leaves nothing"
    assert not repository.ran


def test_the_traps_of_a_checkout_work_when_git_is_called_plainly(repository: Hostile) -> None:
    for trap in (smudge_filter, all_hooks):
        trap(repository)
        repository.git("worktree", "add", "-q", str(repository.outside / trap.__name__))
        assert repository.ran
        for mark in repository.marks.iterdir():
            mark.unlink()


def _merged(repository: Hostile, worktrees: Worktrees, made: Worktree) -> tuple[str, ...]:
    found = find_repository(repository.work)
    assert found is not None
    with indexed_git(found) as git:
        ours, theirs = take_snapshot(git), worktrees.snapshot(made)
        merged = merge_trees(git, made.base, ours.tree, theirs.tree)
        changes = changes_between(git, ours.tree, merged.tree)
        shutil.rmtree(repository.outside / "merged", ignore_errors=True)
        write_files(git, merged.tree, [each.path for each in changes], repository.outside / "merged")
        return merged.conflicts


def test_a_repository_planted_in_a_worktree_runs_nothing_and_is_reported(
    repository: Hostile, worktrees: Worktrees
) -> None:
    made = worktrees.make(repository.work, "fix")
    inner = made.path / "inner"
    inner.mkdir()
    repository.git("init", "-q", folder=inner)
    repository.git("commit", "-q", "--allow-empty", "-m", "Begin", folder=inner)
    repository.git("config", "core.fsmonitor", repository.trap("exit 1"), folder=inner)
    (inner / "x").write_text("x")
    assert worktrees.snapshot(made).nested == ("inner",)
    worktrees.commit(made, "All")
    assert not repository.ran


def test_the_git_file_of_a_worktree_is_not_believed(repository: Hostile, worktrees: Worktrees, tmp_path: Path) -> None:
    """Commands may write another one, which leads to a repository with a configuration of theirs."""
    made = worktrees.make(repository.work, "fix")
    evil = tmp_path / "evil"
    repository.git("init", "-q", str(evil))
    repository.git("config", "core.fsmonitor", repository.trap("exit 1"), folder=evil)
    (made.path / ".git").write_text(f"gitdir: {evil}/.git\n")
    (made.path / "new").write_text("n")
    worktrees.commit(made, "New")
    assert repository.git("show", "joey/fix:new") == "n" and not repository.ran


def test_the_sandbox_knows_its_git_folder(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix")
    assert [each.path for each in git_folders(made.path)] == [repository.work / ".git"]


def test_a_worktree_is_trusted_as_its_repository_is(repository: Hostile, worktrees: Worktrees, tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "trusted.json")
    made = worktrees.make(repository.work, "fix")
    assert not store.trusts(made.path)
    store.trust(repository.work)
    assert store.trusts(made.path)
    assert not store.trusts(made.path.parent), "only what was written down"
    (made.path.parent / "planted").mkdir()
    assert not store.trusts(made.path.parent / "planted")


# Trees


def test_both_sides_are_merged_and_conflicts_are_named(repository: Hostile, worktrees: Worktrees) -> None:
    (repository.work / "b.txt").write_text("1\n2\n3\n4\n5\n")
    made = worktrees.make(repository.work, "fix", with_changes=True)
    (repository.work / "b.txt").write_text("ONE\n2\n3\n4\n5\n")
    (made.path / "b.txt").write_text("1\n2\n3\n4\nFIVE\n")
    assert _merged(repository, worktrees, made) == ()
    assert (repository.outside / "merged/b.txt").read_text() == "ONE\n2\n3\n4\nFIVE\n"
    (repository.work / "b.txt").write_text("1\n2\n3\n4\nfive\n")
    assert _merged(repository, worktrees, made) == ("b.txt",)


def test_a_change_of_the_same_size_in_the_same_second_is_seen(repository: Hostile, worktrees: Worktrees) -> None:
    found = find_repository(repository.work)
    assert found is not None
    trees = []
    for text in ("aaa\n", "bbb\n", "ccc\n"):
        (repository.work / "a.txt").write_text(text)
        repository.git("add", "-A")
        (repository.work / "a.txt").write_text(text.upper())
        with indexed_git(found) as git:
            trees.append(take_snapshot(git))
            assert trees[-1] == take_snapshot(git)
    assert len({each.tree for each in trees}) == 3


def test_a_file_that_became_a_folder_and_one_that_became_a_link_are_taken(
    repository: Hostile, worktrees: Worktrees
) -> None:
    made = worktrees.make(repository.work, "fix")
    (made.path / "a.txt").unlink()
    (made.path / "a.txt").mkdir()
    (made.path / "a.txt/b").write_text("b")
    (made.path / "link").symlink_to("/etc/passwd")
    snapshot = worktrees.snapshot(made)
    assert isinstance(snapshot, TreeSnapshot)
    listed = repository.git("ls-tree", "-r", snapshot.tree)
    assert [line.split()[0] for line in listed.splitlines()] == ["100644", "120000"]


def test_what_is_written_down_says_where_it_belongs(repository: Hostile, worktrees: Worktrees) -> None:
    made = worktrees.make(repository.work, "fix", task="t1")
    data = json.loads(_note(worktrees, made).read_text())
    assert data["repository"] == str(repository.work) and data["task"] == "t1" and data["ready"] is True
    assert worktrees.all() == (made,) == (worktrees.named("fix", repository.work),)
    assert worktree_around(made.path / "deep/down") == made
