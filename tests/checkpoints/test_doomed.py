"""Ignored files and nested repositories that a command is about to delete."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from joey.checkpoints import CheckpointStore, plan_restore
from joey.checkpoints import walk as limits
from joey.checkpoints.walk import deleted_by


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    files = {
        ".gitignore": "build/\n*.log\n",
        "build/out/a.o": "o",
        "x.log": "l",
        "inner/.git/HEAD": "ref",
        "inner/c": "c",
    }
    for name, text in {**files, ".git/HEAD": "ref", "node_modules/m/i.js": "js"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root.resolve()


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("rm -rf build", ["build"]),
        ("make && /bin/rm -r -- build 'a b'; ls", ["build", "a b"]),
        ("rm *.log | cat", ["x.log"]),
        ("git clean -fdx", ["."]),
        ("git clean -fd", []),
        ("echo rm build", []),
        ("rm 'unclosed", []),
    ],
)
def test_what_a_command_names_is_found(root: Path, command: str, found: list[str]) -> None:
    assert deleted_by(command, root) == [root / each for each in found]


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf build/out x.log",
        "rm -rf inner",
        "rm -rf inner/.git",
        "rm -rf .git",
        "rm -rf build x.log node_modules # as git clean -fdx",
    ],
)
def test_what_a_command_deleted_by_name_comes_back(tmp_path: Path, root: Path, command: str) -> None:
    before = names(root)
    store = CheckpointStore(tmp_path / "c", root)
    store.take("earlier", turn=1, call_id="a", whole=True)
    named = "git clean -fdx" if "clean" in command else command
    store.take(command, turn=2, call_id="b", whole=True, doomed=deleted_by(named, root))
    subprocess.run(command, shell=True, cwd=root, check=True)
    store.take("later", turn=3, call_id="c", whole=True)
    assert names(root) < before
    again = CheckpointStore(tmp_path / "c", root)
    plan = plan_restore(again, 1)
    assert not {change.path for change in plan.changes} & {*plan.untouched}, "what is changed is not called untouched"
    done = plan.apply()
    assert (names(root), done.left) == (before, {})
    assert done.way_back is not None
    gone = plan_restore(again, done.way_back.id).apply()
    if command.endswith(".git"):
        assert names(root) == before and len(gone.left) == 1, "what may hold commits by now is never removed"
    else:
        assert names(root) < before, "and it can go again"


def test_a_folder_with_too_much_in_it_is_left_out_whole_and_named(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_PATHS", 2)
    store = CheckpointStore(tmp_path / "c", root)
    made = store.take("rm", whole=True, doomed=deleted_by("rm -rf build x.log", root))
    assert "x.log" in made.entries and "build" not in made.entries
    subprocess.run(["rm", "-rf", "build", "x.log"], cwd=root, check=True)
    done = plan_restore(store, made.id).apply()
    assert list(done.left) == ["build"] and (root / "x.log").exists()


def test_a_repository_that_was_made_again_is_not_mixed_with_the_old_one(tmp_path: Path, root: Path) -> None:
    store = CheckpointStore(tmp_path / "c", root)
    made = store.take("rm", whole=True, doomed=deleted_by("rm -rf inner", root))
    subprocess.run("rm -rf inner; mkdir -p inner/.git; echo new > inner/.git/config", shell=True, cwd=root, check=True)
    done = plan_restore(store, made.id).apply()
    assert [path.name for path in (root / "inner/.git").iterdir()] == ["config"]
    assert list(done.left) == ["inner/.git"]
    assert (root / "inner/c").exists()
