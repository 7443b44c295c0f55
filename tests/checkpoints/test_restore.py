"""Restoring what is not plain: closed folders, new folders, what was never kept; and what a killed process left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from joey.bounded.folders import place_of
from joey.checkpoints import CheckpointStore, plan_restore
from joey.system.temporaries import temporary_beside


@pytest.fixture
def user(tmp_path: Path) -> Iterator[None]:
    """Whoever runs the tests, without root's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    for folder in tmp_path.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    os.chown(tmp_path, 65534, 65534)
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    (tmp_path / "w").mkdir()
    return CheckpointStore(tmp_path / "checkpoints", tmp_path / "w")


def write(root: Path, name: str, text: str = "x") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def taken(store: CheckpointStore) -> int:
    return store.take("command", turn=1, call_id="c", whole=True).id


@pytest.mark.usefixtures("user")
def test_a_folder_that_was_closed_is_filled_before_it_is_closed_again(tmp_path: Path, store: CheckpointStore) -> None:
    root = tmp_path / "w"
    for name in ("ro/a", "ro/deep/b"):
        write(root, name)
    for folder in ("ro/deep", "ro"):
        (root / folder).chmod(0o555)
    number = taken(store)
    for folder in ("ro", "ro/deep"):
        (root / folder).chmod(0o755)
    shutil.rmtree(root / "ro")
    done = plan_restore(store, number).apply()
    assert not done.left
    assert (root / "ro/deep/b").read_text() == "x"
    assert [(root / each).stat().st_mode & 0o777 for each in ("ro", "ro/deep")] == [0o555, 0o555]


@pytest.mark.usefixtures("user")
def test_a_file_in_a_folder_that_is_closed_changes_back_and_the_folder_stays_closed(
    tmp_path: Path, store: CheckpointStore
) -> None:
    root = tmp_path / "w"
    file = write(root, "ro/a", "old")
    (root / "ro").chmod(0o555)
    number = taken(store)
    file.write_text("new and longer")
    write(root, "other/new")
    (root / "other").chmod(0o555)
    done = plan_restore(store, number).apply()
    assert (done.left, file.read_text()) == ({}, "old")
    assert (root / "ro").stat().st_mode & 0o777 == 0o555
    assert not (root / "other").exists()


def test_folders_that_a_tool_made_for_its_file_go_with_it_unless_something_else_is_there(
    tmp_path: Path, store: CheckpointStore
) -> None:
    root = tmp_path / "w"
    first = store.take("write", touched=["new/deep/a"]).id
    write(root, "new/deep/a")
    assert not plan_restore(store, first).apply().left
    assert list(root.iterdir()) == []
    write(root, "new/deep/a")
    write(root, "new/mine")
    done = plan_restore(store, first).apply()
    assert [path.name for path in root.rglob("*")] == ["new", "mine"]
    assert done.left == {"new": "Directory not empty"}


def test_what_was_never_kept_and_is_gone_is_named(tmp_path: Path, store: CheckpointStore) -> None:
    root = tmp_path / "w"
    write(root, ".gitignore", "build/\n*.log\n")
    for name in ("build/out", "a.log", "inner/.git/HEAD", "inner/code", "node_modules/x"):
        write(root, name)
    os.mkfifo(root / "pipe")
    number = taken(store)
    shutil.rmtree(root / "build")
    shutil.rmtree(root / "inner")
    (root / "pipe").unlink()
    plan = plan_restore(store, number)
    assert {path: why.split(", and ")[1] for path, why in plan.left.items()} == {
        "build": "ignored files, pipes and sockets are not kept",
        "inner/.git": "version control's own folders are not kept",
        "pipe": "ignored files, pipes and sockets are not kept",
    }
    assert plan.untouched == ("a.log", "node_modules")
    assert (root / "inner/code").exists() is False
    plan.apply()
    assert (root / "inner/code").exists()


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_and_owners_stay_where_the_file_is_still_there_and_are_named_where_it_is_not(
    tmp_path: Path, store: CheckpointStore
) -> None:
    root = tmp_path / "w"
    kept, gone = write(root, "kept"), write(root, "gone")
    try:
        for path in (kept, gone):
            os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    number = taken(store)
    kept.write_text("changed")
    gone.unlink()
    done = plan_restore(store, number).apply()
    assert done.left == {"gone": "restored without attribute user.note"}
    assert os.getxattr(kept, "user.note") == b"mine"


def test_the_diff_says_that_an_empty_file_comes_or_goes(tmp_path: Path, store: CheckpointStore) -> None:
    write(tmp_path / "w", "gone", "")
    number = taken(store)
    (tmp_path / "w/gone").unlink()
    write(tmp_path / "w", "new", "")
    assert plan_restore(store, number).diff() == "create gone (empty)\nremove new (empty)\n"


def test_a_second_name_that_is_not_one_any_more_is_named(tmp_path: Path, store: CheckpointStore) -> None:
    root = tmp_path / "w"
    file = write(root, "a", "old")
    os.link(file, root / "b")
    number = taken(CheckpointStore(tmp_path / "checkpoints", root))
    file.write_text("changed")
    done = plan_restore(CheckpointStore(tmp_path / "checkpoints", root), number).apply()
    assert done.left == dict.fromkeys("ab", "restored without 2 hard links")
    assert [(root / each).read_text() for each in "ab"] == ["old", "old"]


def test_what_a_killed_write_left_is_swept_and_never_in_a_checkpoint(tmp_path: Path, store: CheckpointStore) -> None:
    root = tmp_path / "w"
    write(root, "src/a")
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom joey.bounded.folders import place_of\n"
        "from joey.system.temporaries import temporary_beside\n"
        "with place_of(Path(sys.argv[1])) as place:\n    os.close(temporary_beside(place).open(os.O_CREAT))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(root / "src/a")], check=True)
    with place_of(root / "src/a") as place:
        ours = temporary_beside(place)
        os.close(ours.open(os.O_CREAT))
    assert len(list(root.glob("src/.joey-*"))) == 2
    made = store.take("command", whole=True)
    assert set(made.entries) == {"src", "src/a"} and made.skipped == ()
    assert [path.name for path in root.glob("src/.joey-*")] == [ours.name], "whoever still writes keeps its own"


def test_what_a_killed_restore_left_is_swept_by_the_next(tmp_path: Path, store: CheckpointStore) -> None:
    """The process is killed when it is about to rename: the temporary file is whole and has no use any more."""
    root = tmp_path / "w"
    file = write(root, "a", "old")
    number = taken(store)
    file.write_text("changed")
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom joey.checkpoints import CheckpointStore, plan_restore\n"
        "os.replace = lambda *_, **__: os._exit(9)\n"
        "plan_restore(CheckpointStore(Path(sys.argv[1]), Path(sys.argv[2])), int(sys.argv[3])).apply()\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "checkpoints"), str(root), str(number)])
    assert killed.returncode == 9 and len(list(root.glob(".joey-*"))) == 1
    plan_restore(CheckpointStore(tmp_path / "checkpoints", root), number).apply()
    assert [path.name for path in root.iterdir()] == ["a"] and file.read_text() == "old"
