"""`# words` adds a line to AGENTS.md, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.app.notes_for_later import note_in, plan_note
from joey.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("# always use tabs", "always use tabs"),
        ("#use tabs", "use tabs"),
        ("## A title", None),
        ("# A title\nand more", None),
        ("#12 is broken", None),
        ("#", None),
        ("#!/bin/sh", None),
        ("say # something", None),
    ],
)
def test_a_message_that_begins_with_one_hash_is_a_note(typed: str, words: str | None) -> None:
    assert note_in(typed) == words


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "- use tabs\n"),
        ("", "- use tabs\n"),
        ("# Rules\n", "# Rules\n\n- use tabs\n"),
        ("# Rules\n\n- one", "# Rules\n\n- one\n- use tabs\n"),
        ("Words.\r\n", "Words.\r\n\r\n- use tabs\r\n"),
    ],
)
def test_the_line_is_an_item_at_the_end(tmp_path: Path, before: str | None, after: str) -> None:
    file = tmp_path / "AGENTS.md"
    if before is not None:
        file.write_bytes(before.encode())
    plan = plan_note(tmp_path, "use tabs")
    assert "+- use tabs" in plan.diff
    assert file.exists() == (before is not None), "nothing is written before it was approved"
    plan.write()
    assert file.read_bytes().decode() == after


def test_the_file_that_is_there_is_used_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "AGENT.md").write_text("- one\n")
    (tmp_path / "AGENT.md").chmod(0o600)
    plan_note(tmp_path, "- two").write()
    assert (tmp_path / "AGENT.md").read_text() == "- one\n- two\n"
    assert (tmp_path / "AGENT.md").stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    plan = plan_note(tmp_path, "x")
    (tmp_path / "AGENTS.md").write_text("somebody else's")
    with pytest.raises(UsageError, match="changed meanwhile"):
        plan.write()
    assert (tmp_path / "AGENTS.md").read_text() == "somebody else's"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "profile"
    project.mkdir()
    outside.write_text("")
    (project / "AGENTS.md").symlink_to(outside)
    with pytest.raises(UsageError, match="leads out of this folder"):
        plan_note(project, "x")
    assert outside.read_text() == ""


@pytest.mark.parametrize("words", ["the key is sk-ant-0123456789abcdef", "x" * 1001])
def test_keys_and_endless_lines_are_not_added(tmp_path: Path, words: str) -> None:
    with pytest.raises(UsageError):
        plan_note(tmp_path, words)


def test_what_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        plan_note(tmp_path, "x")
