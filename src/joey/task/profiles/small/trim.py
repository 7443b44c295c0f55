"""Texts cut to what a small window can hold."""

from __future__ import annotations

from dataclasses import replace

from joey.messages import ResultBlock, TextBlock, ToolResult

_GAP = "\n[… {count} characters are left out here; search_files finds what is in them …]\n"


def trimmed(text: str, limit: int) -> str:
    """The text, or two thirds of the room from its beginning and the rest from its end."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return text[:head] + _GAP.format(count=len(text) - limit) + text[len(text) - tail :]


def trimmed_result(result: ToolResult, limit: int) -> ToolResult:
    """The result with its texts cut; what is shown to the user stays whole."""
    if len(result.text) <= limit:
        return result
    return replace(result, content=tuple(_trimmed_block(block, limit) for block in result.content))


def _trimmed_block(block: ResultBlock, limit: int) -> ResultBlock:
    return TextBlock(trimmed(block.text, limit)) if isinstance(block, TextBlock) else block
