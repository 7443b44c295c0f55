"""Keeping and putting back, on real folders."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joey.checkpoints import CheckpointLimits, CheckpointStore, plan_restore
from joey.checkpoints.store import read_file
from joey.errors import JoeyError, UsageError

LATER = 10**18 * 4
"""A clock far ahead: every file was last changed long ago, so its times can be relied upon."""


def a_store(folder: Path, limits: CheckpointLimits | None = None) -> CheckpointStore:
    workspace = folder / "project"
    workspace.mkdir(exist_ok=True)
    return CheckpointStore(folder / "kept", workspace, limits, clock=lambda: LATER)


def tree(folder: Path) -> dict[str, object]:
    """Everything there is: contents, links, folders and modes."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", path.stat().st_mode)
        else:
            found[name] = (path.read_bytes(), path.stat().st_mode)
    return found


def fill(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def go_back(store: CheckpointStore, number: int) -> dict[str, str]:
    return plan_restore(store, number).apply().left


def test_everything_comes_back_after_a_command_removed_it_all(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    fill(work, {"a.txt": "one\n", "src/deep/b.bin": bytes(range(256)), "run.sh": "#!/bin/sh\n"})
    (work / "run.sh").chmod(0o755)
    (work / "empty").mkdir()
    (work / "link").symlink_to("a.txt")
    (work / "dangling").symlink_to("nowhere")
    before = tree(work)
    made = store.take("rm -rf", whole=True)
    shutil.rmtree(work)
    work.mkdir()
    assert go_back(store, made.id) == {}
    assert tree(work) == before


def test_what_was_created_goes_what_was_changed_changes_back(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    fill(work, {"stays": "same", "changes": "old\n", "turns/into": "a file"})
    before = tree(work)
    made = store.take("a command", whole=True)
    fill(work, {"changes": "new\n", "made/by/it": "x"})
    shutil.rmtree(work / "turns")
    fill(work, {"turns": "no longer a folder"})
    plan = plan_restore(store, made.id)
    assert {change.path: change.verb for change in plan.changes} == {
        "changes": "change", "made": "remove", "made/by": "remove", "made/by/it": "remove",
        "turns": "change", "turns/into": "create",
    }  # fmt: skip
    assert "-new\n+old\n" in plan.diff()
    plan.apply()
    assert tree(work) == before


def test_the_way_back_undoes_going_back(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    fill(work, {"a": "1", "b": "2"})
    made = store.take("a command", whole=True)
    fill(work, {"a": "changed", "c/d": "new"})
    (work / "b").unlink()
    after = tree(work)
    restored = plan_restore(store, made.id).apply()
    assert tree(work) != after
    assert restored.way_back is not None
    go_back(store, restored.way_back.id)
    assert tree(work) == after


def test_only_named_files_are_kept_when_a_tool_names_them(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {"a": "old", "b": "untouched"})
    made = store.take("write", touched=["a", "new.txt"])
    assert store.reads == 1
    fill(store.workspace, {"a": "new", "new.txt": "x", "b": "the user's own change"})
    go_back(store, made.id)
    assert (store.workspace / "a").read_text() == "old"
    assert not (store.workspace / "new.txt").exists()
    assert (store.workspace / "b").read_text() == "the user's own change"


def test_going_back_over_several_steps_finds_the_first_state_of_each_file(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    fill(work, {"a": "a0", "b": "b0"})
    states = [tree(work)]
    store.take("write a", touched=["a"])
    fill(work, {"a": "a1"})
    states.append(tree(work))
    store.take("a command", whole=True)
    fill(work, {"b": "b1", "c": "c1"})
    states.append(tree(work))
    store.take("write c", touched=["c", "d"])
    fill(work, {"c": "c2", "d": "d2"})
    for number in (3, 2, 1):
        go_back(store, number)
        assert tree(work) == states[number - 1]


def test_nested_repositories_are_kept_and_their_git_folders_are_not_touched(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    for repository in (work, work / "vendor" / "lib"):
        repository.mkdir(parents=True, exist_ok=True)
        fill(repository, {"code.py": "x = 1\n"})
        subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
        subprocess.run(["git", "add", "code.py"], cwd=repository, check=True)
    before = tree(work)
    made = store.take("a command", whole=True)
    assert not [path for path in made.entries if ".git" in path]
    (work / "vendor/lib/code.py").unlink()
    (work / "code.py").write_text("broken")
    fill(work / ".git", {"made-by-git": "x"})
    go_back(store, made.id)
    after = tree(work)
    assert after.pop(".git/made-by-git")
    assert {name: what for name, what in after.items() if ".git" not in name} == {
        name: what for name, what in before.items() if ".git" not in name
    }


def test_ignored_files_are_not_read_and_never_removed(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    work = store.workspace
    fill(work, {
        ".gitignore": "*.log\n/build/\n!keep.log\n[bad\n", "a.log": "x", "keep.log": "x", "build/out": "x",
        "sub/.gitignore": "secret\n", "sub/secret": "x", "node_modules/m/index.js": "x",
    })  # fmt: skip
    made = store.take("a command", whole=True)
    assert sorted(made.entries) == [".gitignore", "keep.log", "sub", "sub/.gitignore"]
    # The rules go, so that the ignored files look like new ones: they were there, and must stay.
    (work / ".gitignore").unlink()
    (work / "sub/.gitignore").unlink()
    go_back(store, made.id)
    assert {"a.log", "build/out", "sub/secret", "node_modules/m/index.js", ".gitignore"} <= set(tree(work))


def test_a_tool_may_name_an_ignored_file_or_one_outside(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {".gitignore": ".env\n", ".env": "KEY=old"})
    fill(tmp_path, {"outside.txt": "old"})
    made = store.take("write", touched=[".env", str(tmp_path / "outside.txt")], whole=True)
    fill(store.workspace, {".env": "KEY=new"})
    fill(tmp_path, {"outside.txt": "new"})
    go_back(store, made.id)
    assert (store.workspace / ".env").read_text() == "KEY=old"
    assert (tmp_path / "outside.txt").read_text() == "old"


def test_the_second_look_at_ten_thousand_files_reads_none_of_them(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {f"d{n % 100}/f{n}.txt": f"content {n % 500}" for n in range(10_000)})
    store.take("first", whole=True)
    assert store.reads == 10_000
    used = store.contents.size
    second = store.take("second", whole=True)
    assert (store.reads, store.contents.size, dict(second.entries)) == (10_000, used, {})
    (store.workspace / "d7/f7.txt").write_text("changed")
    assert list(store.take("third", whole=True).entries) == ["d7/f7.txt"]
    assert store.reads == 10_001
    # A task that is taken up again knows what it has.
    again = a_store(tmp_path)
    again.take("fourth", whole=True)
    assert again.reads == 0


def test_a_file_that_changed_just_now_is_read_again(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "kept", tmp_path / "project")
    fill(store.workspace, {"a": "1"})
    store.take("first", whole=True)
    store.take("second", whole=True)
    assert store.reads == 2


def test_large_files_are_left_out_named_and_never_removed(tmp_path: Path) -> None:
    store = a_store(tmp_path, CheckpointLimits(file_bytes=100, touched_bytes=200))
    work = store.workspace
    fill(work, {"large": "x" * 150, "small": "y"})
    made = store.take("a command", whole=True)
    assert made.unkept == {"large": "it has 150 bytes, and the limit is 100"}
    assert go_back(store, made.id) == {}
    fill(work, {"large": "z" * 150, "small": "w" * 300, "huge": "v" * 300})
    left = go_back(store, made.id)
    assert sorted(left) == ["huge", "large", "small"]
    assert (work / "small").read_text() == "w" * 300  # it cannot be kept as it is now, so it is not overwritten
    assert (work / "huge").exists()


def test_when_the_room_is_used_up_the_rest_is_named_and_not_read_again(tmp_path: Path) -> None:
    store = a_store(tmp_path, CheckpointLimits(total_bytes=4000))
    noise = random.Random(1)
    fill(store.workspace, {f"f{n}": noise.randbytes(1000) for n in range(10)})
    made = store.take("a command", whole=True)
    assert store.contents.size <= 4000
    assert len(made.unkept) == 7
    reads = store.reads
    store.take("another", whole=True)
    assert store.reads == reads


def test_a_checkpoint_that_takes_too_long_goes_on_with_the_next(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    fill(workspace, {f"f{n}": str(n) for n in range(10)})
    ticks = iter(range(LATER, LATER * 2, 10**9))
    store = CheckpointStore(tmp_path / "kept", workspace, CheckpointLimits(seconds=8), clock=lambda: next(ticks))
    first = store.take("first", whole=True)
    assert 0 < len(first.unkept) < 10
    for _ in range(4):
        store.take("next", whole=True)
    assert store.reads == 10


def test_too_many_files_mean_that_nothing_unknown_is_removed(tmp_path: Path) -> None:
    store = a_store(tmp_path, CheckpointLimits(paths=3))
    fill(store.workspace, {f"f{n}": str(n) for n in range(6)})
    made = store.take("a command", whole=True)
    fill(store.workspace, {"f0": "changed", "a": "new"})
    go_back(store, made.id)
    assert (store.workspace / "f0").read_text() == "0"
    assert len(list(store.workspace.iterdir())) == 7


def test_a_file_that_cannot_be_read_is_named_and_left(tmp_path: Path) -> None:
    def refusing(path: str, limit: int) -> bytes:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return read_file(path, limit)

    workspace = tmp_path / "project"
    fill(workspace, {"locked": "x", "open": "y"})
    store = CheckpointStore(tmp_path / "kept", workspace, read=refusing)
    made = store.take("a command", whole=True)
    assert made.unkept == {"locked": "it cannot be read: Permission denied"}
    fill(workspace, {"locked": "changed", "open": "changed"})
    assert list(go_back(store, made.id)) == ["locked"]
    assert (workspace / "open").read_text() == "y"


def test_pipes_are_never_opened(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    os.mkfifo(store.workspace / "pipe")
    made = store.take("a command", whole=True, touched=["pipe"])
    assert made.unkept == {"pipe": "it is neither a file nor a folder nor a link"}
    assert made.skipped == ("pipe",)


def test_nothing_is_written_through_a_link_that_took_a_folders_place(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    fill(store.workspace, {"src/a": "mine"})
    made = store.take("write", touched=["src/a"])
    shutil.rmtree(store.workspace / "src")
    (store.workspace / "src").symlink_to(outside)
    left = go_back(store, made.id)
    assert left == {"src/a": "a folder above it is now a link to somewhere else"}
    assert list(outside.iterdir()) == []


def test_names_of_any_bytes_are_kept(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    names = [b"caf\xe9", "naïve ☃".encode(), b"new\nline", b'quo"te']
    for name in names:
        (store.workspace / os.fsdecode(name)).write_bytes(name)
    before = tree(store.workspace)
    made = store.take("a command", whole=True)
    shutil.rmtree(store.workspace)
    store.workspace.mkdir()
    again = a_store(tmp_path)
    assert plan_restore(again, made.id).diff().encode()
    go_back(again, made.id)
    assert tree(store.workspace) == before


def test_a_torn_line_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {"a": "1"})
    store.take("first", whole=True)
    lines = tmp_path / "kept" / "checkpoints.jsonl"
    lines.write_bytes(lines.read_bytes() + b'{"id":2,"at"')
    again = a_store(tmp_path)
    again.take("second", whole=True)
    assert [checkpoint.label for checkpoint in a_store(tmp_path).checkpoints] == ["first", "second"]


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: writing more fails, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_costs_the_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {"a.txt": "first\n"})
    store.take("kept", whole=True)
    chance = random.Random(1)
    fill(store.workspace, {f"{n}.bin": chance.randbytes(50_000) for n in range(60)})
    with full_disk(200_000), pytest.raises(OSError, match="too large"):
        store.take("does not fit", whole=True)
    assert [checkpoint.label for checkpoint in store.checkpoints] == ["kept"]
    before = tree(store.workspace)
    store.take("fits again", whole=True)
    for opened in (store, a_store(tmp_path)):
        shutil.rmtree(opened.workspace)
        opened.workspace.mkdir()
        go_back(opened, 2)
        assert tree(opened.workspace) == before


def test_a_disk_that_fills_up_while_going_back_leaves_whole_files(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {"a.txt": "small\n", "b.txt": "x" * 300_000})
    store.take("kept", touched=["a.txt", "b.txt"])
    fill(store.workspace, {"a.txt": "other\n", "b.txt": "changed\n"})
    with full_disk(200_000):
        left = go_back(store, 1)
    assert "too large" in left["b.txt"] and set(left) == {"b.txt"}
    assert sorted(path.read_text() for path in store.workspace.iterdir()) == ["changed\n", "small\n"]
    assert go_back(store, 1) == {}


def test_damaged_contents_are_noticed_not_written(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    fill(store.workspace, {"a": "precious"})
    made = store.take("write", touched=["a"])
    fill(store.workspace, {"a": "new"})
    (tmp_path / "kept" / "contents.index").write_text("")
    with pytest.raises(JoeyError, match="does not hold the content"):
        a_store(tmp_path).contents.read(made.entries["a"].content)
    assert "does not hold" in go_back(a_store(tmp_path), made.id)["a"]
    assert (store.workspace / "a").read_text() == "new"


def test_an_unknown_number_is_refused_with_those_there_are(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.take("first")
    with pytest.raises(UsageError, match="no checkpoint 7; there are 1 to 1"):
        store.get(7)


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/f", "g"])
CHANGES = st.dictionaries(NAMES, st.none() | st.text(max_size=3), max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from(["write", "command"]), CHANGES), min_size=1, max_size=6)


@pytest.mark.property
@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_every_state_can_be_gone_back_to(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, dict[str, str | None]]]
) -> None:
    store = a_store(tmp_path_factory.mktemp("steps"))
    work = store.workspace

    def files() -> dict[str, bytes]:
        return {path.relative_to(work).as_posix(): path.read_bytes() for path in work.rglob("*") if path.is_file()}

    states = []
    for kind, changes in steps:
        states.append(files())
        store.take(kind, whole=kind == "command", touched=changes if kind == "write" else ())
        for name, content in changes.items():
            if content is None:
                (work / name).unlink(missing_ok=True)
            else:
                fill(work, {name: content})
    for number in range(len(states), 0, -1):
        assert go_back(store, number) == {}
        assert files() == states[number - 1]
