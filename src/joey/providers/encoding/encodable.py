"""Text that can be sent: halves of surrogate pairs, which no encoding has, are replaced.

They come from models that write such an escape, from servers, and from names of files that are no text. A request that
holds one could not be written to the wire at all, and neither could any later one of the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock

_HALF = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text, with a replacement character for each half of a pair; the same object where there is none."""
    return text if text.isascii() or not _HALF.search(text) else _HALF.sub("\ufffd", text)


def encodable_message(message: Message) -> Message:
    """The message; the same object where nothing had to be replaced."""
    return rewritten(message, encodable)


def rewritten(message: Message, rewrite: Callable[[str], str]) -> Message:
    """The message with each of its texts rewritten; the same object where none changed."""
    content = tuple(_block(block, rewrite) for block in message.content)
    same = all(one is other for one, other in zip(content, message.content, strict=True))
    return message if same else replace(message, content=content)


def _block(block: Block, rewrite: Callable[[str], str]) -> Block:
    match block:
        case TextBlock(text) | ReasoningBlock(text):
            return block if (clean := rewrite(text)) == text else replace(block, text=clean)
        case ToolUseBlock(_, _, arguments):
            return block if (clean := _value(arguments, rewrite)) == arguments else replace(block, arguments=clean)
        case ToolResultBlock(_, parts):
            results: Any = tuple(_block(part, rewrite) for part in parts)
            return block if results == parts else replace(block, content=results)
        case ImageBlock():
            return block


def _value(value: Any, rewrite: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, dict):
        return {rewrite(key): _value(item, rewrite) for key, item in value.items()}
    return [_value(item, rewrite) for item in value] if isinstance(value, list) else value
