"""What the user is offered in an editor: permissions, forms, modes and options, as the schema wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from joey.commands import Answer
from joey.events import ApprovalRequested, QuestionRequested
from joey.policy.settings import PROFILES

if TYPE_CHECKING:
    from joey.acp.session import Session

_MAX_TITLE = 80
_PROFILES = {
    "ask": "Ask before changes and commands",
    "edits": "Change files without asking",
    "read-only": "Only read",
    "auto": "Work alone, in the sandbox",
    "all": "Never ask",
}


def permissions(event: ApprovalRequested) -> list[dict[str, str]]:
    """The answers to a request, each saying for how long and for what it holds."""
    found = [{"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"}]
    if event.always:
        allowed = ", ".join(event.always)
        found += [{"optionId": "allow_always", "name": f"Allow {allowed} in this task", "kind": "allow_always"}]
    return [*found, {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"}]


def answer(event: ApprovalRequested, option: Any) -> Answer:
    always = option == "allow_always" and bool(event.always)
    return Answer(event.request_id, yes=always or option == "allow_once", always=always)


def form(event: QuestionRequested) -> dict[str, Any]:
    """A question as a form: the suggestions to choose from, and room for other words."""
    suggestions = [each.text for each in event.suggestions]
    properties: dict[str, Any] = {}
    if suggestions:
        properties["choice"] = {"type": "string", "title": "Suggestions", "enum": suggestions}
    properties["answer"] = {"type": "string", "title": "Your own answer" if suggestions else "Answer"}
    required = {} if suggestions else {"required": ["answer"]}
    schema = {"type": "object", "properties": properties, **required}
    return {"mode": "form", "message": event.question, "requestedSchema": schema}


def form_answer(result: Any) -> str | None:
    """What the user answered; None if they did not."""
    if not isinstance(result, Mapping) or result.get("action") != "accept":
        return None
    content = result.get("content")
    given = content if isinstance(content, Mapping) else {}
    words = [value.strip() for name in ("answer", "choice") if isinstance(value := given.get(name), str)]
    return next(filter(None, words), None)


def modes(session: Session) -> dict[str, Any]:
    available = [{"id": slug, "name": name} for slug, name in session.services.modes()]
    return {"currentModeId": session.mode, "availableModes": available}


def config_options(session: Session) -> list[dict[str, Any]]:
    """All of them, always: editors replace what they had."""
    services = session.services
    profiles = {each: _PROFILES.get(each, each) for each in PROFILES}
    models = dict.fromkeys([session.model, *services.models()])
    return [
        _select("mode", "Mode", "mode", session.mode, dict(services.modes())),
        _select("model", "Model", "model", session.model, {each: each for each in models}),
        _select("approvals", "Approvals", None, session.profile, profiles),
    ]


def _select(name: str, title: str, category: str | None, current: str, values: Mapping[str, str]) -> dict[str, Any]:
    listed = [{"value": value, "name": words} for value, words in values.items()]
    option = {"id": name, "name": title, "type": "select", "currentValue": current, "options": listed}
    return {**option, "category": category} if category else option


def title(text: str) -> str:
    """A short name for a task: the first line of what was wanted."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "New task")
    return line if len(line) <= _MAX_TITLE else f"{line[: _MAX_TITLE - 1].rstrip()}…"
