from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.reading.lines import add_line_numbers, has_line_numbers, number_lines, strip_line_numbers
from vectors_data import cases


def recorded(name: str) -> list[Any]:
    return cases("roo/names_and_lines", set=name)


@pytest.mark.parametrize("case", recorded("addLineNumbers"), ids=lambda case: case["id"])
def test_line_numbers_are_added_as_recorded(case: Any) -> None:
    assert add_line_numbers(*case["args"]) == case["expected"]


@pytest.mark.parametrize("case", recorded("everyLineHasLineNumbers"), ids=lambda case: case["id"])
def test_line_numbers_are_recognised_as_recorded(case: Any) -> None:
    assert has_line_numbers(*case["args"]) is case["expected"]


@pytest.mark.parametrize("case", recorded("stripLineNumbers"), ids=lambda case: case["id"])
def test_line_numbers_are_taken_off_as_recorded(case: Any) -> None:
    text, *rest = case["args"]
    assert strip_line_numbers(text, loosely=bool(rest and rest[0])) == case["expected"]


@pytest.mark.property
@given(st.lists(st.text(st.characters(exclude_characters="\n\r"))), st.integers(1, 10_000))
def test_what_was_numbered_can_be_stripped_again(lines: list[str], first: int) -> None:
    assert strip_line_numbers(number_lines(lines, first)) == "\n".join(lines)
