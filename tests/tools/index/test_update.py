"""The index as files come, change, move and go, and as processes are stopped, killed and crossed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codebase_kit import Workshop, function
from joey.tools.index.search import CodebaseIndex, SearchRequest
from joey.tools.index.store import DamagedIndexError, IndexProblemError, IndexStore
from joey.tools.index.update import MAX_FILE, files_of, only_writer


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_what_did_not_change_is_neither_read_nor_embedded_again(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    assert (workshop.build().read, len(workshop.model.seen)) == (1, 1)
    assert (workshop.build().read, len(workshop.model.seen)) == (0, 1)


def test_a_file_written_again_with_the_same_contents_is_read_once_and_not_cut(workshop: Workshop) -> None:
    path = workshop.write("a.py", function("delete_user"))
    workshop.build()
    os.utime(path, ns=(1, 1))
    changes = IndexStore(workshop.index.file).changes
    assert workshop.build().read == 1
    assert workshop.build().read == 0
    assert len(workshop.model.seen) == 1 and IndexStore(workshop.index.file).changes > changes


def test_what_another_process_changed_in_the_index_is_seen(workshop: Workshop) -> None:
    path = workshop.write("a.py", function("delete_user"))
    assert workshop.search("delete user").counts.files == 1
    workshop.write("b.py", function("delete_group"))
    workshop.another().search(SearchRequest("delete group"))
    answer = workshop.search("delete group")
    assert (answer.counts.files, answer.freshness.read) == (2, 0), "it was read there, and is not read again here"
    path.unlink()
    workshop.another().search(SearchRequest("delete group"))
    assert workshop.search("delete user").counts.files == 1


def test_an_index_made_elsewhere_from_nothing_is_not_taken_for_the_one_before(workshop: Workshop) -> None:
    path = workshop.write("a.py", function("delete_user"))
    workshop.build()
    changes = IndexStore(workshop.index.file).changes
    other = workshop.another()
    other.clear()
    path.rename(path.with_name("b.py"))
    other.build(lambda _what, _done, _of: None)
    assert IndexStore(workshop.index.file).changes == changes
    assert workshop.search("delete user").freshness.read == 0, "b.py is known to the index that is there now"


def test_a_second_search_reads_neither_the_files_known_nor_their_number(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("a.py", function("delete_user"))
    for _ in range(2):
        workshop.search("delete user")
    monkeypatch.setattr(IndexStore, "_read_files", None)
    monkeypatch.setattr(IndexStore, "_count", None)
    assert [hit.piece.path for hit in workshop.search("delete user").found] == ["a.py"]


def test_only_the_changed_piece_of_a_file_is_embedded(workshop: Workshop) -> None:
    workshop.write("a.py", function("one") + "\n\n" + function("two"))
    workshop.build()
    workshop.write("a.py", "import os\n\n\n" + function("one") + "\n\n" + function("two", "return 22"))
    workshop.build()
    assert [text.split("(")[0] for text in workshop.model.seen[2:]] in (
        ["def two"],
        ["import os\n\n\ndef one", "def two"],
    )


def test_a_moved_file_is_not_embedded_again(workshop: Workshop) -> None:
    path = workshop.write("old/a.py", function("delete_user"))
    workshop.build()
    path.rename(workshop.root / "new_name.py")
    assert workshop.build().dropped == 1
    assert len(workshop.model.seen) == 1
    assert workshop.paths("delete user") == ["new_name.py"]


def test_a_deleted_file_is_not_found(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    other = workshop.write("b.py", function("delete_group"))
    workshop.build()
    other.unlink()
    assert workshop.paths("delete group") == ["a.py"]
    with IndexStore(workshop.index.file) as store:
        assert store.counts().texts == 1, "nor is what it said kept"


def test_every_word_of_a_dropped_file_leaves_the_index(workshop: Workshop) -> None:
    path = workshop.write("wörter/ünïcode.py", "# zebra Ärger ﷽ 中文\n" + function("zebraCrossing") * 3)
    workshop.build()
    path.unlink()
    workshop.build()
    with sqlite3.connect(workshop.index.file) as database:
        database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.left_over USING fts5vocab(main, words, row)")
        assert database.execute("SELECT count(*) FROM temp.left_over").fetchone() == (0,)
        database.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    database.close()


def test_files_that_ignore_rules_hide_are_not_there(workshop: Workshop) -> None:
    for name in ("kept.py", "secret.py", "build/made.py", "node_modules/x.py", ".hidden/y.py", ".env", "deep/no.py"):
        workshop.write(name, function("delete_user"))
    workshop.write(".gitignore", "build/\n")
    workshop.write("deep/.gitignore", "no.py\n")
    workshop.hidden.add(workshop.root.resolve() / "secret.py")
    assert workshop.paths("delete user") == ["kept.py"]


def test_a_file_that_becomes_hidden_leaves_the_index(workshop: Workshop) -> None:
    path = workshop.write("a.py", function("delete_user"))
    workshop.build()
    workshop.hidden.add(path.resolve())
    assert workshop.paths("delete user") == []
    with IndexStore(workshop.index.file) as store:
        assert store.counts().files == 0


def test_what_is_no_code_is_left_out(workshop: Workshop) -> None:
    workshop.write("good.py", function("delete_user"))
    workshop.write("image.dat", b"\x89PNG\0\0delete user")
    workshop.write("huge.py", b"# delete user\n" * (MAX_FILE // 10))
    workshop.write("data.json", '{"delete user": 1}\n' * 5_000)
    workshop.write("lib.min.js", "delete user")
    workshop.write("empty.py", "")
    assert workshop.paths("delete user") == ["good.py"]


def test_links_are_not_followed(workshop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(function("delete_user"))
    workshop.write("inside.py", function("delete_group"))
    (workshop.root / "link.py").symlink_to(outside)
    (workshop.root / "loop").symlink_to(workshop.root)
    (workshop.root / "self").symlink_to("self")
    assert workshop.paths("delete user") == ["inside.py"]


def test_a_pipe_does_not_hold_up_the_build(workshop: Workshop) -> None:
    os.mkfifo(workshop.root / "pipe.py")
    workshop.write("a.py", function("delete_user"))
    assert workshop.build().files == 1


@pytest.mark.parametrize(
    "name", [b"new\nline.py", "ünï/cödé.py".encode(), b"not-utf8-\xff\xfe.py", b"quote'\".py", b"%00 ?mode=ro.py"]
)
def test_any_name_of_a_file_will_do(workshop: Workshop, name: bytes) -> None:
    path = os.fsdecode(name)
    workshop.write(path, function("delete_user"))
    assert workshop.paths("delete user") == [path]
    (workshop.root / path).unlink()
    assert workshop.paths("delete user") == []


@pytest.mark.parametrize(
    "data", [b"# caf\xe9 delete user\n", "# delete user \ufeff".encode("utf-16"), b"# \xff\xfe\xfd delete user"]
)
def test_bytes_that_are_not_utf_8_are_read_all_the_same(workshop: Workshop, data: bytes) -> None:
    workshop.write("a.py", data + b"\n" * 2 if not data.startswith(b"\xff\xfe") else data)
    assert workshop.paths("delete user") == ["a.py"]


def test_a_file_deleted_between_the_walk_and_the_reading_is_no_problem(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    path = workshop.write("b.py", function("delete_group"))
    found, _ = files_of(workshop.root, lambda _path: False)
    assert "b.py" in found

    def gone_after_the_first_look() -> bool:
        path.unlink(missing_ok=True)
        return False

    freshness = workshop.build(stopped=gone_after_the_first_look)
    assert freshness.read == 2
    assert workshop.paths("delete group") == ["a.py"]


def test_a_folder_that_becomes_a_link_between_the_walk_and_the_reading_is_not_followed(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    folder = workshop.write("src/b.py", function("delete_group")).parent
    outside = workshop.root.parent / "outside"
    outside.mkdir()
    (outside / "b.py").write_text(function("outer_secret"))

    def link_after_the_first_look() -> bool:
        if not folder.is_symlink():
            folder.rename(workshop.root.parent / "kept")
            folder.symlink_to(outside)
        return False

    workshop.build(stopped=link_after_the_first_look)
    folder.unlink()
    (workshop.root.parent / "kept").rename(folder)
    with IndexStore(workshop.index.file, read_only=True) as store:
        assert store.files().keys() == {"a.py", "src/b.py"}
        assert store.counts().files == 2 and store.counts().texts == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_tried_again(workshop: Workshop) -> None:
    path = workshop.write("a.py", function("delete_user"))
    path.chmod(0)
    assert workshop.paths("delete user") == []
    path.chmod(0o600)
    assert workshop.paths("delete user") == ["a.py"]


# Stopped, killed, crossed


def test_a_build_that_is_stopped_goes_on_where_it_was(workshop: Workshop) -> None:
    for number in range(120):
        workshop.write(f"m{number}.py", function(f"delete_{number}"))
    calls = iter([False, False, True, *[True] * 99])
    assert workshop.build(stopped=lambda: next(calls)).read == 100
    assert workshop.build().read == 20
    assert len(workshop.model.seen) == 120


def test_a_search_does_a_bounded_amount_of_work_and_says_what_is_left(workshop: Workshop) -> None:
    for number in range(30):
        workshop.write(f"m{number:02}.py", function(f"delete_{number}"))
    answer = workshop.search("delete", files=10, texts=4)
    assert len(answer.freshness.waiting) == 20 and answer.freshness.unembedded == 6
    assert not answer.freshness.is_complete
    assert workshop.search("delete").freshness.is_complete


def test_what_ranks_best_by_keywords_is_embedded_first(workshop: Workshop) -> None:
    for number in range(30):
        workshop.write(f"m{number:02}.py", function(f"other_{number}"))
    workshop.write("z.py", function("delete_user"))
    workshop.search("delete user", texts=1)
    assert ["delete_user" in text for text in workshop.model.seen] == [True]


_KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from codebase_kit import Workshop, WordModel
class Slow(WordModel):
    def embed(self, texts):
        print("embedding", flush=True)
        time.sleep({delay})
        return super().embed(texts)
from joey.tools.index.search import CodebaseIndex
index = CodebaseIndex(Path({root!r}), Path({folder!r}), lambda: (Slow(), ""))
index.build(lambda what, done, of: print(what, done, flush=True))
"""


