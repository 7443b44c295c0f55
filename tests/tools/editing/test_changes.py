from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from joey.bounded.folders import Place
from joey.tools.editing.changes import ChangeFailed, Disk, FileChange, commit

OLD, NEW = b"old\n" * 2000, b"new\n" * 3000


def change(path: Path, old: bytes | None, new: bytes | None) -> FileChange:
    return FileChange(path, path.name, old, new)


class FullDisk(Disk):
    def __init__(self, room: int = 0) -> None:
        self._room = room

    def write(self, descriptor: int, data: bytes) -> None:
        super().write(descriptor, data[: self._room])
        if len(data) > self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._room -= len(data)


class SharedDisk(Disk):
    """Somebody else writes to a file while we write ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, descriptor: int, data: bytes) -> None:
        super().write(descriptor, data)
        self._path.write_bytes(b"somebody else's")


class BrokenDisk(Disk):
    """Fails when the file with this name would change."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _touch(self, place: Place) -> None:
        if place.name == self._name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def rename(self, source: Place, target: Place) -> None:
        self._touch(target)
        super().rename(source, target)

    def link(self, source: Place, target: Place) -> None:
        self._touch(target)
        super().link(source, target)

    def remove(self, place: Place) -> None:
        self._touch(place)
        super().remove(place)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(OLD)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o4755])
