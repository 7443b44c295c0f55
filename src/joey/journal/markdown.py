"""A task in words, for people: its title for lists and windows, and all of it as a Markdown document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from textwrap import shorten

from joey.frames import own_words, unframed
from joey.journal.replay import TaskState
from joey.messages import Block, ImageBlock, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.system.visible import one_line

MAX_TITLE = 60
_MARKS = re.compile(r"^\s*[#>*+-]+\s+|^\s+|\s+$")
_QUOTED = re.compile(r"(\*\*|[*`])(\S(?:.*?\S)?)\1")
_GREETING = re.compile(r"^(?:hi|hello|hey)\b[\s,!.]*", re.IGNORECASE)
_POLITE = re.compile(r"^(?:(?:can|could|would) you\s+)?(?:please\b[\s,]*)?", re.IGNORECASE)
_MENTION = re.compile(r"(?<!\S)@/?(?=\S)")


def task_title(text: str) -> str:
    """`Please fix @/src/a.py` is `Fix src/a.py`. What is cut off is shown by a dot-dot-dot."""
    text = own_words(text) or text
    lines = (_QUOTED.sub(r"\2", _MARKS.sub("", one_line(line))) for line in text.splitlines())
    first = next(filter(None, lines), "")
    words = _MENTION.sub("", _POLITE.sub("", _GREETING.sub("", first))) or first
    return shorten(words[:1].upper() + words[1:], MAX_TITLE, placeholder="…")


_SPEAKERS = {"user": "User", "assistant": "Joey"}


def as_markdown(state: TaskState) -> str:
    opened = state.opened
    title = " ".join(opened.text.split())[:80] if opened else "A task"
    lines = [f"# {title}", ""]
    if opened:
        lines += [f"{opened.mode} mode, {opened.model}, {opened.protocol} calls, in `{opened.workspace}`", ""]
    for message in state.messages:
        lines += [f"## {_SPEAKERS[message.role]}", ""]
        for block in message.content:
            lines += [*_block(block), ""]
    if state.ended:
        lines += [f"*{state.ended.outcome.capitalize()}.* {state.ended.message}".rstrip(), ""]
    return "\n".join(lines)


def _block(block: Block) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield text
        case ReasoningBlock(text):
            yield from (f"> {line}" for line in text.splitlines())
        case ImageBlock(media_type):
            yield f"[an image, {media_type}]"
        case ToolUseBlock(_, name, arguments):
            yield f"**{name}**"
            yield from fenced(json.dumps(arguments, indent=2, ensure_ascii=False), "json")
        case ToolResultBlock(_, content, is_error):
            yield "**Error**" if is_error else "**Result**"
            for part in content:
                yield from (
                    fenced(unframed(part.text)) if isinstance(part, TextBlock) else [f"[an image, {part.media_type}]"]
                )


def fenced(text: str, language: str = "") -> Iterator[str]:
    """The text in a code fence that is longer than any fence in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{fence}{language}"
    yield text
    yield fence
