from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.providers.encoding.memo import GrowingMemo, Memo, Remembered


def test_each_object_is_made_once() -> None:
    made: list[list[int]] = []

    def number(key: list[int]) -> int:
        made.append(key)
        return len(made)

    memo = Memo(number)
    one: list[int] = []
    other: list[int] = []
    assert [memo(one), memo(other), memo(one)] == [1, 2, 1]


def test_several_objects_are_told_apart_together() -> None:
    one, other = ["a"], ["b"]
    memo = Memo(lambda left, right: [*left, *right])
    assert memo(one, other) is memo(one, other)
    assert memo(other, one) == ["b", "a"]


def test_what_no_request_uses_any_more_is_let_go() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    memo = Memo(make, rounds=2)
    memo("gone")
    for _ in range(6):
        memo.next_round()
        assert memo("kept") == "KEPT"
    assert len(memo) == 1 and made == ["gone", "kept"]


def test_two_conversations_in_turn_are_both_remembered() -> None:
    made: list[str] = []
    memo = Memo(made.append, rounds=2)
    for _ in range(10):
        for key in ("one", "other"):
            memo.next_round()
            memo(key)
    assert made == ["one", "other"]


def test_of_a_list_that_grows_only_the_new_items_are_made() -> None:
    made: list[tuple[str, int]] = []

    def make(items: Sequence[str], place: int) -> str:
        made.append((items[place], place))
        return items[place].upper()

    growing, items = GrowingMemo(make), ["a1", "b1"]
    assert growing(items) == ("A1", "B1")
    items.append("c1")
    assert growing(items) == ("A1", "B1", "C1")
    assert made == [("a1", 0), ("b1", 1), ("c1", 2)]
    assert growing(items[:1]) == ("A1",)
    assert growing([items[0], "new", items[2]]) == ("A1", "NEW", "C1")
    assert made[3:] == [("new", 1), ("c1", 2)]


@pytest.mark.property
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=6), max_size=8))
def test_a_list_seen_before_changes_nothing_about_what_is_made(seen: list[list[str]]) -> None:
    growing: GrowingMemo[str, tuple[str, int]] = GrowingMemo(lambda items, place: (items[place], place))
    remembered = Remembered(str.upper)
    for items in seen:
        assert growing(items) == tuple((item, place) for place, item in enumerate(items))
        assert remembered(items) == tuple(map(str.upper, items))
