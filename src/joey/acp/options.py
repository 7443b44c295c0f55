"""What the user is offered in an editor: permissions, forms, modes and options, as the schema wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joey.acp.updates import line
from joey.commands import Answer
from joey.events import ApprovalRequested, QuestionRequested
from joey.permissions import Scope

if TYPE_CHECKING:
    from joey.acp.session import Session

PROFILE_NAMES = {
    "ask": "Ask before changes and commands",
    "strict": "Ask before reading, too",
    "edits": "Change files without asking",
    "auto": "Work alone, in the sandbox",
    "read-only": "Only read",
    "plan": "Plan first",
    "all": "Never ask",
}
ONCE = (
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
)
_DEFAULT = "default"
_SCOPES: tuple[Scope, ...] = ("task", "project")


def permissions(event: ApprovalRequested) -> list[dict[str, str]]:
    """The answers to a request, each saying for how long and for what it holds."""
    found = [ONCE[0]]
    if event.always:
        allowed = "; ".join(event.always)
        for scope in _SCOPES:
            words = line(f"Don't ask again for {allowed}, in this {scope}")
            found.append({"optionId": f"allow_{scope}", "name": words, "kind": "allow_always"})
    return [*found, ONCE[1]]


def answer(event: ApprovalRequested, option: Any) -> Answer:
    scope = next((each for each in _SCOPES if event.always and option == f"allow_{each}"), None)
    if scope is not None:
        return Answer(event.request_id, yes=True, always=True, scope=scope)
    return Answer(event.request_id, yes=option == "allow_once")


def plan_answers(profiles: Sequence[str]) -> list[dict[str, str]]:
    """To carry out a plan with one of these profiles, or to go on planning."""
    found = [
        {"optionId": each, "name": f"Carry it out: {PROFILE_NAMES[each].lower()}", "kind": "allow_once"}
        for each in profiles
    ]
    return [*found, {"optionId": "no", "name": "Keep planning", "kind": "reject_once"}]


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


def continue_form(reason: str) -> dict[str, Any]:
    """Whether to go on, and with what guidance."""
    words = {"type": "string", "title": "Guidance for the model"}
    schema = {"type": "object", "properties": {"answer": words}}
    return {"mode": "form", "message": f"{reason}\n\nContinue?", "requestedSchema": schema}


def accepts(result: Any) -> bool:
    return isinstance(result, Mapping) and result.get("action") == "accept"


def form_answer(result: Any) -> str | None:
    """What the user answered; None if they did not."""
    if not accepts(result):
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
    models = dict.fromkeys([session.model, *services.models()])
    return [
        _select("mode", "Mode", "mode", session.mode, dict(services.modes())),
        _select("model", "Model", "model", session.model, {each: each for each in models}),
        *_effort(session),
        _select("approvals", "Approvals", None, session.profile, PROFILE_NAMES),
    ]


def _effort(session: Session) -> list[dict[str, Any]]:
    """How much the model may think, if it can be set."""
    names = {each: each.capitalize() for each in session.services.efforts(session.model)}
    if not names:
        return []
    current = session.effort or session.services.effort(session.model) or _DEFAULT
    others = {} if current in names else {current: current.capitalize()}
    return [_select("effort", "Thinking", "thought_level", current, {**others, **names})]


def _select(name: str, title: str, category: str | None, current: str, values: Mapping[str, str]) -> dict[str, Any]:
    listed = [{"value": value, "name": words} for value, words in values.items()]
    option = {"id": name, "name": title, "type": "select", "currentValue": current, "options": listed}
    return {**option, "category": category} if category else option
