"""Results as the model reads them: cut to what a small window can hold, and with nothing that passes for our marks."""

from __future__ import annotations

from dataclasses import replace

from joey.frames import neutral
from joey.messages import ResultBlock, TextBlock, ToolResult

_GAP = "\n[… {count} characters are left out here; search_files finds what is in them …]\n"


def trimmed(text: str, most: int) -> str:
    """The text, or two thirds of the room from its beginning and the rest from its end."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return text[:head] + _GAP.format(count=len(text) - most) + text[len(text) - tail :]


def trimmed_result(result: ToolResult, most: int | None) -> ToolResult:
    """The result with its texts cut; what is shown to the user stays whole."""
    if most is None or len(result.text) <= most:
        return result
    return replace(result, content=tuple(_trimmed_block(block, most) for block in result.content))


def from_outside(result: ToolResult) -> ToolResult:
    """The result of a tool, whose words may be anybody's: none of them passes for a mark of ours (joey.frames)."""
    if not any(isinstance(block, TextBlock) and "<" in block.text for block in result.content):
        return result
    return replace(result, content=tuple(_neutral_block(block) for block in result.content))


def _neutral_block(block: ResultBlock) -> ResultBlock:
    return TextBlock(neutral(block.text)) if isinstance(block, TextBlock) else block


def _trimmed_block(block: ResultBlock, most: int) -> ResultBlock:
    return TextBlock(trimmed(block.text, most)) if isinstance(block, TextBlock) else block
