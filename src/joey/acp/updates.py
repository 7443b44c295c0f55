"""The shapes of what an editor is sent about a session: plain data, as the schema wants it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from joey.effects import Todo
from joey.messages import ImageBlock, Shown, ShownDiff, ShownImage, ToolResult
from joey.system.visible import visible
from joey.tools.shell.colours import without_colours

Update: TypeAlias = dict[str, Any]
Content: TypeAlias = dict[str, Any]

MAX_TEXT = 48_000
"""How many characters of a result are sent: its beginning and its end. The whole stands in the journal."""
MAX_INPUT = 4_000
"""How many characters of one argument are sent as raw input. A file that is written is sent as a diff."""


def text(words: str) -> Content:
    """Words of anybody, as an editor may draw them: some are drawn in a terminal."""
    return {"type": "text", "text": visible(words)}


def line(words: str) -> str:
    """Words in one line that hides nothing: where a line ends, there is a sign."""
    return visible(words.strip().replace("\r\n", "\n").replace("\n", " ⏎ ").replace("\t", " "))


def image(block: ImageBlock | ShownImage) -> Content:
    return {"type": "image", "mimeType": block.media_type, "data": block.data}


def block(content: Content) -> Content:
    """A content block as the content of a tool call."""
    return {"type": "content", "content": content}


def message(kind: str, content: Content, message_id: str) -> Update:
    return {"sessionUpdate": kind, "content": content, "messageId": message_id}


def plan(todos: Sequence[Todo]) -> Update:
    entries = [{"content": todo.content, "priority": "medium", "status": todo.status} for todo in todos]
    return {"sessionUpdate": "plan", "entries": entries}


def fenced(output: str) -> str:
    """Output as a code block, whatever is in it: otherwise `#` would be a heading and `*` emphasis."""
    run = max(map(len, re.findall(r"`+", output)), default=0)
    fence = "`" * max(3, run + 1)
    return f"{fence}\n{output.rstrip()}\n{fence}"


def shortened(words: str, limit: int = MAX_TEXT) -> str:
    if len(words) <= limit:
        return words
    left_out = f"{len(words) - limit:,} characters left out"
    return f"{words[: limit // 2]}\n… {left_out} …\n{words[-limit // 2 :]}"


def raw_input(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, long texts shortened."""
    return {name: _short(value) for name, value in arguments.items()}


def raw_output(result: ToolResult) -> dict[str, Any]:
    """What the model reads of a call, shortened, and how its command ended."""
    ended = {"exitCode": result.exit.code} if result.exit else {}
    return {"text": shortened(result.text, MAX_INPUT), **ended}


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value, MAX_INPUT)
    if isinstance(value, Mapping):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    return value


def shown_content(shown: Iterable[Shown], folder: str) -> list[Content]:
    """What a call would do, or did: a diff for each file, words, images."""
    return [_shown(each, folder) for each in shown]


def _shown(shown: Shown, folder: str) -> Content:
    if isinstance(shown, ShownDiff):
        return diff(shown, folder)
    if isinstance(shown, ShownImage):
        return block(image(shown))
    return block(text(fenced(shortened(without_colours(shown.text)))))


def diff(shown: ShownDiff, folder: str) -> Content:
    """The two sides of a unified diff. Without the old one, editors take the file for a new one."""
    old, new, created = sides(shown.diff)
    path = {"type": "diff", "path": absolute(shown.path, folder)}
    if not old and not new:
        return block(text(shown.diff.strip() or f"{shown.path} changes."))
    return {**path, "newText": new} if created else {**path, "oldText": old, "newText": new}


_RANGE = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


def sides(unified: str) -> tuple[str, str, bool]:
    """What a diff takes away and what it puts there, with the lines around, and whether the file is new."""
    old: list[str] = []
    new: list[str] = []
    on = {" ": (old, new), "-": (old,), "+": (new,)}
    last: tuple[list[str], ...] = ()
    within = False
    for row in unified.splitlines(keepends=True):
        if _RANGE.match(row):
            within = True
        elif within and row.startswith("\\"):  # no newline at the end of the row before
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        elif within:
            last = on.get(row[:1], ())
            for side in last:
                side.append(row[1:])
    return "".join(old), "".join(new), unified.startswith("--- /dev/null")


def result_content(result: ToolResult, folder: str) -> list[Content]:
    """What a call came to: what was made for the user to see, else what the model reads."""
    if result.shown and not result.is_error:
        return shown_content(result.shown, folder)
    words = result.text.strip()
    images = [block(image(each)) for each in result.content if isinstance(each, ImageBlock)]
    return [*([block(text(fenced(shortened(words))))] if words else []), *images]


def absolute(path: str, folder: str) -> str:
    return posixpath.normpath(path if path.startswith("/") else f"{folder}/{path}")
