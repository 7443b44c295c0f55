"""The title of a task: the first words of the request, cleaned, for lists and windows."""

from __future__ import annotations

import re
from textwrap import shorten

from joey.system.visible import one_line

MAX_TITLE = 60
_MARKS = re.compile(r"^\s*[#>*+-]+\s+|^\s+|\s+$")
_QUOTED = re.compile(r"(\*\*|[*`])(\S(?:.*?\S)?)\1")
_GREETING = re.compile(r"^(?:hi|hello|hey)\b[\s,!.]*", re.IGNORECASE)
_POLITE = re.compile(r"^(?:(?:can|could|would) you\s+)?(?:please\b[\s,]*)?", re.IGNORECASE)
_MENTION = re.compile(r"(?<!\S)@/?(?=\S)")


def task_title(text: str) -> str:
    """`Please fix @/src/a.py` is `Fix src/a.py`. What is cut off is shown by a dot-dot-dot."""
    lines = (_QUOTED.sub(r"\2", _MARKS.sub("", one_line(line))) for line in text.splitlines())
    first = next(filter(None, lines), "")
    words = _MENTION.sub("", _POLITE.sub("", _GREETING.sub("", first))) or first
    return shorten(words[:1].upper() + words[1:], MAX_TITLE, placeholder="…")
