"""Every built-in tool, called in every text protocol."""

from __future__ import annotations

from typing import Any

import pytest

from joey import protocols
from joey.messages import TextBlock, ToolUseBlock
from joey.schema.example import example_call
from joey.tools.base import Tool
from joey.tools.builtin import builtin_tools

TOOLS = builtin_tools()
IN_TEXT = [name for name in protocols.names() if protocols.get(name).in_text]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("protocol", IN_TEXT)
def test_the_example_of_a_tool_reads_back(protocol: str, tool: Tool[Any]) -> None:
    arguments = example_call(tool.spec)
    block = protocols.get(protocol).encode_call(ToolUseBlock("", tool.name, arguments))
    assert isinstance(block, TextBlock)
    [call] = protocols.parse(block.text, protocol=protocol, tools=[tool.spec]).calls
    assert (call.name, call.arguments) == (tool.name, arguments)


@pytest.mark.parametrize("protocol", IN_TEXT)
def test_the_prompt_shows_the_tools_own_examples(protocol: str) -> None:
    words = protocols.get(protocol).describe([tool.spec for tool in TOOLS])
    for tool in TOOLS:
        assert str(next(iter(tool.example.values()))).split("\n")[0] in words
