"""Patterns of ignore files: they match what git's do, and none of them takes long."""

from __future__ import annotations

import random
import re

import pytest
from pathspec import GitIgnoreSpec

from joey.bounded.patterns import MAX_ANYWHERE, git_patterns, linear

PIECES = ["a", "b", "*", "?", "/", "[ab]", ".", "/**/", "a*b", "**/", "\\*", "b*"]


def test_random_patterns_match_what_they_matched_before() -> None:
    rnd = random.Random(14)
    for _ in range(2_000):
        line = rnd.choice(["", "!"]) + "".join(rnd.choices(PIECES, k=rnd.randint(1, 6)))
        if line.count("**") > MAX_ANYWHERE:
            continue
        lines = ["*", line] if line.startswith("!") else [line]
        try:
            before = GitIgnoreSpec.from_lines(lines)
        except ValueError:
            continue
        paths = ["/".join("".join(rnd.choices("ab.*", k=3)) for _ in range(rnd.randint(1, 3))) for _ in range(5)]
        for path in paths:
            assert git_patterns(lines).check_file(path).include == before.check_file(path).include, (line, path)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * 100 + "*b", "a" * 250),
        ("[ab]*" * 100 + "c", "a" * 250),
        ("?*" * 100 + "c", "a" * 250),
        ("**/a/" * 20 + "b", "a/" * 100 + "x"),
        ("/**/*a*" * 20 + "/b", "a/" * 100 + "x"),
        ("!" + "**/a/" * 20 + "b", "a/" * 100 + "x"),
    ],
)
def test_no_pattern_takes_long(line: str, path: str) -> None:
    # With a star tried in every place these take longer than anybody waits: the test would not end.
    git_patterns([line]).match_file(path)


def test_every_star_but_the_last_of_a_name_is_matched_once() -> None:
    assert linear("^x[^/]*a[^/]*b/[^/]*c$") == "^x(?>[^/]*?a)[^/]*b/[^/]*c$"
    assert re.fullmatch(linear("[^/]*a[^/]*[a/][^/]*c"), "xxaxxa-c")


def test_a_pattern_that_is_cut_hides_more_and_never_takes_back_more() -> None:
    assert git_patterns(["a/**/b/**/c/**/d"]).match_file("a/b/c/x")
    assert git_patterns(["*", "!a/**/b/**/c/**/d"]).match_file("a/b/c/d")


def test_lines_that_are_no_patterns_are_skipped() -> None:
    spec = git_patterns(["!", "\\", "[z-a]", "[[:alpha:]]", "a\\", "", "# x", "*.log", "x" * 2_000])
    assert spec.match_file("a.log")
    assert not spec.match_file("a.txt")
