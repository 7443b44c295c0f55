"""Tasks of Roo Code and Cline, read from their folders.

A folder has `api_conversation_history.json`, the messages in Anthropic's shape, and beside it some of
`history_item.json`, `ui_messages.json` and `task_metadata.json`, which differ between versions; only the first is
needed. Calls with ids make a native task, calls without (tool_use blocks or tags in the text) one that goes on in XML.
Messages that were compacted or cut away stay hidden, as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats.json import read_json
from joey.errors import UsageError
from joey.journal.records import MessageAdded, Record, TaskOpened
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

_MAX_BYTES = 32 * 1024 * 1024
_TASK_WITHIN = 10_000
HISTORY = "api_conversation_history.json"
_TASK = re.compile(r"<(task|user_message|feedback)>\s*(.*?)\s*</\1>", re.DOTALL)
_TOOL_TAG = re.compile(
    r"<(read_file|write_to_file|apply_diff|replace_in_file|execute_command|search_files|list_files|attempt_completion"
    r"|ask_followup_question|switch_mode|new_task|use_mcp_tool|browser_action)>"
)


def read_foreign_task(folder: Path, task_id: str, workspace: Path, model: str) -> list[Record]:
    """The records of a Joey task that goes on where this one stopped."""
    rows = _read(folder / HISTORY)
    if not isinstance(rows, list):
        raise UsageError(f"{folder / HISTORY} must hold a JSON array of messages")
    messages = [message for row in _visible(rows) if (message := _message(row)) is not None]
    if not messages:
        raise UsageError(f"{folder / HISTORY} has no messages in it")
    item = _optional(folder / "history_item.json")
    where = item.get("workspace") or item.get("cwdOnTaskInitialization")
    opened = TaskOpened(
        task_id,
        str(item.get("task") or _first_words(messages)),
        str(where) if where and Path(str(where)).is_dir() else str(workspace),
        str(item.get("mode") or "code"),
        model,
        protocol_of(messages),
    )
    return [opened, *map(MessageAdded, messages)]


def protocol_of(messages: Iterable[Message]) -> str:
    """How these messages call tools."""
    for message in messages:
        for block in message.content if message.role == "assistant" else ():
            if isinstance(block, ToolUseBlock):
                return "native" if block.id else "xml"
            if isinstance(block, TextBlock) and _TOOL_TAG.search(block.text):
                return "xml"
    return "native"


def _visible(rows: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Without the messages that a summary or a cut hides, as long as that summary or mark is there."""
    kept = [row for row in rows if isinstance(row, Mapping)]
    marks = {row.get(key) for row in kept for key in ("condenseId", "truncationId") if row.get(key)}
    for row in kept:
        hidden_by = {row.get("condenseParent"), row.get("truncationParent")} - {None}
        if not hidden_by & marks or row.get("isSummary"):
            yield row


def _message(row: Mapping[str, Any]) -> Message | None:
    role, content = row.get("role"), row.get("content")
    if role not in ("user", "assistant"):
        return None
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for part in parts or () if isinstance(part, Mapping) and (block := _block(part)) is not None]
    return Message(role, tuple(blocks)) if blocks else None


def _block(part: Mapping[str, Any]) -> Block | None:
    match part.get("type"):
        case "text" if part.get("text"):
            return TextBlock(str(part["text"]))
        case "image":
            return _image(part)
        case "thinking":
            return ReasoningBlock(str(part.get("thinking", "")), part.get("signature"))
        case "tool_use":
            arguments = part.get("input")
            return ToolUseBlock(str(part.get("id") or ""), str(part.get("name", "")), dict(arguments or {}))
        case "tool_result":
            return ToolResultBlock(
                str(part.get("tool_use_id", "")), _result(part.get("content")), bool(part.get("is_error"))
            )
        case _:
            return None


def _result(content: Any) -> tuple[ResultBlock, ...]:
    if isinstance(content, str):
        return (TextBlock(content),)
    found: list[ResultBlock] = []
    for part in content or ():
        block = _block(part) if isinstance(part, Mapping) else None
        if isinstance(block, (TextBlock, ImageBlock)):
            found.append(block)
    return tuple(found)


def _image(part: Mapping[str, Any]) -> ImageBlock | None:
    source = part.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "base64":
        return None
    return ImageBlock(str(source.get("media_type", "image/png")), str(source.get("data", "")))


def _first_words(messages: list[Message]) -> str:
    text = next((block.text for block in messages[0].content if isinstance(block, TextBlock)), "an imported task")
    wrapped = _TASK.search(text[:_TASK_WITHIN])
    return wrapped[2] if wrapped else text


def _read(path: Path) -> Any:
    try:
        return read_json(read_regular_text(path, _MAX_BYTES))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def _optional(path: Path) -> Mapping[str, Any]:
    data = _read(path) if path.is_file() else {}
    return data if isinstance(data, Mapping) else {}
