from __future__ import annotations

from typing import Any

import pytest

from joey.tools.line_numbers import MAX_LINE, number_lines
from joey.tools.reading.lines import BlockOptions, Span, block_around, depth_of, effective_depths, slice_lines
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


def test_a_block_that_just_fits_its_limit_is_not_called_cut() -> None:
    lines = ["def f():", "    return 1"]
    assert block_around(lines, 2, 2, BlockOptions()) == Span(1, 2, False)
    assert block_around([*lines, "", "def g():"], 2, 2, BlockOptions()) == Span(1, 2, True)
