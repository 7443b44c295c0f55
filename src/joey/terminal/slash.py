"""`/` commands: for the terminal itself, not for the model. Each returns the text to show.

They are the same in the whole-screen terminal and in the plain one; a `Front` is what differs between the two.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Protocol, TypeAlias

from joey.app.checkpoints import How, Step
from joey.app.model_choices import ModelChoice
from joey.app.services import TaskLine
from joey.commands import Cancel, Condense
from joey.config.keys import THEMES
from joey.errors import JoeyError
from joey.events import QuestionRequested, Request
from joey.journal.replay import TaskState
from joey.mcp.names import is_mcp_name
from joey.permissions import Granted
from joey.system.visible import one_line
from joey.terminal.context_bar import context_lines
from joey.terminal.mcp_view import mcp_command
from joey.terminal.session import Session
from joey.terminal.status import Status, cache_line, money, short_number, tokens_line
from joey.terminal.subtasks import step_lines

_TASKS_SHOWN = 15
_MODELS_SHOWN = 30
NOTHING_QUEUED = "No message is waiting for the model."
TYPE_TO_CONTINUE = "Nothing was sent: type a message to continue."
CHOOSE_TASK = "/resume"
"""The command that lets the user choose a task."""
_BUSY = "A task is running; stop it with Esc or Ctrl+C first."


class Front(Protocol):
    """Where commands are typed."""

    session: Session

    @property
    def busy(self) -> bool: ...

    def show(self, text: str) -> None:
        """Show the reply of a command that came late."""
        ...

    def show_later(self, reply: Awaitable[str]) -> object:
        """The same for one that takes a while. A JoeyError is shown, too."""
        ...

    def show_task(self, state: TaskState) -> None:
        """Show the conversation of a task that is resumed."""
        ...

    def show_permissions(self, granted: Sequence[Granted]) -> str:
        """Show what is not asked about again, and let the user take it back; returns what to show besides."""
        ...

    def choose_task(self) -> object:
        """Let the user choose a task to resume."""
        ...

    def choose_model(self) -> object:
        """Let the user choose among the models that can be used at once."""
        ...

    def compact(self) -> None:
        """Compact the conversation of the task that is not running; the outcome is shown when it is there."""
        ...

    def take_back(self) -> str:
        """Take back the last message that waits for the model, to be typed again or left; returns what to show."""
        ...

    def set_theme(self, which: str) -> str: ...

    def replies(self) -> list[str]:
        """The model's replies, the oldest first."""
        ...

    def copy_text(self, text: str) -> str: ...

    def close(self) -> object: ...


Command: TypeAlias = Callable[[Front, str], str]


def is_for_the_terminal(text: str, own: Mapping[str, str], request: Request | None = None) -> bool:
    """Whether a line is a command to this program. One that begins with a name of the user's own is a request, and
    words are the answer to a question that waits for one."""
    if text in QUITTING:
        return not isinstance(request, QuestionRequested)
    if not text.startswith("/") or text.startswith("//") or "\n" in text:
        return False
    name = text.removeprefix("/").partition(" ")[0]
    if is_mcp_name(name):
        return False  # a prompt of a server
    # /usr/bin/env is a path, and the message is for the model.
    return name in COMMANDS or (name not in own and "/" not in name)  # an alias gives way to a name of the user's


def run_command(front: Front, line: str) -> str:
    """Run a `/` command; what comes back is shown. An error is text, too, and never raised.

    A task that only waits for the user is in nobody's way: it is ended first, and the reply comes when it has. If
    commands of its own would end with it, the user has to say so twice.
    """
    name, _, rest = ("quit" if line in QUITTING else line.removeprefix("/")).partition(" ")
    command = COMMANDS.get(ALIASES.get(name, name))
    if command is None:
        return _unknown(name, front.session.services.commands())
    session, again = front.session, front.session.warned_of
    session.warned_of = ""
    try:
        reply = command[1](front, rest.strip())
    except JoeyError as error:
        words = str(error)
        return f"{words[:1].upper()}{words[1:]}"
    if reply is not _BUSY or not session.waits:
        return reply
    if session.task is not None and session.task.running_commands and again != line:
        session.warned_of = line
        commands = ", ".join(map(one_line, session.task.running_commands))
        return f"This ends what runs in the background (/jobs): {commands}. Type {line} again to do it."
    session.end_first(lambda: front.show(run_command(front, line)))
    return ""


