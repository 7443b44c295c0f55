"""A disk that fills up in the middle of a write: whatever is appended later stands whole, on a line of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from disk_kit import files_end_at
from joey.checkpoints import CheckpointStore
from joey.journal.journal import Journal, JournalError, read_journal
from joey.journal.records import ModeSet
from joey.system.user_files import append_lines
from joey.task.log import write_down
from joey.terminal.session import InputHistory
from joey.tools.shell.output import PREVIEW, CommandOutput


def test_a_record_that_finds_no_room_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(ModeSet("one"))
        with files_end_at(path.stat().st_size + 9), pytest.raises(JournalError, match="cannot write"):
            journal.append(ModeSet("two"))
        journal.append(ModeSet("three"))
    assert [*read_journal(path)] == [ModeSet("one"), ModeSet("three")]


def test_a_journal_that_cannot_even_begin_says_so_and_can_be_begun_later(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with files_end_at(9), pytest.raises(JournalError, match="cannot write"):
        Journal(path)
    assert path.stat().st_size == 0
    with Journal(path) as journal:
        journal.append(ModeSet("one"))
    assert [*read_journal(path)] == [ModeSet("one")]


def test_half_a_line_that_could_not_be_cut_off_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\nhal")
    file = os.open(path, os.O_RDWR | os.O_APPEND)
    append_lines(file, b"two\n")
    os.close(file)
    assert path.read_bytes() == b"one\nhal\ntwo\n"


def typed(folder: Path) -> Callable[[str], object]:
    return InputHistory(folder / "said.jsonl", Path("/w")).add


def logged(folder: Path) -> Callable[[str], object]:
    return lambda text: write_down(ValueError(text), folder)


def checkpointed(folder: Path) -> Callable[[str], object]:
    store = CheckpointStore(folder, folder)
    return lambda label: store.take(label, touched=["nothing"])


@pytest.mark.parametrize(
    ("appender", "name"),
    [(typed, "said.jsonl"), (logged, "errors.log"), (checkpointed, "checkpoints.jsonl")],
    ids=["typed lines", "errors", "checkpoints"],
)
def test_nothing_half_stays_in_any_file_that_grows(
    tmp_path: Path, appender: Callable[[Path], Callable[[str], object]], name: str
) -> None:
    add, path = appender(tmp_path), tmp_path / name
    add("one")
    before = path.read_bytes()
    with files_end_at(len(before) + 9):
        try:
            add("two")
        except OSError:
            assert name == "checkpoints.jsonl", "only whoever needs it for going back hears of it"
    assert path.read_bytes() == before
    add("three")
    assert path.read_bytes().startswith(before) and b"three" in path.read_bytes()
    if name.endswith("jsonl"):
        assert [json.loads(line) for line in path.read_text().splitlines()]


def test_output_of_a_command_that_finds_no_room_ends_with_whole_text_and_says_so(tmp_path: Path) -> None:
    output = CommandOutput(tmp_path, keep_from_start=True)
    lines = b"".join(b"line %d\n" % number for number in range(10_000))
    output.feed(lines[: 2 * PREVIEW])
    assert output.artifact is not None
    with files_end_at(output.artifact.stat().st_size + 5):
        output.feed(lines[2 * PREVIEW :])
    output.finish()
    assert "too large" in output.problem
    assert lines.startswith(kept := output.artifact.read_bytes()) and len(kept) > PREVIEW
    assert output.preview().endswith("line 9999\n"), "the ends in memory remain"
