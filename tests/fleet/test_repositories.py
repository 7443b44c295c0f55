"""Clones, a commit for each turn, and the same on another machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_kit import commit_all, git, repository
from joey.fleet.repositories import Mirror, RepositoryError


def clone(tmp_path: Path, source: Path, machine: str = "one") -> tuple[Mirror, str, Path]:
    mirror, work = Mirror.of(str(source), tmp_path / machine / "mirrors"), tmp_path / machine / "task" / "work"
    base = mirror.resolve("")
    mirror.clone(base, base, work)
    return mirror, base, work


def test_a_clone_has_the_files_of_its_commit_and_leads_nowhere(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    _, base, work = clone(tmp_path, source)
    assert (work / "a.txt").read_text() == "one\n"
    assert git(work, "rev-parse", "HEAD").strip() == base
    assert git(work, "remote") == ""
    shared = [path for path in (work / ".git").rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    assert shared == [], "what a command does to its objects must not change the mirror"


def test_turns_travel_to_another_machine_as_packs(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n", "gone.txt": "x\n", ".gitignore": "*.log\n"})
    mirror, base, work = clone(tmp_path, source)
    (work / "a.txt").write_text("two\n")
    (work / "gone.txt").unlink()
    first = mirror.commit(work, base, "turn 1", "refs/joey/t")
    (work / "new").mkdir()
    (work / "new" / "b.bin").write_bytes(b"\0\xff")
    (work / "debug.log").write_text("no source")
    assert first is not None
    second = mirror.commit(work, first.sha, "turn 2", "refs/joey/t")
    assert second is not None
    assert mirror.commit(work, second.sha, "nothing new", "refs/joey/t") is None

    other, _, elsewhere = clone(tmp_path, source, "two")
    other.unpack([(first.sha, first.pack), (second.sha, second.pack)], "refs/joey/t")
    other.clone(base, second.sha, elsewhere)
    assert sorted(path.name for path in elsewhere.rglob("*") if ".git" not in path.parts) == [
        ".gitignore", "a.txt", "b.bin", "new",
    ]  # fmt: skip
    assert (elsewhere / "a.txt").read_text() == "two\n"
    assert other.patch(base, second.sha) == mirror.patch(base, second.sha)
    assert other.commit(elsewhere, second.sha, "the same", "refs/joey/t") is None


def test_what_a_killed_worker_left_half_made_does_not_stand_in_the_way(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    mirror, base, work = clone(tmp_path, source)
    half, locked = work.parent / "new-half", work.parent / "index-of-another.lock"
    half.mkdir()
    locked.touch()
    (work / ".git" / "HEAD").unlink()
    (work / "left.txt").write_text("over")
    mirror.clone(base, base, work)
    assert [path.name for path in work.iterdir() if path.name != ".git"] == ["a.txt"]
    assert not half.exists()
    (work / "a.txt").write_text("two\n")
    assert mirror.commit(work, base, "turn 1", "refs/joey/t") is not None


def test_git_that_outlives_its_worker_does_not_touch_the_next_clone(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    mirror, base, work = clone(tmp_path, source)
    begun, go, ended = tmp_path / "begun", tmp_path / "go", tmp_path / "ended"
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    wait = f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done"
    cleanup = 'for place in "$@"; do :; done; rm -rf "$place"'  # as git does when a clone fails on its way
    slow.write_text(f'#!/bin/sh\ncase " $* " in *" clone "*) {wait}; {cleanup}; touch {ended};; esac\n')
    slow.chmod(0o755)
    script = (
        "import sys, pathlib; from joey.fleet.repositories import Mirror; "
        "Mirror('', pathlib.Path(sys.argv[1])).clone(sys.argv[2], sys.argv[2], pathlib.Path(sys.argv[3]))"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(mirror.folder), base, str(work)],
        env={**os.environ, "PATH": f"{slow.parent}{os.pathsep}{os.environ['PATH']}"},
    )
    _until(begun.exists)
    worker.kill()
    worker.wait()
    mirror.clone(base, base, work)
    go.touch()
    _until(ended.exists)
    assert git(work, "status", "--porcelain") == ""
    assert git(work, "remote") == ""


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_nothing_that_the_clone_names_is_run(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n", ".gitattributes": "* filter=evil\n"})
    mirror, base, work = clone(tmp_path, source)
    trap = tmp_path / "sprung"
    git(work, "config", "filter.evil.clean", f"touch {trap}")
    git(work, "config", "core.fsmonitor", f"touch {trap}")
    (work / ".git" / "hooks" / "post-commit").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (work / ".git" / "hooks" / "post-commit").chmod(0o755)
    (work / "a.txt").write_text("two\n")
    assert mirror.commit(work, base, "turn", "refs/joey/t") is not None
    assert not trap.exists()


@pytest.mark.parametrize("name", ["v1", "side", ""])
def test_a_commit_is_found_by_tag_branch_or_none(tmp_path: Path, name: str) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    git(source, "tag", "v1")
    git(source, "checkout", "--quiet", "-b", "side")
    (source / "a.txt").write_text("side\n")
    side = commit_all(source, "side")
    expected = git(source, "rev-parse", "v1").strip() if name == "v1" else side
    mirror = Mirror.of(str(source), tmp_path / "mirrors")
    assert mirror.resolve(name) == expected
    assert mirror.resolve(expected) == expected


def test_what_git_cannot_do_is_an_error_in_words(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    with pytest.raises(RepositoryError, match="has no commit nothing"):
        Mirror.of(str(source), tmp_path / "mirrors").resolve("nothing")
    with pytest.raises(RepositoryError, match=r"git failed: .*does not"):
        Mirror.of(str(tmp_path / "missing"), tmp_path / "mirrors").resolve("")


def test_a_branch_is_made_and_not_overwritten(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    mirror, base, work = clone(tmp_path, source)
    (work / "a.txt").write_text("two\n")
    first = mirror.commit(work, base, "turn", "refs/joey/t")
    assert first is not None
    mirror.publish(first.sha, "joey/b/t")
    assert git(source, "show", "joey/b/t:a.txt") == "two\n"
    assert git(source, "show", "HEAD:a.txt") == "one\n"
    (work / "a.txt").write_text("other\n")
    other = mirror.commit(work, base, "turn", "refs/joey/t")
    assert other is not None
    with pytest.raises(RepositoryError):
        mirror.publish(other.sha, "joey/b/t")