def _unknown(name: str, own: Mapping[str, str]) -> str:
    if name in ELSEWHERE:
        return f"There is no /{name} here: {ELSEWHERE[name]}."
    known = [*COMMANDS, *own, *ALIASES]
    near = [each for each in known if name and each.startswith(name)] or difflib.get_close_matches(name, known, n=3)
    hint = f" Did you mean {' or '.join(f'/{each}' for each in near[:3])}?" if near else " /help lists the commands."
    return f"There is no /{name}.{hint}"


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, [*known], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def command_hints(own: Mapping[str, str]) -> dict[str, str]:
    """Every command, and what it does."""
    known = {name: what for name, (what, _) in COMMANDS.items()} | dict(own)
    same = {alias: f"same as /{name}" for alias, name in ALIASES.items() if alias not in known}
    return {f"/{name}": what for name, what in (known | same).items()}


def _mode(front: Front, slug: str) -> str:
    modes = dict(front.session.services.modes())
    if not slug:
        lines = (f"  {each:<14} {one_line(name)}" for each, name in modes.items())
        return "\n".join([f"The mode is {front.session.status.mode}; /mode NAME changes it:", *lines])
    if slug not in modes:
        return f"There is no mode {slug!r}.{_did_you_mean(slug, modes)} There are: {', '.join(modes)}."
    if front.busy:
        return _BUSY
    front.session.choose(mode=slug)
    return f"Switched to {slug} mode."


def _model(front: Front, name: str) -> str:
    if not name:
        front.choose_model()
        return f"The model is {front.session.status.model or 'the default'}. /model PROVIDER/MODEL changes it."
    return switch_model(front, name)


def switch_model(front: Front, name: str) -> str:
    """Use another model from now on."""
    if "/" not in name:
        return f"A model is named PROVIDER/MODEL, such as anthropic/{name}; `joey models` lists the providers."
    front.session.services.check_model(name)  # before anything is ended for a model that cannot be used
    if front.busy:
        return _BUSY
    front.session.choose(model=name)
    return f"The model is now {name}. {front.session.services.unlisted_model(name)}".rstrip()


def _new(front: Front, _rest: str) -> str:
    if front.busy:
        return _BUSY
    front.session.begin_new()
    profile = front.session.profile
    kept = f" with approvals: {profile}" if profile != front.session.services.profile() else ""
    return f"Your next message starts a new task{kept}."


def _tasks(front: Front, _rest: str) -> str:
    tasks, here = front.session.services.tasks(), front.session.services.folder
    lines = [f"  {task.task_id}  {task.status:<10} {_task_title(task, here)}" for task in tasks[:_TASKS_SHOWN]]
    more = [f"  … {len(tasks) - _TASKS_SHOWN} more: `joey tasks`"] if len(tasks) > _TASKS_SHOWN else []
    return "\n".join(["Tasks (/resume ID resumes one):", *lines, *more]) if lines else "There are no tasks yet."


def _task_title(task: TaskLine, here: Path) -> str:
    elsewhere = f"  ({one_line(str(task.folder))})" if task.folder not in (None, here) else ""
    return f"{one_line(task.title or task.text)[:60]}{elsewhere}"


def _resume(front: Front, start: str) -> str:
    """While the user chooses, a task that waits for the next message stays as it is."""
    if start:
        front.session.services.state(start)  # before anything is ended for a task that is not there
    if front.busy and (start or not front.session.waits):
        return _BUSY
    if start:
        return resume_task(front, start)
    front.choose_task()
    return ""


def resume_task(front: Front, start: str) -> str:
    """Show a task, and resume it with the next message."""
    session, before = front.session, front.session.services.folder
    with session.services.journals.read_once():
        try:
            state = session.resume(start)
        except JoeyError as error:
            return str(error)
        front.show_task(state)
        here = session.services.folder
        where = f" It works in {one_line(str(here))}, and so does this terminal now." if here != before else ""
        return f"Task {session.choices.resume}.{where}{_other_model(session, state)} {session.how_to_continue()}"


def _other_model(session: Session, state: TaskState) -> str:
    """What the user must know before the conversation goes to another model or server than the task began with."""
    own = _at(state.opened.model, state.opened.base_url) if state.opened else ""
    now = _at(session.status.model, session.choices.base_url)
    return f" It continues with {now}, as the command line says, not with {own}." if now != own else ""


def _at(model: str, address: str | None) -> str:
    return one_line(f"{model} at {address}" if address else model)


def _compact(front: Front, _rest: str) -> str:
    if front.session.task is not None:
        front.session.task.send(Condense())
        return "The conversation will be compacted before the next request."
    if front.busy:
        return _BUSY
    if front.session.choices.resume is None:
        return "There is no conversation to compact yet."
    front.compact()
    return "Compacting …"


def _context(front: Front, _rest: str) -> str:
    session = front.session
    if session.choices.resume is None and session.task is None:
        return "Nothing was sent yet; after your first message, /context shows what fills the model's window."
    if session.context is not None:
        return context_lines(session.context)
    front.show_later(_read_context(session))
    return ""


async def _read_context(session: Session) -> str:
    """What fills the window, of a task that was not worked on here."""
    return context_lines(await session.services.context(session.choices))


