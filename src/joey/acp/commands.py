"""What an editor offers after a slash. Joey's own commands are carried out here; those of the user, the project and
the MCP servers go to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from joey.acp.prompt import Prompt
from joey.app.checkpoints import How, Step
from joey.app.notes_for_later import note_in
from joey.app.services import Services
from joey.errors import JoeyError
from joey.mcp.prompts import ServerPrompts
from joey.mcp.servers import McpServers

if TYPE_CHECKING:
    from joey.acp.session import Session

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


async def own_command(session: Session, prompt: Prompt) -> str | None:
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


async def _note(session: Session, words: str) -> str:
    try:
        return await session.services.add_note(words, session.confirm_note)
    except JoeyError as error:
        return str(error)


async def _step(session: Session, step: Step, how: How) -> str:
    if session.task_id is None:
        return "There is nothing to take back yet."
    if not await session.pause():
        return f"Joey is still working; cancel that first, then send /{step}."
    return session.services.step_files(session.task_id, step, how)


def _permissions(session: Session, words: list[str]) -> str:
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
