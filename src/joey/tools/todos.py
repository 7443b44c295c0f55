"""Todo lists as models write them: a Markdown checklist, one item a line.

    [ ] pending    [x] or [X] completed    [-] or [~] in progress    with or without a leading "- "

Lines that are no checklist items are skipped; `unread_lines` names them, so that nothing vanishes unnoticed.
An item's id is made from its words and from how many times the same words came before it in the list: ticking an item
off does not give it a new id, and two items with the same words have two ids.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from joey.effects import Todo, TodoStatus

# A line's own white space and that around the mark is free, but the brackets hold exactly one mark.
_ITEM = re.compile(r"(?:-\s*)?\[\s*([ xX\-~])\s*\]\s+(.+)")
_STATUS: dict[str, TodoStatus] = {"x": "completed", "-": "in_progress", "~": "in_progress", " ": "pending"}
_MARKS: dict[TodoStatus, str] = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}


def parse_checklist(text: str) -> tuple[Todo, ...]:
    """The items of a Markdown checklist."""
    seen: Counter[str] = Counter()
    todos: list[Todo] = []
    for line in text.splitlines():
        item = _ITEM.fullmatch(line.strip())
        if item is None:
            continue
        content = item[2].strip()
        todos.append(Todo(_id(content, seen[content]), content, _STATUS[item[1].lower()]))
        seen[content] += 1
    return tuple(todos)


def unread_lines(text: str) -> tuple[str, ...]:
    """The lines that say something and are no checklist items."""
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not _ITEM.fullmatch(line.strip()))


def render_checklist(todos: Sequence[Todo]) -> str:
    return "\n".join(f"{_MARKS[todo.status]} {todo.content}" for todo in todos)


def open_todos(todos: Sequence[Todo]) -> tuple[Todo, ...]:
    return tuple(todo for todo in todos if todo.status != "completed")


def _id(content: str, nth: int) -> str:
    return hashlib.sha256(f"{nth}:{content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
