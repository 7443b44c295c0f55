from __future__ import annotations

from joey.providers.memo import Memo


def test_each_object_is_made_once() -> None:
    made: list[list[int]] = []

    def number(key: list[int]) -> int:
        made.append(key)
        return len(made)

    memo = Memo(number)
    one: list[int] = []
    other: list[int] = []
    assert [memo(one), memo(other), memo(one)] == [1, 2, 1]


def test_it_does_not_grow_without_end() -> None:
    calls: list[str] = []

    def make(key: str) -> str:
        calls.append(key)
        return key.upper()

    memo = Memo(make, limit=2)
    keys = ["a1", "b1", "c1"]
    assert [memo(key) for key in keys] == ["A1", "B1", "C1"]
    assert memo(keys[0]) == "A1"
    assert calls == ["a1", "b1", "c1", "a1"]
