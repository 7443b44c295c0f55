"""The recorded answers of Roo's apply_diff, and where Joey means to answer otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from joey.tools.editing.block_edit import apply_blocks
from joey.tools.editing.blocks import BlockError, read_blocks
from joey.tools.editing.document import Document
from vectors_data import cases

AMBIGUOUS = "several places match and no line number says which: nobody guesses"
ALL_OR_NONE = "one block fails, so none is applied"
OTHERWISE: dict[str, str] = {
    "msr-064": AMBIGUOUS,
    "msr-073": "indentation follows the file (tabs), not the diff (spaces)",
    "msr-084": "`:start_line:[1]` is understood, not taken for text of the file",
    "msr-086": "`:start_line:[1]` is understood, not taken for text of the file",
    "msr-100": ALL_OR_NONE,
    "msr-112": "the only match in the file is taken, however far from the line number",
    "msr-118": ALL_OR_NONE,
    "msr-120": "a file with mixed line ends keeps them",
    "msr-124": AMBIGUOUS,
    "msr-125": AMBIGUOUS,
    "msr-127": "an empty line in REPLACE is an empty line; deleting is an empty REPLACE",
}


def answer(original: str, diff: str, fuzzy: float) -> str | None:
    """The new content, None if nothing is changed."""
    blocks = read_blocks(diff)
    if isinstance(blocks, BlockError):
        return None
    outcome = apply_blocks(Document.read(original), blocks, fuzzy=fuzzy)
    applied = any(verdict.outcome == "applied" for verdict in outcome.verdicts)
    return outcome.document.text if applied and not outcome.failed else None


@pytest.mark.parametrize("case", cases("roo/diff_multi_search_replace"), ids=lambda case: str(case["id"]))
def test_a_diff_is_applied_as_recorded(case: Any) -> None:
    expected = case["expected"].get("content") if case["expected"]["success"] else None
    same = answer(case["original"], case["diff"], case["fuzzy_threshold"]) == expected
    assert same is (case["id"] not in OTHERWISE), OTHERWISE.get(case["id"], "")


@pytest.mark.parametrize("case", cases("roo/diff_marker_sequencing"), ids=lambda case: str(case["id"]))
def test_markers_are_accepted_and_refused_as_recorded(case: Any) -> None:
    blocks = read_blocks(case["diff"])
    kind = blocks.kind if isinstance(blocks, BlockError) else None
    assert kind == case["expected"].get("error_kind")


@pytest.mark.parametrize(
    "case",
    [case for case in cases("roo/diff_multi_search_replace") if "error_kind" in case["expected"]],
    ids=lambda case: str(case["id"]),
)
def test_a_diff_that_cannot_be_read_is_refused_for_the_recorded_reason(case: Any) -> None:
    blocks = read_blocks(case["diff"])
    assert isinstance(blocks, BlockError)
    assert blocks.kind == case["expected"]["error_kind"]
