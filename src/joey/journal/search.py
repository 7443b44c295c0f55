"""Finding a task by what stands in it."""

from __future__ import annotations

import re

from joey.journal.markdown import as_markdown
from joey.journal.store import TaskEntry

_OURS = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
"""What Joey added to a message, such as the list of the folder: every task there would contain the name of a file."""


def mentions(entry: TaskEntry, text: str) -> bool:
    """Whether a task contains this text; letter case does not count."""
    if not text:
        return True
    return entry.state is not None and text.lower() in _OURS.sub("", as_markdown(entry.state)).lower()