def start(workshop: Workshop, delay: float) -> subprocess.Popen[str]:
    code = _KILLED.format(
        tests=str(Path(__file__).parents[2]), root=str(workshop.root), folder=str(workshop.folder), delay=delay
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def building(workshop: Workshop) -> Iterator[subprocess.Popen[str]]:
    """Another process that has read all files and takes its time over the vectors."""
    for number in range(100):
        workshop.write(f"m{number}.py", function(f"delete_{number}"))
    process = start(workshop, delay=30.0)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("embedding"):
            break
    yield process
    process.kill()
    process.communicate()


def test_a_killed_build_keeps_an_index_that_can_be_searched_and_goes_on(
    workshop: Workshop, building: subprocess.Popen[str]
) -> None:
    building.send_signal(signal.SIGKILL)
    building.wait()
    answer = workshop.search("delete 7")
    assert answer.found[0].piece.path == "m7.py"
    assert answer.freshness.read == 0 and answer.freshness.embedded == 100 and answer.notes == ()


def test_while_another_process_builds_the_index_can_be_searched_and_not_built(
    workshop: Workshop, building: subprocess.Popen[str]
) -> None:
    answer = workshop.search("delete 7")
    assert answer.found[0].piece.path == "m7.py"
    assert answer.notes == ("Another process is updating the index.",)
    with pytest.raises(IndexProblemError, match="another process is updating"):
        workshop.build()


def test_killed_at_any_moment_the_index_is_whole(workshop: Workshop) -> None:
    for number in range(150):
        workshop.write(f"m{number}.py", function(f"delete_{number}"))
    for moment in (1, 4):
        process = start(workshop, delay=0)
        assert process.stdout is not None
        for _ in range(moment):
            process.stdout.readline()
        process.kill()
        process.communicate()
        with IndexStore(workshop.index.file) as store:
            assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            store._db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    assert workshop.build().is_complete
    assert workshop.paths("delete 77")[0] == "m77.py"


def test_two_writers_take_turns(workshop: Workshop) -> None:
    for number in range(60):
        workshop.write(f"m{number}.py", function(f"delete_{number}"))
    workshop.build()
    one, other = IndexStore(workshop.index.file), IndexStore(workshop.index.file)
    for number in range(0, 60, 2):
        one.drop_files([f"m{number}.py"])
        other.drop_files([f"m{number + 1}.py"])
    assert one.counts().files == 0 == other.counts().pieces
    with only_writer(workshop.folder) as first, only_writer(workshop.folder) as second:
        assert (first, second) == (True, False)


# Damaged, full, without rights


@pytest.mark.parametrize(
    "damage", ["nonsense", "truncated", "other version", "no tables", "broken vectors", "zeroed page"]
)
def test_a_damaged_index_is_rebuilt_and_says_so(workshop: Workshop, damage: str) -> None:
    for number in range(40):
        workshop.write(f"m{number}.py", function(f"delete_{number}"))
    workshop.build()
    spoil(workshop.index.file, damage)
    workshop.index = workshop.another()
    answer = workshop.search("delete 7")
    assert answer.found[0].piece.path == "m7.py"
    assert any("rebuilt" in note for note in answer.notes)
    assert workshop.search("delete 7").notes == ()


def spoil(file: Path, damage: str) -> None:
    data = file.read_bytes()
    if damage == "nonsense":
        file.write_bytes(b"this is not a database at all" * 500)
    elif damage == "truncated":
        file.write_bytes(data[: len(data) // 2 // 4096 * 4096])
    elif damage == "zeroed page":
        file.write_bytes(data[:4096] + bytes(len(data) - 4096))
    else:
        database = sqlite3.connect(file, isolation_level=None)
        statement = {
            "other version": "PRAGMA user_version = 99",
            "no tables": "DROP TABLE pieces",
            "broken vectors": "UPDATE texts SET vector = x'0011' WHERE id = 3",
        }[damage]
        database.execute(statement)
        database.close()


def test_a_build_of_a_damaged_index_rebuilds_it(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.build()
    workshop.index.file.write_bytes(b"nonsense" * 1000)
    assert workshop.build().read == 1


def test_a_full_disk_leaves_what_was_there(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.build()
    for number in range(40):
        workshop.write(f"m{number}.py", function(f"delete_group_{number}") * 20)
    workshop.index = FullDisk(workshop.root, workshop.folder, lambda: (workshop.model, ""))
    answer = workshop.search("delete user")
    assert answer.found[0].piece.path == "a.py"
    assert any("could not be brought up to date" in note and "full" in note for note in answer.notes)
    workshop.index = workshop.another()
    assert workshop.search("delete group 7").notes == ()


class FullDisk(CodebaseIndex):
    """The index on a disk without room: SQLite may not add a page."""

    def _open(self, *, alone: bool) -> tuple[IndexStore | None, tuple[str, ...]]:
        store, notes = super()._open(alone=alone)
        assert store is not None
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        return store, notes


def test_a_folder_without_rights_is_named(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where the folder should be")
    workshop.write("a.py", function("delete_user"))
    with pytest.raises(IndexProblemError, match="cannot be written"):
        workshop.search("delete user")


def test_an_index_that_cannot_be_written_can_be_searched(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.build()
    workshop.write("b.py", function("delete_group"))
    # What a folder without rights does to whoever is not root: the lock cannot be taken.
    (workshop.folder / "lock").unlink()
    (workshop.folder / "lock").mkdir()
    answer = workshop.search("delete user")
    assert [each.piece.path for each in answer.found] == ["a.py"]
    assert any("could not be brought up to date" in note for note in answer.notes)
    assert answer.freshness.waiting == {"b.py"}


def test_a_store_that_is_opened_to_read_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises((IndexProblemError, DamagedIndexError)):
        IndexStore(tmp_path / "none.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_the_time_of_the_last_complete_update_is_kept(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    before = time.time()
    workshop.build()
    counts = workshop.index.counts()
    assert counts is not None and counts.updated is not None and before <= counts.updated <= time.time()
