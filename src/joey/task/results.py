"""Results as they enter the conversation: nothing passes for our marks, and images are as the model takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from joey.frames import neutral
from joey.images.sizing import resize_images
from joey.messages import ImageBlock, ResultBlock, TextBlock, ToolResult, ToolResultBlock
from joey.task.config import Model

B = TypeVar("B")


def from_outside(result: ToolResult) -> ToolResult:
    """The result of a tool, whose words may be anybody's: none of them passes for a mark of ours (joey.frames)."""
    if not any(isinstance(block, TextBlock) and "<" in block.text for block in result.content):
        return result
    return replace(result, content=tuple(_neutral_block(block) for block in result.content))


def _neutral_block(block: ResultBlock) -> ResultBlock:
    return TextBlock(neutral(block.text)) if isinstance(block, TextBlock) else block


async def resized(blocks: Sequence[B], model: Model) -> list[B | ImageBlock | TextBlock]:
    """The blocks with every image as the model takes it. All that enters the conversation passes here."""
    if not any(isinstance(block, ImageBlock) for block in blocks):
        return [*blocks]
    limits = model.provider.abilities(model.name).image_limits
    return [*await asyncio.to_thread(resize_images, blocks, limits)]


def block_of(call_id: str, result: ToolResult) -> ToolResultBlock:
    return ToolResultBlock(call_id, result.content, result.is_error)
