"""What a small model is told of its workspace, and of the turns that it no longer sees.

It is not asked for a summary: it would take minutes, and what it wrote would not be true. It gets a list of its calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from joey.messages import Message, ToolResultBlock, ToolUseBlock
from joey.system.filenames import quoted
from joey.task.user_words import shown_words, user_entries
from joey.tools.base import ToolContext
from joey.tools.searching.listing import list_folder
from joey.tools.shell.jobs import earlier_commands

_MAX_ENTRIES = 40
_MAX_CALL, _MAX_CALLS = 80, 30


def brief_details(context: ToolContext) -> str:
    """With the task: the files there are, and commands that still run from before an interruption. Of an empty folder
    nothing is said: such a line was copied into the first file."""
    listing = list_folder(context.workspace, recursive=True, limit=_MAX_ENTRIES, hidden=context.ignored, seconds=2.0)
    files = [entry for entry in listing.entries if not entry.endswith("/")]
    more = " and more" if listing.cut else ""
    first = [f"Files in this folder: {', '.join(map(quoted, files))}{more}"] if files else []
    return "\n".join([*first, *(f"Command: {each}" for each in earlier_commands(context))])


def calls_in(messages: Sequence[Message]) -> str:
    """The calls that were made, a line each, and which of them failed; and what the user wrote between them. Ids are
    unique in a turn only."""
    lines: list[str] = []
    words = {entry.place: shown_words(entry, _MAX_CALL) for entry in user_entries(messages)}
    for place, (message, answer) in enumerate(zip(messages, [*messages[1:], None], strict=True)):
        lines += [f"- the user wrote: {words[place]}"] if place in words else []
        results = [block for block in answer.content if isinstance(block, ToolResultBlock)] if answer else []
        failed = {result.tool_use_id for result in results if result.is_error}
        for call in message.content:
            if isinstance(call, ToolUseBlock):
                what = next((value for value in call.arguments.values() if isinstance(value, str)), "")
                lines.append(f"- {call.name} {what.strip()[:_MAX_CALL]}{' (failed)' * (call.id in failed)}")
    return "\n".join(lines[-_MAX_CALLS:])
