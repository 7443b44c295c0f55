"""Calls and results as plain text, for models that take no tools parameter, and for summaries of a conversation."""

from __future__ import annotations

import json
from typing import Any

from joey.frames import below_heading
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock


def call_as_text(call: ToolUseBlock) -> str:
    lines = "\n".join(f"{name}: {below_heading(_value_as_text(value))}" for name, value in call.arguments.items())
    return f"[Tool Use: {call.name}]\n{lines}"


def result_as_text(result: ToolResultBlock) -> str:
    """The words of a result; an image in it is only mentioned."""
    heading = "[Tool Result (Error)]" if result.is_error else "[Tool Result]"
    words = [block.text if isinstance(block, TextBlock) else "[Image]" for block in result.content]
    return "\n".join([heading, *map(below_heading, words)])


def without_tool_blocks(message: Message) -> Message:
    """The message with calls and results written as text. Images in results follow them."""
    if not any(isinstance(block, (ToolUseBlock, ToolResultBlock)) for block in message.content):
        return message
    return Message(message.role, tuple(plain for block in message.content for plain in _plain(block)))


def _plain(block: Block) -> tuple[Block, ...]:
    if isinstance(block, ToolUseBlock):
        return (TextBlock(call_as_text(block)),)
    if isinstance(block, ToolResultBlock):
        images = (each for each in block.content if isinstance(each, ImageBlock))
        return (TextBlock(result_as_text(block)), *images)
    return (block,)


def _value_as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
