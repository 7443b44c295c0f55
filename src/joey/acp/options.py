"""What the user is offered in an editor: permissions, forms, modes and options, as the schema wants them.

After a slash it offers commands. Joey's own are carried out here; those of the user, the project and
the MCP servers go to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from joey.acp.prompt import EditorPrompt
from joey.acp.updates import line
from joey.app.checkpoints import How, Step
from joey.app.notes_for_later import note_in
from joey.app.services import Services
from joey.commands import Answer
from joey.errors import JoeyError
from joey.events import ApprovalRequested, QuestionRequested
from joey.mcp.prompts import ServerPrompts
from joey.mcp.servers import McpServers

if TYPE_CHECKING:
    from joey.acp.session import EditorSession

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


def permissions(event: ApprovalRequested) -> list[dict[str, str]]:
    """The answers to a request, each saying for how long and for what it holds."""
    found = [ONCE[0]]
    if event.always:
        allowed = "; ".join(event.always)
        for scope in event.scopes:
            where = scope if "project" in event.scopes else "subtask"
            words = line(f"Don't ask again for {allowed}, in this {where}")
            found.append({"optionId": f"allow_{scope}", "name": words, "kind": "allow_always"})
    return [*found, ONCE[1]]


def answer(event: ApprovalRequested, option: Any) -> Answer:
    scope = next((each for each in event.scopes if event.always and option == f"allow_{each}"), None)
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


def modes(session: EditorSession) -> dict[str, Any]:
    available = [{"id": slug, "name": name} for slug, name in session.services.modes()]
    return {"currentModeId": session.mode, "availableModes": available}


def config_options(session: EditorSession) -> list[dict[str, Any]]:
    """All of them, always: editors replace what they had."""
    services = session.services
    models = dict.fromkeys([session.model, *services.models()])
    return [
        _select("mode", "Mode", "mode", session.mode, dict(services.modes())),
        _select("model", "Model", "model", session.model, {each: each for each in models}),
        *_effort(session),
        _select("approvals", "Approvals", None, session.profile, PROFILE_NAMES),
    ]


def _effort(session: EditorSession) -> list[dict[str, Any]]:
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


if TYPE_CHECKING:
    from joey.acp.session import EditorSession

Command: TypeAlias = dict[str, Any]
"""A command as the schema wants it."""
OWN_COMMANDS = {
    "compact": "Summarize the old part of the conversation",
    "undo": "Restore the files as they were before the last turn that changed some",
    "redo": "Take the last /undo back",
    "permissions": "List what you are not asked about again; `/permissions revoke 1` asks again",
    "plan": "Plan first: nothing is changed until you accept a plan",
}
_HINTS = {"permissions": "revoke 1", "undo": "anyway", "redo": "anyway"}


def commands_of(services: Services, servers: McpServers | None) -> list[Command]:
    """Everything that can be typed after a slash. What is Joey's own is carried out as that, whoever has the name."""
    offered = {**services.commands(), **OWN_COMMANDS}
    first = {name: offered.pop(name) for name in OWN_COMMANDS}
    hints = {**services.command_hints(), **_HINTS}
    prompts = ServerPrompts(servers).offered() if servers else {}
    return [
        *(_command(name, about, hints.get(name, "")) for name, about in (first | offered).items()),
        *(_command(name, each.description, " ".join(each.arguments)) for name, each in prompts.items()),
    ]


def _command(name: str, about: str, hint: str) -> Command:
    return {"name": name, "description": about or name, **({"input": {"hint": hint}} if hint else {})}


async def own_command(session: EditorSession, prompt: EditorPrompt) -> str | None:
    """Carry out a command, or add a line to AGENTS.md, and say what came of it; None if the text is neither."""
    text, words = prompt.text, note_in(prompt.text)
    if words is not None and not prompt.images and not session.waits_for_answer:
        return await _note(session, words)
    name, _, rest = text.removeprefix("/").partition(" ")
    if not text.startswith("/") or name not in OWN_COMMANDS:
        return None
    try:
        match name:
            case "compact":
                return await session.compact()
            case "undo" | "redo":
                return await _step(session, name, "anyway" if rest.strip() == "anyway" else "now")
            case "permissions":
                return _permissions(session, rest.split())
            case _:
                session.choose("approvals", "plan")
                return "From now on, nothing is changed until you accept a plan. Say what to plan."
    except JoeyError as error:
        return str(error)


async def _note(session: EditorSession, words: str) -> str:
    try:
        return await session.services.add_note(words, session.confirm_note)
    except JoeyError as error:
        return str(error)


async def _step(session: EditorSession, step: Step, how: How) -> str:
    if session.task_id is None:
        return "There is nothing to take back yet."
    if not await session.pause():
        return f"Joey is still working; cancel that first, then send /{step}."
    return session.services.step_files(session.task_id, step, how)


def _permissions(session: EditorSession, words: list[str]) -> str:
    granted = session.services.permissions(session.task_id)
    match words:
        case ["revoke", number] if number.isdecimal() and 0 < int(number) <= len(granted):
            chosen = granted[int(number) - 1]
            session.revoke(chosen)
            return f"You are asked again about {chosen.permission.words}."
        case ["revoke", *_]:
            return "Say which one: `/permissions` lists them with their numbers."
    lines = [f"{number}. {each.permission.words} (this {each.scope})" for number, each in enumerate(granted, 1)]
    return "\n".join(["You are not asked again about:", *lines]) if lines else "You are asked about everything."
