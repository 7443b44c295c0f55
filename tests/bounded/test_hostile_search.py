"""Folders made to hang a search or to fill its memory, patterns too large to be compiled, edits of very much."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from bounds_kit import refused


def search(folder: Path, pattern: str, words: str) -> None:
    (folder / "pattern").write_text(pattern)
    (folder / "a.txt").write_text("needle\n")
    refused("search_files", folder, words)


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
def test_an_ignore_file_that_is_a_pipe_is_named(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    search(tmp_path, "needle", f"{name} in ")


def test_an_ignore_file_that_never_ends_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / ".gitignore").symlink_to("/dev/zero")
    search(tmp_path, "needle", "look at its ignore files")


def test_a_pipe_cannot_be_searched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    search(tmp_path, "needle", "there is no file or folder pipe to search")


def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "other")
    (tmp_path / "zero").symlink_to("/dev/zero")
    search(tmp_path, "need(?:le)", "needle")


@pytest.mark.parametrize("pattern", [r"(\w{1000}){1000}", r"\pL{900}.*\pL{900}"])
def test_a_pattern_that_is_too_large_is_refused(pattern: str, tmp_path: Path) -> None:
    search(tmp_path, pattern, "compiled regex exceeds size limit")


def test_patterns_of_ignore_files_that_match_in_many_ways_are_matched_at_once(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n" + "**/a*/" * 20 + "b\n")
    deep = tmp_path / "/".join(["a" * 50] * 20)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("")
    search(tmp_path, "needle", "needle")


@pytest.mark.parametrize("lines", [1_000, 5_000], ids=["compared", "too much to compare"])
def test_a_long_block_that_is_nowhere_in_a_long_file_is_not_found(lines: int, tmp_path: Path) -> None:
    draw = random.Random(1)
    (tmp_path / "file").write_text("".join(f"{draw.getrandbits(60):x}\n" for _ in range(40_000)))
    (tmp_path / "wanted").write_text("\n".join(f"{draw.getrandbits(60):x}" for _ in range(lines)))
    refused("edit", tmp_path, "NotFound()")