def _cost(front: Front, _rest: str) -> str:
    return cost_lines(front.session.counted())


def cost_lines(status: Status) -> str:
    """What the task has used so far."""
    usage = status.usage
    price = money(status.cost) if status.cost is not None else "unknown: no price is known for this model"
    window = f" of {short_number(status.window)}" if status.window else ""
    return "\n".join(
        [
            f"Tokens:  {tokens_line(usage) or 'none yet'}  {cache_line(usage)}".rstrip(),
            f"Context: {short_number(status.last.total)}{window}",
            f"Cost:    {price}",
        ]
    )


def _tools(front: Front, _rest: str) -> str:
    lines = (f"  {name:<22} {shorten(one_line(what), 52, placeholder='…')}" for name, what in front.session.tools())
    return "\n".join([f"Tools in {front.session.status.mode} mode:", *lines])


def _mcp(front: Front, rest: str) -> str:
    return mcp_command(front.session, rest, front.show)


def _hooks(front: Front, _rest: str) -> str:
    lines = [f"  {one_line(each)}" for each in front.session.services.hooks()]
    return "\n".join(["Hooks:", *lines]) if lines else "There are no hooks; `joey hooks --help` says where to set them."


def _copy(front: Front, which: str) -> str:
    if which and not (which.isdecimal() and int(which)):
        return "Type /copy, or /copy 2 for the reply before the last one."
    found, back = front.replies(), int(which or 1)
    if len(found) < back:
        return (
            f"There is no reply {back}: the number counts back, to {len(found)}." if found else "There is no reply yet."
        )
    return front.copy_text(found[-back])


def _unqueue(front: Front, _rest: str) -> str:
    return front.take_back()


def _permissions(front: Front, rest: str) -> str:
    granted = front.session.permissions()
    verb, _, number = rest.partition(" ")
    if not rest:
        return front.show_permissions(granted)
    if verb != "revoke" or not number.strip().isdecimal() or not 0 < int(number) <= len(granted):
        return "Type /permissions to list what is allowed, or /permissions revoke NUMBER."
    chosen = granted[int(number) - 1]
    front.session.revoke(chosen)
    return f"Joey asks again about {one_line(chosen.permission.words)}."


def _jobs(front: Front, rest: str) -> str:
    running = front.session.in_background
    if not running:
        return "No command of this task runs in the background."
    verb, _, number = rest.partition(" ")
    if verb == "stop" and number.strip().isdecimal() and 0 < int(number) <= len(running):
        chosen = running[int(number) - 1]
        chosen.stop()
        return f"Stopped {one_line(chosen.command)}."
    own = front.session.own_commands
    lines = (f"  {at}. {'!' if each in own else ''}{one_line(each.command)}" for at, each in enumerate(running, 1))
    return "\n".join(["Running in the background (/jobs stop NUMBER):", *lines])


def _subtasks(front: Front, rest: str) -> str:
    tree, task = front.session.subtasks, front.session.task
    verb, _, number = rest.rpartition(" ")
    chosen = tree.numbered(int(number)) if number.isdecimal() else None
    if rest and (chosen is None or verb not in ("", "stop")):
        return "Type /subtasks to list them, /subtasks NUMBER to look into one, or /subtasks stop NUMBER."
    if chosen is None:
        lines = tree.lines()
        head = "Subtasks (/subtasks NUMBER looks into one, /subtasks stop NUMBER stops it):"
        return "\n".join([head, *lines]) if lines else "This task has no subtasks yet."
    if verb != "stop":
        return "\n".join(step_lines(chosen))
    stopped = task is not None and not chosen.outcome and task.send(Cancel("stopped by the user", chosen.task_id))
    return f"Stopped {chosen.label}." if stopped else f"{chosen.label} is not running."


def list_models(found: Sequence[ModelChoice]) -> str:
    """The models that can be used at once, in lines."""
    if not found:
        return "No model can be used yet; `joey models` lists what each needs."
    lines = [f"  {one_line(each.name):<36} {one_line(each.about)}" for each in found[:_MODELS_SHOWN]]
    more = [f"  … {len(found) - _MODELS_SHOWN} more: `joey models`"] if len(found) > _MODELS_SHOWN else []
    return "\n".join(["Models that can be used at once:", *lines, *more])


def list_permissions(granted: Sequence[Granted]) -> str:
    """What is not asked about again, in lines with numbers."""
    if not granted:
        return "Nothing was allowed with an answer."
    lines = (f"  {at}. in this {each.scope}: {one_line(each.permission.words)}" for at, each in enumerate(granted, 1))
    return "\n".join(["Not asked about again (/permissions revoke NUMBER):", *lines])


def _undo(front: Front, rest: str) -> str:
    return _step_files(front, "undo", rest)


def _redo(front: Front, rest: str) -> str:
    return _step_files(front, "redo", rest)


