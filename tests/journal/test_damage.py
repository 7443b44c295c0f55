"""Damaged journals: what is whole is read, what is not is named, and no task suffers from another's damage."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from joey import protocols
from joey.cli import main
from joey.journal.copies import branch, repaired
from joey.journal.journal import Journal, JournalError, read_timed
from joey.journal.records import (
    LeftOut,
    MessageAdded,
    ModeSet,
    PermissionGranted,
    PermissionRevoked,
    ProfileSet,
    Record,
    RunBegan,
    TaskOpened,
    TodosSet,
)
from joey.journal.replay import replay
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.permissions import Permission
from joey.task import wording
from joey.testing.script import reply
from task_kit import Kit, call, done

HEADER = '{"format": "joey-journal", "version": 1}\n'
CALLED = MessageAdded(Message("assistant", (ToolUseBlock("c", "execute_command", {"command": "make"}),)))


def records(folder: Path) -> list[Record]:
    opened = TaskOpened("t", "Do it.", str(folder), "code", "m", "native")
    return [opened, MessageAdded(Message("user", (TextBlock("Do it."),))), CALLED, RunBegan("c", "execute_command")]


def written(path: Path, *, damage: Callable[[list[str]], None] = lambda _lines: None) -> list[Record]:
    """A journal of four records, whose lines were damaged."""
    whole = records(path.parent)
    with Journal(path) as journal:
        for record in whole:
            journal.append(record)
    lines = path.read_text().splitlines(keepends=True)
    damage(lines)
    path.write_text("".join(lines))
    return whole


def read(path: Path) -> tuple[list[Record], list[str]]:
    found = [record for _at, record in read_timed(path)]
    return [each for each in found if not isinstance(each, LeftOut)], [str(e) for e in found if isinstance(e, LeftOut)]


def no_json(lines: list[str]) -> None:
    lines[2] = "x" + lines[2]


def newer_type(lines: list[str]) -> None:
    lines[2] = '{"type":"thought_added","at":1}\n'


def newer_field(lines: list[str]) -> None:
    lines[2] = lines[2].replace('"text":"Do it."', '"text":"Do it.","bold":true')


def no_line_end(lines: list[str]) -> None:
    lines[2] = lines[2].rstrip("\n")


def glued(lines: list[str]) -> None:
    lines[2:4] = [lines[2][:30] + lines[3]]


def no_header(lines: list[str]) -> None:
    lines[0] = "\x00" + lines[0]


def newer_version(lines: list[str]) -> None:
    lines[0] = lines[0].replace('"version": 1', '"version": 2')


@pytest.mark.parametrize(
    ("damage", "missing", "reason"),
    [
        (no_json, set(), "line 3: not JSON"),
        (newer_type, {1}, "line 3: unknown type 'thought_added'"),
        (newer_field, set(), "line 3: text has no field 'bold'"),
        (no_line_end, set(), "line 3: not JSON"),
        (glued, {1}, "line 3: not JSON"),
        (no_header, set(), "line 1: it is not a journal"),
        (newer_version, set(), "line 1: the journal has version 2 of the format"),
    ],
)
def test_what_is_whole_is_read_and_the_rest_is_named(
    tmp_path: Path, damage: Callable[[list[str]], None], missing: set[int], reason: str
) -> None:
    whole = written(tmp_path / "j", damage=damage)
    found, left_out = read(tmp_path / "j")
    assert found == [record for place, record in enumerate(whole) if place not in missing]
    assert len(left_out) == 1 and left_out[0].startswith(reason)


def test_any_damage_leaves_a_task_that_can_be_listed_and_folded(tmp_path: Path) -> None:
    store, luck = TaskStore(tmp_path), random.Random(16)
    path = store.journal_path("t")
    written(path)
    whole = path.read_bytes()
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(luck.randint(1, 4)):
            data[luck.randrange(len(data))] = luck.randrange(256)
        path.write_bytes(bytes(data))
        (entry,) = store.entries()
        assert entry.problem or entry.state
    for odd in (b"", b"\n\n\n", b"[" * 100_000 + b"\n", b"\xff\xfe" * 10 + b"\n", HEADER.encode() + b"\n1\n"):
        path.write_bytes(odd)
        (entry,) = store.entries()
        assert entry.changed > 0


def test_one_damaged_task_does_not_keep_the_others_from_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = TaskStore(tmp_path / "joey" / "tasks")
    written(store.journal_path("good"))
    written(store.journal_path("half"), damage=newer_type)
    for name, content in (("at", '{"type":"mode_set","mode":"a","at":"x"}'), ("far", '{"type":"mode_set","at":1e300}')):
        store.folder(name).mkdir()
        store.journal_path(name).write_text(f"{HEADER}{content}\n")
    assert main(["tasks"]) == 0
    lines = capsys.readouterr().out
    assert all(name in lines for name in ("good", "half", "at", "far"))
    assert "Do it. (damaged: 1 left out)" in lines
    assert main(["tasks", "--json"]) == 0
    rows = {row["id"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["half"]["left_out"][0].startswith("line 3: unknown type")


async def test_a_call_whose_beginning_may_be_lost_is_not_taken_for_one_that_did_not_run(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [], headless=True)
    written(kit.store.journal_path("t"), damage=lambda lines: lines.__setitem__(4, "?\n"))
    assert (await kit.resume("t", [done()])).outcome == "completed"
    assert wording.INTERRUPTED in repr(kit.sent[-1]) and wording.DAMAGED in repr(kit.sent[-1])


@pytest.mark.parametrize("protocol", ["native", "xml"])
@pytest.mark.parametrize("lost", range(2, 7))
async def test_a_task_resumes_whichever_line_is_lost(tmp_path: Path, lost: int, protocol: str) -> None:
    kit = Kit(tmp_path, [], protocol=protocol, headless=True)
    look = MessageAdded(Message("assistant", (call("l", "list_files", path="."),)))
    with Journal(kit.store.journal_path("t")) as journal:
        for record in (*records(tmp_path), MessageAdded(Message("user", (TextBlock("more"),))), look):
            journal.append(record)
    path = kit.store.journal_path("t")
    lines = path.read_text().replace('"native"', f'"{protocol}"').splitlines(keepends=True)
    path.write_text("".join([*lines[:lost], "?\n", *lines[lost + 1 :]]))
    written_out = protocols.get(protocol).encode_call(call("d", "attempt_completion", result="All done."))
    script = reply(written_out.text) if isinstance(written_out, TextBlock) else done()
    assert (await kit.resume("t", [script])).outcome == "completed"
    assert wording.DAMAGED in repr(kit.sent)


def test_repair_writes_a_clean_copy_beside_the_damaged_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = TaskStore(tmp_path / "joey" / "tasks")
    written(store.journal_path("t"), damage=lambda lines: lines.__setitem__(4, "?\n"))
    (store.folder("t") / "output.txt").write_text("kept")
    before = store.journal_path("t").read_bytes()
    assert main(["tasks", "repair", "t"]) == 0
    out, err = capsys.readouterr()
    copy = store.find(out.strip())
    assert "left out: line 5: not JSON" in err and not copy.left_out
    assert copy.state is not None and copy.state.calls.begun == {"c": "execute_command"}
    assert copy.text == "Do it." and copy.opened is not None and copy.opened.task_id == out.strip()
    assert (copy.path / "output.txt").read_text() == "kept"
    assert store.journal_path("t").read_bytes() == before
    assert copy.changed == pytest.approx(store.find("t").changed)
    assert main(["tasks", "repair", copy.task_id]) == 0
    assert "nothing to repair" in capsys.readouterr().err


def test_repair_of_a_task_that_lost_its_first_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store = TaskStore(tmp_path / "joey" / "tasks")
    written(store.journal_path("t"), damage=lambda lines: lines.__setitem__(1, "?\n"))
    assert main(["resume", "t"]) == 2
    assert "joey tasks repair t" in capsys.readouterr().err
    assert main(["tasks", "repair", "t"]) == 0
    copy = store.find(capsys.readouterr().out.strip())
    assert (copy.text, copy.folder) == ("Do it.", tmp_path)


def test_nothing_is_added_to_a_journal_of_a_newer_version_but_its_copy_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = TaskStore(tmp_path / "joey" / "tasks")
    whole = written(store.journal_path("t"), damage=newer_version)
    before = store.journal_path("t").read_bytes()
    with pytest.raises(JournalError, match=r"version 2 of the format.*joey tasks repair"):
        store.open("t")
    assert main(["tasks", "show", "t"]) == 0
    assert "left out: line 1: the journal has version 2" in capsys.readouterr().err
    assert main(["tasks", "repair", "t"]) == 0
    copy = capsys.readouterr().out.strip()
    assert store.find(copy).started == pytest.approx(store.find("t").started) and store.find(copy).started
    with store.open(copy):
        assert read(store.journal_path(copy))[0][1:] == whole[1:]
    assert store.journal_path("t").read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_journal_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match=r"cannot write .*: Permission denied"):
        Journal(tmp_path / "t" / "j")


def test_a_folder_in_the_way_of_a_journal_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"cannot write .*: Not a directory"):
        Journal(tmp_path / "file" / "j")
    (tmp_path / "folder").mkdir()
    with pytest.raises(JournalError, match=r"cannot write .*: Is a directory"):
        Journal(tmp_path / "folder")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "j").symlink_to("/dev/full")
    with pytest.raises(JournalError, match="free some space, then `joey resume`"):
        Journal(tmp_path / "j")


def test_the_fold_needs_no_message_to_replace_one() -> None:
    assert replay([ModeSet("a"), TodosSet(()), LeftOut(3, "?")]).is_damaged


ALLOWED = Permission("command", "make")


def test_what_was_allowed_before_a_line_that_cannot_be_read_holds_no_more(tmp_path: Path) -> None:
    """The line may have taken it back."""
    whole = [*records(tmp_path), PermissionGranted(ALLOWED), ProfileSet("all")]
    damaged = [*whole, LeftOut(7, "not JSON"), PermissionGranted(Permission("reads"))]
    assert (replay(whole).allowed.permissions, replay(whole).allowed.profile) == ((ALLOWED,), "all")
    state = replay(damaged)
    assert (state.allowed.permissions, state.allowed.profile) == ((Permission("reads"),), "")
    copy = replay(record for _at, record in repaired([(0.0, each) for each in damaged], "new", tmp_path))
    assert (copy.allowed.permissions, copy.allowed.profile) == ((), "")


def test_a_branch_takes_nothing_along_that_the_user_allowed(tmp_path: Path) -> None:
    taken = [*records(tmp_path), PermissionGranted(ALLOWED), PermissionRevoked(ALLOWED), ProfileSet("all")]
    state = replay(branch([*taken[:2], *taken[4:5], *taken[2:4], *taken[6:]], 1, "new"))
    assert (state.allowed.permissions, state.allowed.profile) == ((), "")
