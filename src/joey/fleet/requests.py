"""What a task wants of a person, as text, and what the person writes back.

A request is kept as the JSON of its event. Its words come from a model, so they are made safe for a terminal.
"""

from __future__ import annotations

import json
import re
from typing import Any

from joey.errors import UsageError
from joey.system.visible import visible

_YES_OR_NO = re.compile(r"(yes|no|y|n)(?:[\s,.:;-]+(.*))?", re.IGNORECASE | re.DOTALL)


def is_question(request: str) -> bool:
    """Whether words are wanted; otherwise it is an approval."""
    return bool(json.loads(request).get("type") == "question_requested")


def request_text(request: str) -> str:
    """A request in a few lines."""
    data: dict[str, Any] = json.loads(request)
    if is_question(request):
        suggestions = "".join(f"\n  - {each['text']}" for each in data.get("suggestions", ()))
        return visible(f"{data['question']}{suggestions}")
    arguments = data.get("arguments")
    shown = arguments.get("command") if isinstance(arguments, dict) else None
    return visible(f"{data.get('name')}: {shown or json.dumps(arguments)}\n  ({data.get('reason')})")


def parsed_answer(request: str, words: str) -> dict[str, Any]:
    """The answer as the task needs it. Raises UsageError."""
    if is_question(request):
        return {"yes": True, "text": words}
    found = _YES_OR_NO.fullmatch(words.strip())
    if found is None:
        raise UsageError('this is an approval: answer yes or no, perhaps with words after it, such as "no, use rg"')
    return {"yes": found[1].lower().startswith("y"), "text": found[2] or ""}
