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
_GAP = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_SPACES = re.compile(r"[^\S\n]{40,}")


def is_question(request: str) -> bool:
    """Whether words are wanted; otherwise it is an approval."""
    return bool(json.loads(request).get("type") == "question_requested")


def request_text(request: str) -> str:
    """A request in a few lines."""
    data: dict[str, Any] = json.loads(request)
    if is_question(request):
        suggestions = "".join(f"\n  - {_behind_bar(each['text'])}" for each in data.get("suggestions", ()))
        return f"{_behind_bar(data['question'])}{suggestions}"
    arguments = data.get("arguments")
    shown = arguments.get("command") if isinstance(arguments, dict) else None
    what = f"{visible(str(data.get('name')))}: {_behind_bar(shown or json.dumps(arguments))}"
    return f"{what}\n  ({_behind_bar(str(data.get('reason')))})"


def _behind_bar(words: str) -> str:
    """Words of a model, in which no line looks like one of ours, and nothing is far away from the rest."""
    closer = _GAP.sub(lambda gap: f"\n({gap[0].count(chr(10)) - 1} empty lines)\n", words)
    closer = _SPACES.sub(lambda spaces: f" ({len(spaces[0])} spaces) ", closer)
    return visible(closer).replace("\n", "\n  │ ")


def parsed_answer(request: str, words: str) -> dict[str, Any]:
    """The answer as the task needs it. Raises UsageError."""
    if is_question(request):
        return {"yes": True, "text": words}
    found = _YES_OR_NO.fullmatch(words.strip())
    if found is None:
        raise UsageError('this is an approval: answer yes or no, perhaps with words after it, such as "no, use rg"')
    return {"yes": found[1].lower().startswith("y"), "text": found[2] or ""}