def test_permissions_are_kept(file: Path, mode: int) -> None:
    file.chmod(mode)
    commit([change(file, OLD, NEW)])
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert names(file.parent) == ["a.txt"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    commit([change(tmp_path / "new", None, b"x")])
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_folders_are_made_for_a_new_file_and_removed_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    with pytest.raises(ChangeFailed, match="the disk is full"):
        commit([change(path, None, b"x")], disk=FullDisk())
    assert names(tmp_path) == []
    commit([change(path, None, b"x")])
    assert path.read_bytes() == b"x"


def test_a_file_changed_meanwhile_is_left_alone(file: Path) -> None:
    file.write_bytes(b"somebody else's")
    with pytest.raises(ChangeFailed, match=r"a\.txt was changed by somebody else.*Read the file again"):
        commit([change(file, OLD, NEW)])
    assert file.read_bytes() == b"somebody else's"


def test_a_file_changed_while_the_new_one_is_written_is_left_alone(file: Path) -> None:
    with pytest.raises(ChangeFailed, match="somebody else"):
        commit([change(file, OLD, NEW)], disk=SharedDisk(file))
    assert file.read_bytes() == b"somebody else's"
    assert names(file.parent) == ["a.txt"]


def test_a_file_created_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(ChangeFailed, match="created by somebody else"):
        commit([change(path, None, NEW)], disk=SharedDisk(path))
    assert path.read_bytes() == b"somebody else's"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_deleted_meanwhile_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(ChangeFailed, match="deleted by somebody else"):
        commit([change(file, OLD, NEW)])
    assert not file.exists()


def test_a_read_only_file_is_left_alone(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(ChangeFailed, match="read-only"):
        commit([change(file, OLD, NEW)])
    assert file.read_bytes() == OLD
    assert names(file.parent) == ["a.txt"]


def test_a_full_disk_leaves_every_file_whole(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for path in (first, second):
        path.write_bytes(OLD)
    with pytest.raises(ChangeFailed, match=r"2 could not be written: the disk is full. Nothing was changed"):
        commit([change(first, OLD, NEW), change(second, OLD, NEW)], disk=FullDisk(room=len(NEW)))
    assert first.read_bytes() == second.read_bytes() == OLD
    assert names(tmp_path) == ["1", "2"]


def test_a_really_full_disk_leaves_the_file_whole(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root; the stand-in above covers the case")
    try:
        path = tmp_path / "a.txt"
        path.write_bytes(OLD)
        with pytest.raises(ChangeFailed, match="the disk is full"):
            commit([change(path, OLD, b"x" * 100_000)])
        assert path.read_bytes() == OLD
        assert names(tmp_path) == ["a.txt"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("broken", ["1", "new", "2", "gone"])
def test_an_error_half_way_undoes_what_was_done(tmp_path: Path, broken: str) -> None:
    present = [tmp_path / name for name in ("1", "2", "gone")]
    for path in present:
        path.write_bytes(OLD)
    changes = [
        change(present[0], OLD, NEW),
        change(tmp_path / "folder" / "new", None, NEW),
        change(present[1], OLD, NEW),
        change(present[2], OLD, None),
    ]
    with pytest.raises(ChangeFailed, match=f"{broken} could not be written: input/output error. Nothing was changed"):
        commit(changes, disk=BrokenDisk(broken))
    assert [path.read_bytes() for path in present] == [OLD, OLD, OLD]
    assert names(tmp_path) == ["1", "2", "gone"]
    commit(changes)
    assert names(tmp_path) == ["1", "2", "folder"]


def test_without_hard_links_it_works_too(tmp_path: Path) -> None:
    class Plain(Disk):
        def link(self, source: Place, target: Place) -> None:
            raise OSError(errno.EPERM, "no hard links here")

    path = tmp_path / "a"
    path.write_bytes(OLD)
    commit([change(path, OLD, NEW), change(tmp_path / "b", None, NEW)], disk=Plain())
    assert names(tmp_path) == ["a", "b"]
    assert path.read_bytes() == NEW


def test_a_link_is_written_through_and_stays(tmp_path: Path, file: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)
    commit([change(link.resolve(), OLD, NEW)])
    assert link.is_symlink()
    assert file.read_bytes() == NEW


WRITER = """
import sys
from itertools import count
from pathlib import Path
from joey.tools.editing.changes import FileChange, commit
paths = [Path(name) for name in sys.argv[1:]]
contents = [path.read_bytes() for path in paths]
for round in count():
    for at, path in enumerate(paths):
        new = (b"%d" % (round % 10)) * len(contents[at])
        commit([FileChange(path, path.name, contents[at], new)])
        contents[at] = new
        print(flush=True)
"""


def test_a_writer_killed_in_the_midst_of_200_writes_leaves_every_file_old_or_new(tmp_path: Path) -> None:
    size, random, writes, folder = 40_000, Random(7), 0, tmp_path / "files"
    folder.mkdir()
    paths = [folder / f"{number}.txt" for number in range(5)]
    for path in paths:
        path.write_bytes(b"-" * size)
    while writes < 200:
        with subprocess.Popen([sys.executable, "-c", WRITER, *map(str, paths)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            seen = random.randint(1, 30)
            for _write in range(seen):
                writer.stdout.readline()
            time.sleep(random.uniform(0, 0.002))
            writer.kill()
            writes += seen
        for path in paths:
            content = path.read_bytes()
            assert len(content) == size and len(set(content)) == 1
    commit([change(paths[0], paths[0].read_bytes(), b"after")])
    assert names(folder) == [path.name for path in paths]


MAKER = """
import os, sys
from joey.bounded.folders import Place
from joey.system.temporaries import temporary_beside
print(temporary_beside(Place(os.open(sys.argv[1], os.O_RDONLY), "a.txt")).name)
"""


def name_of_a_gone_process(folder: Path) -> str:
    """A name that a real Joey made for a temporary file in this folder, before it ended."""
    made = subprocess.run([sys.executable, "-c", MAKER, str(folder)], check=True, capture_output=True, text=True)
    return made.stdout.strip()


def test_the_next_write_sweeps_what_a_killed_one_left(file: Path) -> None:
    (file.parent / name_of_a_gone_process(file.parent)).write_bytes(b"half")
    commit([change(file, OLD, NEW)])
    assert names(file.parent) == ["a.txt"]


def test_what_a_living_process_is_writing_stays(file: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", MAKER + "sys.stdout.flush(); sys.stdin.read()", str(file.parent)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:  # fmt: skip
        assert maker.stdout is not None
        name = maker.stdout.readline().strip()
        (file.parent / name).write_bytes(b"half")
        commit([change(file, OLD, NEW)])
        assert names(file.parent) == [name, "a.txt"]
    commit([change(file, NEW, OLD)])
    assert names(file.parent) == ["a.txt"]


def test_sweeping_spares_everything_that_joey_did_not_make(file: Path, tmp_path: Path) -> None:
    """A name that looks alike, one of another folder, a folder, a link, and what the link leads to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = [f".joey-{2**22 + 7}-3.tmp", f".joey-{2**22 + 7}-3-{'0' * 16}.tmp", name_of_a_gone_process(elsewhere)]
    for name in kept:
        (file.parent / name).write_bytes(b"of the user")
    folder, link = name_of_a_gone_process(file.parent), name_of_a_gone_process(file.parent)
    (file.parent / folder).mkdir()
    (elsewhere / "diary").write_text("dear diary")
    (file.parent / link).symlink_to(elsewhere / "diary")
    commit([change(file, OLD, NEW)])
    assert names(file.parent) == sorted([*kept, folder, link, "a.txt", "elsewhere"])
    assert (elsewhere / "diary").read_text() == "dear diary"
