"""Ignore files: what they hide, and what they cannot take back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joey.errors import UsageError
from joey.policy import IgnoreRules, Workspace


def test_each_file_stands_for_itself() -> None:
    rules = IgnoreRules.read({".joeyignore": "*.key\n", ".rooignore": "!a.key\nprivate/\n"})
    assert rules.hiding("a.key") == ".joeyignore"
    assert rules.hiding("private/x") == ".rooignore"
    assert rules.hiding("src/a.py") is None


def test_a_line_can_take_back_a_file_but_not_from_an_ignored_folder() -> None:
    rules = IgnoreRules.read({".joeyignore": "*.log\n!keep.log\nprivate/\n!private/keep.log\nbuild/**\n!build/keep\n"})
    assert rules.hiding("keep.log") is None
    assert rules.hiding("deep/other.log") is not None
    assert rules.hiding("private/keep.log") is not None
    assert rules.hiding("build/keep") is None
    assert rules.hiding("build/other") is not None


def test_letter_case_does_not_count() -> None:
    rules = IgnoreRules.read({".joeyignore": "Secret.txt\n"})
    assert rules.hiding("SECRET.TXT") == ".joeyignore"


def test_a_file_that_says_something_hides_itself_and_an_empty_one_hides_nothing() -> None:
    assert IgnoreRules.read({".joeyignore": "x\n"}).hiding("sub/.joeyignore") == ".joeyignore"
    assert IgnoreRules.read({".joeyignore": " \n"}).hiding(".joeyignore") is None
    assert IgnoreRules.read({".joeyignore": "!*\n"}).hiding(".joeyignore") == ".joeyignore"
    assert IgnoreRules.read({}).hiding("anything") is None


def test_a_folder_is_hidden_itself_by_a_line_for_folders_but_not_by_one_for_what_it_holds() -> None:
    rules = IgnoreRules.read({".joeyignore": "secrets/\nbuild/**\n"})
    assert rules.hiding("secrets") is None
    assert rules.hiding("secrets", folder=True) == ".joeyignore"
    assert rules.hiding("build", folder=True) is None


@pytest.mark.parametrize("name", ["ＫＥＹ.txt", "k\u200bey.txt", "key.txt ", "key.txt.", "key.txt:x", "u\u0308.txt"])
def test_disguises_are_seen_through(name: str) -> None:
    assert IgnoreRules.read({".joeyignore": "key.txt\n\u00fc.txt\n"}).hiding(f"sub/{name}") == ".joeyignore"


def test_an_ignore_file_that_cannot_be_taken_as_a_whole_is_an_error(tmp_path: Path) -> None:
    ignore = tmp_path / ".rooignore"
    os.mkfifo(ignore)
    with pytest.raises(UsageError, match=r"\.rooignore cannot be read"):
        Workspace.of(tmp_path)
    ignore.unlink()
    ignore.write_text("x\n" * 3_000)
    with pytest.raises(UsageError, match="lines; shorten it"):
        Workspace.of(tmp_path)
    ignore.unlink()
    ignore.symlink_to("nowhere")
    assert not Workspace.of(tmp_path).ignore.specs
