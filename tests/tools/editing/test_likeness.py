from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.editing.likeness import best_distances, closest_lines, distance, likeness
from joey.tools.editing.matching import places

TEXT = st.text(alphabet="ab\nc é🎉", max_size=90)


def by_the_book(ours: str, theirs: str) -> int:
    """Levenshtein's table, a cell at a time."""
    above = list(range(len(theirs) + 1))
    for row, ours_here in enumerate(ours, 1):
        here = [row]
        for column, theirs_here in enumerate(theirs, 1):
            swap = above[column - 1] + (ours_here != theirs_here)
            here.append(min(above[column] + 1, here[-1] + 1, swap))
        above = here
    return above[-1]


def common_by_the_book(ours: str, theirs: str) -> float:
    above = [0] * (len(theirs) + 1)
    for ours_here in ours:
        here = [0]
        for column, theirs_here in enumerate(theirs, 1):
            here.append(above[column - 1] + 1 if ours_here == theirs_here else max(above[column], here[-1]))
        above = here
    return 2 * above[-1] / (len(ours) + len(theirs)) if ours or theirs else 1.0


def test_distances_known_by_heart() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("", "abc") == distance("abc", "") == 3
    assert distance("flaw", "lawn") == 2
    assert likeness("", "") == 1.0
    assert likeness("abcd", "abxd") == 0.75


def test_texts_longer_than_a_machine_word_are_no_other_case() -> None:
    long = "the quick brown fox jumps over the lazy dog " * 30
    assert distance(long, long.replace("lazy", "crazy", 7)) == 14
    assert distance("x" + long + "y", "a" + long[:500] + long[501:] + "b") == 3


def test_of_lines_equally_alike_the_first_comes_first() -> None:
    assert closest_lines("abc", ["abd", "xyz", "abe", "abc"], 3) == [3, 0, 2]
    assert closest_lines("abc", ["", "abc"], 5) == [1, 0]


@pytest.mark.property
@given(TEXT, TEXT, TEXT)
def test_the_distance_is_that_of_the_whole_table(ours: str, theirs: str, shared: str) -> None:
    assert distance(ours, theirs) == by_the_book(ours, theirs)
    assert distance(shared + ours, shared + theirs) == by_the_book(ours, theirs), "what both begin with costs nothing"


@pytest.mark.property
@given(st.text(alphabet="ab\nc", max_size=8), st.lists(st.text(alphabet="abc", max_size=5), max_size=5))
def test_the_best_distance_is_the_least_over_all_stretches_that_end_there(wanted: str, lines: list[str]) -> None:
    ends = [len("\n".join(lines[: count + 1])) for count in range(len(lines))]
    text = "\n".join(lines)
    for end, least in zip(ends, best_distances(wanted, lines), strict=True):
        assert least == min(by_the_book(wanted, ("\n" + text)[start : end + 1]) for start in range(end + 2))


@pytest.mark.property
@given(TEXT, st.lists(st.text(alphabet="ab c", max_size=12), max_size=12), st.integers(1, 6))
def test_the_closest_lines_are_those_a_full_sort_would_choose(wanted: str, lines: list[str], limit: int) -> None:
    shares = [(-common_by_the_book(wanted, line), at) for at, line in enumerate(lines)]
    assert closest_lines(wanted, lines, limit) == [at for _share, at in sorted(shares)[:limit]]


@pytest.mark.property
@given(
    st.lists(st.text(alphabet="ab", max_size=4), min_size=1, max_size=12),
    st.lists(st.text(alphabet="ab", max_size=4), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.5, 0.75, 0.9]),
)
def test_alike_places_are_the_best_that_do_not_overlap(lines: list[str], wanted: list[str], degree: float) -> None:
    stage, found = places(lines, wanted, fuzzy=degree)
    if stage.name != "FUZZY":
        return
    target = "\n".join(wanted)
    windows = {at: "\n".join(lines[at : at + len(wanted)]) for at in range(len(lines) - len(wanted) + 1)}
    scores = {at: likeness(target, window) for at, window in windows.items()}
    chosen: list[int] = []
    for at in sorted(scores, key=lambda at: (-scores[at], at)):
        if scores[at] >= degree and all(abs(at - other) >= len(wanted) for other in chosen):
            chosen.append(at)
    assert found == sorted(chosen)