def _step_files(front: Front, step: Step, rest: str) -> str:
    how: How = "now" if rest == "now" else "anyway" if rest == "anyway" else ""
    if front.busy and (how or not front.session.waits):
        return _BUSY
    if front.session.choices.resume is None:
        return f"There is no task to {step} changes of."
    return front.session.services.step_files(front.session.choices.resume, step, how)


def _theme(front: Front, which: str) -> str:
    known = ("auto", *THEMES)
    if which not in known:
        unknown = f"There is no theme {which!r}.{_did_you_mean(which, known)} " if which else ""
        return f"{unknown}Type /theme and one of: {', '.join(known)}."
    front.session.services.keep_setting("terminal.theme", which)
    return front.set_theme(which)


def _help(front: Front, rest: str) -> str:
    if rest == "keys":
        return KEYS
    own = front.session.services.commands()
    wide = max(map(len, (*COMMANDS, *own)))
    commands = [f"  /{name:<{wide}} {what}" for name, (what, _) in COMMANDS.items()]
    sent = [f"  /{name:<{wide}} {shorten(one_line(what), 60, placeholder='…')}" for name, what in own.items()]
    aliases = "Other names: " + ", ".join(f"/{alias} (/{name})" for alias, name in ALIASES.items())
    return "\n".join([*commands, *(["For the model:", *sent] if sent else []), aliases, _MORE_HELP])


def _quit(front: Front, _rest: str) -> str:
    front.close()
    return ""


KEYS = """\
  Enter     send; while Joey works, your message waits for its next step
  Ctrl+J    a new line (also Shift+Enter, or a backslash before Enter)
  /  @      a command, a file: any characters of the name find it
  !command  run it yourself; the model gets the output too (not of !!command)
  # words   add a line to AGENTS.md, after you have seen the change
  Up, Down  earlier messages, or the menu; Up takes back what still waits
  Ctrl+R    search earlier messages: type words; again: an older one
  Ctrl+G    write in $EDITOR
  Ctrl+V    paste an image; its path, typed or dragged here, attaches it, too
  Shift+Tab the next approval profile: ask, edits, auto, plan
  Esc       interrupt Joey
  Ctrl+C    copy what is selected, clear the input, or interrupt; twice quits
  Ctrl+F    search the conversation
  Ctrl+O    show everything in full, or fold it again (a click: one entry)
  PageUp    scroll, as PageDown and the wheel do; Ctrl+End: to the end
  Ctrl+D    quit, if nothing is typed (Ctrl+Q: always); Ctrl+Z suspends"""

COMMANDS: dict[str, tuple[str, Command]] = {
    "mode": ("list the modes, or switch to one", _mode),
    "model": ("show the model, or switch to another", _model),
    "new": ("start a new task", _new),
    "tasks": ("task history", _tasks),
    "resume": ("choose a task to resume, or name one", _resume),
    "compact": ("summarize the old part of the conversation, to make room", _compact),
    "context": ("what fills the model's window", _context),
    "unqueue": ("take back the last message that waits for the model", _unqueue),
    "cost": ("tokens, cache and cost", _cost),
    "tools": ("the tools of this mode", _tools),
    "permissions": ("list and revoke what you allowed with an answer", _permissions),
    "subtasks": ("list the subtasks, look into one, or stop it", _subtasks),
    "jobs": ("list and stop the commands that run in the background", _jobs),
    "mcp": ("the MCP servers", _mcp),
    "hooks": ("the commands that run at points of a task", _hooks),
    "undo": ("what undoing the last change would do; /undo now does it", _undo),
    "redo": ("the same for what was undone last; /redo now does it", _redo),
    "copy": ("copy the last reply; /copy 2: the one before", _copy),
    "theme": ("the colours: dark, light, nord and others", _theme),
    "help": ("the commands; /help keys: the keys", _help),
    "quit": ("quit; the task can be resumed", _quit),
}
_MORE_HELP = "@ names a file, ! runs a command of yours; /help keys lists the keys."
ALIASES = {"clear": "new", "exit": "quit", "sessions": "resume", "history": "tasks", "summarize": "compact"}
"""What the same commands are called elsewhere."""
ELSEWHERE = {
    "approvals": "Shift+Tab changes the profile, and /permissions lists what you allowed",
    "plan": "Shift+Tab goes to the plan profile",
    "profile": "Shift+Tab changes the approval profile",
    "allow": "Shift+Tab changes the approval profile, and /permissions lists what you allowed",
    "diff": "/undo shows the last change of files, and `!git diff` all of them",
    "status": "the line below the input has it, and /cost the tokens",
    "config": "`joey config` lists and sets settings",
    "login": "`joey login` stores a key",
}
"""What other programs have a command for, and what does it here."""
QUITTING = ("exit", "quit", ":q")
"""Whole messages that mean this program, and not the model."""
