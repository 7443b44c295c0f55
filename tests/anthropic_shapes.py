"""Messages in the shape in which the recorded answers have them, to ours and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from joey.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)


def message(data: Mapping[str, Any]) -> Message:
    content = data["content"]
    blocks: list[Block] = []
    if data.get("reasoning_details"):
        blocks.append(ReasoningBlock("", json.dumps(data["reasoning_details"])))
    raw = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks += [made for each in raw if (made := block(each)) is not None]
    return Message(data["role"], tuple(blocks))


def block(data: Mapping[str, Any]) -> Block | None:
    """The block; None if it is of a type that our conversations cannot hold."""
    if data["type"] == "tool_use":
        return ToolUseBlock(data["id"], data["name"], data["input"])
    if data["type"] == "tool_result":
        return ToolResultBlock(data["tool_use_id"], _results(data.get("content")), bool(data.get("is_error")))
    if data["type"] == "reasoning":
        return ReasoningBlock(data["text"])
    return _result(data)


def _results(content: Any) -> tuple[ResultBlock, ...]:
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    return tuple(made for each in content or () if (made := _result(each)) is not None)


def _result(data: Mapping[str, Any]) -> ResultBlock | None:
    if data["type"] == "text":
        return TextBlock(data["text"])
    if data["type"] == "image":
        return ImageBlock(data["source"]["media_type"], data["source"]["data"])
    return None
