"""`/` commands: what the user asks of the terminal itself. Each returns what to say about it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from joey.errors import JoeyError
from joey.terminal.status import Status, cache_line, short_number, tokens_line

if TYPE_CHECKING:
    from joey.terminal.interactive import Interactive

_TASKS_SHOWN = 15


def run_command(app: Interactive, line: str) -> str:
    """Carry out a `/` command; what comes back is shown. What cannot be done is said, never raised."""
    name, _, rest = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        return f"There is no /{name}." + (f" Did you mean /{near[0]}?" if near else " /help lists the commands.")
    try:
        return command[1](app, rest.strip())
    except JoeyError as error:
        return str(error)


def _mode(app: Interactive, slug: str) -> str:
    modes = dict(app.workshop.modes())
    if not slug:
        return "\n".join(["Modes (/mode NAME changes it):", *(f"  {each:<14} {name}" for each, name in modes.items())])
    if slug not in modes:
        return f"There is no mode {slug!r}; there are: {', '.join(modes)}."
    if app.busy:
        return "A task is running; interrupt it with Esc, then change the mode."
    app.choose(mode=slug)
    return f"Now in {slug} mode."


def _model(app: Interactive, name: str) -> str:
    if not name:
        return f"The model is {app.status.model or 'the usual one'}. /model PROVIDER/MODEL changes it."
    if app.busy:
        return "A task is running; interrupt it with Esc, then change the model."
    app.choose(model=name)
    return f"The model is now {name}."


def _new(app: Interactive, _rest: str) -> str:
    if app.busy:
        return "A task is running; interrupt it with Esc first."
    app.begin_anew()
    return "What you say next begins a new task."


def _tasks(app: Interactive, _rest: str) -> str:
    tasks = app.workshop.tasks()[:_TASKS_SHOWN]
    lines = [f"  {task.task_id}  {task.status:<10} {' '.join(task.text.split())[:60]}" for task in tasks]
    return "\n".join(["Tasks (/resume ID goes on with one):", *lines]) if lines else "There are no tasks yet."


def _resume(app: Interactive, start: str) -> str:
    if app.busy:
        return "A task is running; interrupt it with Esc first."
    return app.take_up(start or "last")


def _cost(app: Interactive, _rest: str) -> str:
    return cost_lines(app.status)


def cost_lines(status: Status) -> str:
    """What the task took so far."""
    usage = status.usage
    price = f"${status.cost:.4f}" if status.cost is not None else "unknown: no price is known for this model"
    window = f" of {short_number(status.window)}" if status.window else ""
    return "\n".join(
        [
            f"Tokens:  {tokens_line(usage) or 'none yet'}  {cache_line(usage)}".rstrip(),
            f"Context: {short_number(status.last.total)}{window}",
            f"Cost:    {price}",
        ]
    )


def _tools(app: Interactive, _rest: str) -> str:
    mode = app.status.mode
    tools = app.tools_of_task() or app.workshop.tools(mode)
    return "\n".join([f"Tools in {mode} mode:", *(f"  {name:<22} {what}" for name, what in tools)])


def _mcp(app: Interactive, _rest: str) -> str:
    servers = [f"  {name:<22} {target}" for name, target in app.workshop.servers()]
    return "\n".join(["MCP servers:", *servers]) if servers else "No MCP servers are set up; `joey mcp add` adds one."


def _undo(app: Interactive, rest: str) -> str:
    if app.busy:
        return "A task is running; interrupt it with Esc first."
    if app.choices.resume is None:
        return "There is no task whose changes could be undone."
    return app.workshop.undo(app.choices.resume, do=rest == "now")


def _theme(app: Interactive, which: str) -> str:
    if which not in ("dark", "light"):
        return "Say /theme dark or /theme light."
    app.theme = f"textual-{which}"
    return ""


def _help(_app: Interactive, _rest: str) -> str:
    commands = [f"  /{name:<8} {what}" for name, (what, _) in COMMANDS.items()]
    return "\n".join([*commands, "", KEYS])


def _quit(app: Interactive, _rest: str) -> str:
    app.leave()
    return ""


KEYS = """\
  Enter     send; while Joey works, what you say waits for its next step
  Ctrl+J    a new line (also Shift+Enter, or a backslash before Enter)
  Up, Down  what you said before
  Tab       complete a /command or an @file; go to the next part of the screen
  Esc       interrupt Joey (Ctrl+C too; with something marked, it copies)
  Ctrl+O    show everything in full, or fold it again (a click does it for one)
  PageUp, PageDown  scroll
  Ctrl+Q    quit; the task can be resumed"""

Command = Callable[["Interactive", str], str]
COMMANDS: dict[str, tuple[str, Command]] = {
    "mode": ("the modes, or change to one", _mode),
    "model": ("the model, or change to another", _model),
    "new": ("begin a new task", _new),
    "tasks": ("the tasks there have been", _tasks),
    "resume": ("go on with one of them", _resume),
    "cost": ("tokens, cache and money", _cost),
    "tools": ("what the model can use in this mode", _tools),
    "mcp": ("the MCP servers that are set up", _mcp),
    "undo": ("what undoing the last change of files would do; /undo now does it", _undo),
    "theme": ("dark or light", _theme),
    "help": ("commands and keys", _help),
    "quit": ("leave; the task can be resumed", _quit),
}


def command_names() -> list[str]:
    return [f"/{name}" for name in COMMANDS]
