from __future__ import annotations

from typing import Any

import pytest

from anthropic_shapes import block
from joey.messages import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.encoding.plain import call_as_text, result_as_text, without_tool_blocks
from vectors_data import cases


@pytest.mark.parametrize("case", cases("roo/functions", fn="toolUseToText"), ids=lambda c: c["test"])
def test_a_call_is_written_as_text(case: Any) -> None:
    call = block(case["args"][0])
    assert isinstance(call, ToolUseBlock)
    assert call_as_text(call) == case["out"]


@pytest.mark.parametrize("case", cases("roo/functions", fn="toolResultToText"), ids=lambda c: c["test"])
def test_a_result_is_written_as_text(case: Any) -> None:
    result = block(case["args"][0])
    assert isinstance(result, ToolResultBlock)
    assert result_as_text(result) == case["out"]


@pytest.mark.parametrize("case", cases("roo/functions", fn="convertToolBlocksToText"), ids=lambda c: c["test"])
def test_tool_blocks_of_a_message_become_text(case: Any) -> None:
    given, expected = case["args"][0], case["out"]
    if isinstance(given, str):
        given, expected = [{"type": "text", "text": given}], [{"type": "text", "text": expected}]
    blocks = tuple(made for each in given if (made := block(each)) is not None)
    wanted = tuple(made for each in expected if (made := block(each)) is not None)
    assert without_tool_blocks(Message("user", blocks)).content == wanted


def test_an_image_in_a_result_is_not_lost() -> None:
    image = ImageBlock("image/png", "AA==")
    message = Message("user", (ToolResultBlock("a", (TextBlock("see"), image)),))
    assert without_tool_blocks(message).content == (TextBlock("[Tool Result]\nsee\n[Image]"), image)
