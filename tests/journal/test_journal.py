from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from joey.effects import Todo
from joey.errors import UsageError
from joey.journal.journal import Journal, JournalError, read_journal
from joey.journal.records import (
    ChildOpened,
    MessageAdded,
    MessagesHidden,
    ModeSet,
    ProfileSet,
    Record,
    ResultsShortened,
    RunBegan,
    RunEnded,
    TaskEnded,
    TaskOpened,
    TodosSet,
    TurnEnded,
)
from joey.journal.replay import replay
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.usage import Usage

OPENED = TaskOpened("t1", "do it", "/w", "code", "m", "native")
USER_MESSAGE = MessageAdded(Message("user", (TextBlock("do it \U0001f600 ü"),)))
CALLED = MessageAdded(Message("assistant", (ToolUseBlock("c1", "f", {"a": 1}), ToolUseBlock("c2", "g", {}))))
RECORDS: list[Record] = [
    OPENED,
    USER_MESSAGE,
    CALLED,
    RunBegan("c1", "f"),
    RunEnded("c1", "f", ToolResult((TextBlock("ok"),))),
    TurnEnded(Usage(1, 2, 3, 4), 0.5),
    ModeSet("ask"),
    TodosSet((Todo("1", "write it", "pending"),)),
    MessagesHidden(2, "they talked"),
    ResultsShortened(5000, 900),
    ChildOpened("t2", "c2"),
    TaskEnded("completed", "done"),
]


def write(path: Path, records: list[Record]) -> None:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    write(tmp_path / "j", RECORDS)
    assert list(read_journal(tmp_path / "j")) == RECORDS
    assert json.loads((tmp_path / "j").read_text().splitlines()[0]) == {"format": "joey-journal", "version": 1}


def test_a_torn_last_line_is_repaired_at_every_place_it_can_tear(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, RECORDS[:3])
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        assert list(read_journal(path)) == RECORDS[:2]
        write(path, [RECORDS[2]])
        assert list(read_journal(path)) == RECORDS[:3]


def test_a_long_torn_line_is_cut_off_without_being_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, RECORDS[:2])
    with path.open("ab") as file:
        file.write(b"x" * 2**22)
    tracemalloc.start()
    try:
        Journal(path).close()
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert list(read_journal(path)) == RECORDS[:2] and path.read_bytes().endswith(b"}\n")


def test_a_torn_header_begins_again(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b'{"format": "joe')
    write(tmp_path / "j", [OPENED])
    assert list(read_journal(tmp_path / "j")) == [OPENED]


def test_a_task_cannot_be_open_twice(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(JournalError, match="open elsewhere"):
        Journal(tmp_path / "j", timeout=0.0)
    Journal(tmp_path / "j").close()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="nothing says who holds a lock")
@pytest.mark.parametrize(
    ("name", "profile", "shows_result"),
    [("attempt_completion", "ask", True), ("attempt_completion", "plan", False), ("execute_command", "ask", False)],
)
def test_a_terminal_that_may_only_be_showing_a_result_is_said_to(
    tmp_path: Path, name: str, profile: str, shows_result: bool
) -> None:
    path = tmp_path / "j"
    request = MessageAdded(Message("user", (TextBlock("Do it."),)))
    called = MessageAdded(Message("assistant", (ToolUseBlock("c", name, {}),)))
    write(path, [OPENED, ProfileSet(profile), request, called, RunBegan("c", name)])
    ours, theirs = pty.openpty()
    hold = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print('held'); input()"
    process = subprocess.Popen([sys.executable, "-uc", hold, str(path)], stdin=theirs, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with pytest.raises(JournalError) as refused:
            Journal(path, timeout=0.0)
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)
    assert f"process {process.pid} on /dev/pts/" in str(refused.value)
    words = "and may only be showing its result: accept it there, or close it there"
    assert (words if shows_result else "; close it there first") in str(refused.value)


def test_a_lock_that_outlives_a_killed_process_by_a_moment_is_waited_for(tmp_path: Path) -> None:
    """The child of a killed process holds the lock until it becomes another program."""
    first = Journal(tmp_path / "j")
    threading.Timer(0.2, first.close).start()
    with Journal(tmp_path / "j", timeout=30.0), pytest.raises(JournalError):
        Journal(tmp_path / "j", timeout=0.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"format":"joey-journal","version":2}\n', "line 1: the journal has version 2 of the format"),
        ('{"other": 1}\n', "is not a journal of Joey's"),
        ('{"format":"joey-journal","version":1}\nnonsense\n', "line 2: not JSON"),
        ('{"format":"joey-journal","version":1}\n{"type":"mode_set"}\n', "line 2: mode_set needs a 'mode'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "j").write_text(text)
    with pytest.raises(JournalError) as error:
        list(read_journal(tmp_path / "j"))
    assert complaint in str(error.value)


def test_appending_costs_the_same_however_long_the_journal_is(tmp_path: Path) -> None:
    """Counted, not timed: what a record adds to the file."""
    written: list[int] = []
    journal = Journal(tmp_path / "j")
    for _ in range(300):
        before = os.fstat(journal._file).st_size
        journal.append(USER_MESSAGE)
        written.append(os.fstat(journal._file).st_size - before)
    assert max(written) - min(written) <= 4  # the clock may take a few digits less


def test_replay_tells_what_was_begun_and_what_was_answered() -> None:
    state = replay(RECORDS[:5])
    assert [call.id for call in state.unanswered] == ["c1", "c2"]
    assert state.calls.begun == {"c1": "f"}
    assert state.calls.results["c1"].text == "ok"
    answers = MessageAdded(Message("user", (ToolResultBlock("c1", ()), ToolResultBlock("c2", ()))))
    answered = replay([*RECORDS[:5], answers])
    assert answered.unanswered == () and answered.messages[-1] == answers.message


def test_replay_adds_up_usage_and_keeps_the_newest_of_the_rest() -> None:
    state = replay([*RECORDS, TurnEnded(Usage(10, 0, 0, 0), 0.25)])
    assert state.spending.usage == Usage(11, 2, 3, 4)
    assert state.spending.last_usage.total == 10
    assert state.spending.cost == 0.75
    assert (state.mode, state.shortening.hidden, state.shortening.summary) == ("ask", 2, "they talked")
    assert state.calls.children == {"c2": ChildOpened("t2", "c2")}
    assert state.calls.counts == {"f": [1, 0]}
    assert state.ended == TaskEnded("completed", "done")


def test_a_task_that_goes_on_is_open_again() -> None:
    assert replay([*RECORDS, USER_MESSAGE]).ended is None


def test_the_store_lists_finds_and_deletes(tmp_path: Path) -> None:
    store = TaskStore(tmp_path)
    write(store.journal_path("abc1"), RECORDS)
    write(store.journal_path("abd2"), RECORDS[:2])
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "journal.jsonl").write_text("nonsense\n")
    assert {entry.task_id: entry.status for entry in store.entries()} == {
        "abc1": "completed",
        "abd2": "open",
        "bad": "unreadable",
    }
    assert store.find("abc").text == "do it"
    with pytest.raises(UsageError, match="beginning of 2 tasks"):
        store.find("ab")
    with pytest.raises(UsageError, match=r"no task 'zz'"):
        store.find("zz")
    store.delete("abc1")
    assert [entry.task_id for entry in store.entries() if not entry.problem] == ["abd2"]
