"""The words with which a model's messages begin and end, broken where they stand in what somebody wrote.

A model that is run here gets one text, made from the conversation by its template, and in that text `<|im_end|>` is
the end of a message whether the template wrote it or a file that was read. So each such word in the conversation gets a
backslash behind its first character, and one that has some gets one more. Which words there are is written in the
model's own file; none is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest


def without_words(request: ModelRequest, words: Sequence[str]) -> ModelRequest:
    """The request with these words broken, in every text of it."""
    if not words:
        return request
    pattern = _pattern(tuple(words))

    def broken(text: str) -> str:
        return pattern.sub(lambda found: f"{found[0]}\\", text)

    messages = tuple(_rewritten(message, broken) for message in request.messages)
    return replace(request, system=broken(request.system), messages=messages)


@lru_cache(maxsize=8)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"{re.escape(word[0])}(?=\\*{re.escape(word[1:])})" for word in words))


def _rewritten(message: Message, rewrite: Callable[[str], str]) -> Message:
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
