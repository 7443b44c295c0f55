from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.reading.lines import (
    MAX_LINE,
    BlockOptions,
    Span,
    TextLines,
    block_around,
    depth_of,
    effective_depths,
    number_lines,
    slice_lines,
    split_lines,
)
from vectors_data import cases

FUNCTIONS = "roo/functions"
EXCEPTIONS: dict[str, str] = {}


def described(lines: list[str], span: Span | None) -> dict[str, Any]:
    """A span as the recorded answers describe it."""
    if span is None:
        return {"includedRanges": [], "totalLines": len(lines), "returnedLines": 0, "wasTruncated": False}
    return {
        "content": number_lines(span.of(lines), span.first, max_length=MAX_LINE),
        "includedRanges": [[span.first, span.last]],
        "totalLines": len(lines),
        "returnedLines": span.last - span.first + 1,
        "wasTruncated": span.cut,
    }


@pytest.mark.parametrize("case", cases(FUNCTIONS, fn="readWithSlice"), ids=lambda case: case["test"])
def test_slices_are_those_recorded(case: Any) -> None:
    text, skipped, limit = case["args"]
    lines = text.split("\n")  # as recorded: a final newline opens one more line there, but not in read_file
    answer = described(lines, slice_lines(len(lines), skipped + 1, limit))
    assert answer.items() <= case["out"].items()


@pytest.mark.parametrize("case", cases(FUNCTIONS, fn="readWithIndentation"), ids=lambda case: case["test"])
def test_blocks_are_those_recorded(case: Any) -> None:
    text, options = case["args"]
    lines = text.split("\n")
    limit = min(options.get("limit", 2_000), options.get("maxLines") or 2_000)
    wanted = BlockOptions(
        options.get("maxLevels", 0), options.get("includeSiblings", False), options.get("includeHeader", True)
    )
    answer = described(lines, block_around(lines, options["anchorLine"], limit, wanted))
    if case["test"] in EXCEPTIONS:
        assert not answer.items() <= case["out"].items()
    else:
        assert answer.items() <= case["out"].items()


@pytest.mark.parametrize("case", cases(FUNCTIONS, fn="parseLines"), ids=lambda case: case["test"])
def test_depths_are_those_recorded(case: Any) -> None:
    lines = case["args"][0].split("\n")
    assert [depth_of(line) for line in lines] == [line["indentLevel"] for line in case["out"]]
    assert [not line.strip() for line in lines] == [line["isBlank"] for line in case["out"]]


@pytest.mark.parametrize("case", cases(FUNCTIONS, fn="computeEffectiveIndents"), ids=lambda case: case["test"])
def test_effective_depths_are_those_recorded(case: Any) -> None:
    assert effective_depths([line["content"] for line in case["args"][0]]) == case["out"]


@pytest.mark.parametrize("case", cases(FUNCTIONS, fn="formatWithLineNumbers"), ids=lambda case: case["test"])
def test_numbered_lines_are_those_recorded(case: Any) -> None:
    lines, *rest = case["args"]
    first = lines[0]["lineNumber"] if lines else 1
    contents = [line["content"] for line in lines]
    assert number_lines(contents, first, max_length=rest[0] if rest else MAX_LINE) == case["out"]


def test_a_block_grows_up_after_it_can_no_longer_grow_down() -> None:
    lines = ["import os", "", "class A:", "    x = 1", "    y = 2", "    z = 3", "B = 1", "C = 2"]
    assert block_around(lines, 6, 100, BlockOptions()) == Span(3, 7, False)
    assert block_around(lines[:6], 6, 100, BlockOptions()) == Span(3, 6, False)


def test_a_block_that_just_reaches_its_limit_is_not_called_cut() -> None:
    lines = ["def f():", "    return 1"]
    assert block_around(lines, 2, 2, BlockOptions()) == Span(1, 2, False)
    assert block_around([*lines, "", "def g():"], 2, 2, BlockOptions()) == Span(1, 2, True)


@pytest.mark.property
@given(st.text(st.sampled_from("ab\r\n\u2028")), st.integers(1, 40_000), st.slices(40))
def test_lines_cut_out_when_needed_are_those_of_the_whole_text(text: str, times: int, part: slice) -> None:
    text *= min(times, 40_000 // (len(text) + 1) + 1)
    lines, whole = TextLines(text), split_lines(text)
    assert len(lines) == len(whole)
    assert lines[part] == whole[part]
    assert lines[-3:] == whole[-3:]
    assert lines[len(whole) // 2 :] == whole[len(whole) // 2 :]
    assert [lines[at] for at in range(len(whole) - 1, 0, -(len(whole) // 5 + 1))] == whole[: 0 : -(len(whole) // 5 + 1)]


def test_a_block_far_down_in_a_text_is_the_one_found_among_all_its_lines() -> None:
    text = "def f():\n" + "    x\n\n" * 3_000 + "def g():\n    if y:\n        z\n\n\ndef h():\n    pass\n"
    for anchor in (6_002, 6_003, 6_004, 6_005, 3_000):
        for limit in (1, 2, 5, 100, 9_000):
            expected = block_around(split_lines(text), anchor, limit, BlockOptions())
            assert block_around(TextLines(text), anchor, limit, BlockOptions()) == expected
