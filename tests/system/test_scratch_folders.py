"""Folders of processes that were killed are swept; those in use, of others, or just made are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joey.system.temporaries import ScratchFolder

PREFIX = "joey-test-"


def aged(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    (path / "file").write_text("x")
    os.utime(path, (1_000, 1_000))
    return path


def test_what_a_killed_process_left_goes_when_the_next_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    used = ScratchFolder.make(PREFIX)
    aged(used.path)
    left, other = aged(tmp_path / f"{PREFIX}left"), aged(tmp_path / "other")
    new = tmp_path / f"{PREFIX}new"
    new.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    mine = ScratchFolder.make(PREFIX)
    assert not left.exists()
    assert (used.path / "file").exists() and (other / "file").exists() and new.exists()
    for folder in (used, mine, used):
        folder.close()
    assert not used.path.exists() and not mine.path.exists()
