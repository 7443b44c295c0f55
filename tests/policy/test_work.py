"""How much is done to judge a path or a line, counted and not timed: what the model writes cannot make it much."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from joey.actions import MentionPaths
from joey.policy import Settings, Workspace
from joey.policy.judge import judge
from joey.policy.paths import MAX_DEPTH, MAX_PATH
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine

STARS = "*a*b*c*d*e*f*g*h*i*j*k*l"
RULES = Settings(reads="allow", writes="allow", allow=("cat", "python", "cd", "git", "grep"))


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of C included."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".joeyignore").write_text(f"{STARS}\n**/{STARS}\n*.pem\n")
    (tmp_path / "key.pem").write_text("")
    return tmp_path


def judged(line: str, root: Path) -> Verdict:
    return combine(judge_line(line, RULES, Workspace.of(root), str(root)))


LONG = ["a/" * 20_000 + "x", "a" * 40_000, "../" * 13_000 + "x", "a\\" * 20_000, "abcdefghijkl/" * 3_000]


@pytest.mark.parametrize("path", LONG, ids=lambda path: path[:9])
def test_a_path_that_is_longer_than_any_can_be_is_not_matched(root: Path, path: str) -> None:
    workspace = Workspace.of(root)
    assert calls(lambda: workspace.locate(path)) < 200
    assert workspace.locate(path).problem and workspace.hides(path)
    assert not judged(f"cat '{path}'", root).allowed


@pytest.mark.parametrize("path", ["a/" * (MAX_DEPTH - 10) + "x", "ab" * (MAX_PATH // 2 - 20)], ids=["deep", "long"])
def test_a_path_of_the_greatest_length_costs_little(root: Path, path: str) -> None:
    workspace = Workspace.of(root)
    assert workspace.locate(path).problem is None
    assert calls(lambda: workspace.locate(path)) < 60_000


def test_a_deep_way_to_a_hidden_file_is_no_way_around(root: Path) -> None:
    (root / "a").mkdir()
    path = "a/../" * 150 + "key.pem"
    assert (root / path).exists()
    for line in (f"cat {path}", f"python x.py {path}", f"python x.py --file={path}"):
        assert not judged(line, root).allowed
    for text in (path, f"show {path}"):
        assert not judge([MentionPaths((text,))], RULES, Workspace.of(root)).allowed


@pytest.mark.parametrize(
    "line",
    [
        f"cat {' '.join(STARS for _ in range(600))}",
        f"python x.py {'a/b/c/d,' * 2_000}",
        f"python x.py {','.join(f'{count:x}.' for count in range(2_500))}",
        f"{'cd a; ' * 30}cat {' '.join(f'b{count}' for count in range(500))}",
        f"cat {' '.join('a/' * 150 + str(count) for count in range(50))}",
        f"cat {'a/' * 9_000}",
    ],
    ids=["stars", "one long word", "many parts", "many folders", "many deep", "one deep"],
)
def test_a_line_costs_no_more_than_so_much(root: Path, line: str) -> None:
    assert calls(lambda: judged(line, root)) < 4_000_000


def test_a_line_with_more_words_and_folders_than_are_looked_at_asks(root: Path) -> None:
    words = " ".join(f"b{count}" for count in range(500))
    assert "too many files" in judged(f"{'cd a; ' * 30}cat {words}", root).reason
    assert judged(f"cat {words}", root).allowed, "many files in one folder are no trouble"
    parts = ",".join(f"{count:x}." for count in range(2_500))
    assert "too many words" in judged(f"python {parts}", root).reason


def test_a_pattern_that_protects_is_matched_once_as_well(root: Path) -> None:
    # With a star tried in every place this takes longer than anybody waits: the test would not end.
    workspace = replace(Workspace.of(root), protected=("*a" * 30 + "*b", "secret*"))
    assert workspace.locate("a" * 3_000).protected is None
    assert workspace.locate("secret.txt").protected == "secret*"


def test_folders_that_are_deeper_than_a_path_is_judged_are_not_walked(root: Path) -> None:
    folder = root / "top"
    folder.mkdir()
    for _ in range(MAX_DEPTH + 20):
        folder /= "d"
        folder.mkdir()
    workspace = Workspace.of(root).snapshot()
    assert workspace.below(workspace.locate("top")).hidden_by
