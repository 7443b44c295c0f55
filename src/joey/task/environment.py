"""What the model is told about its workspace with its task, and, when there is something new, with each turn.

It is told of commands, too, that outlived the process that ran the task. Joey ends what it started, but not if it is
killed itself. Each command is in the journal with its process group, so
whoever resumes can look for the group. They are only reported: they may be at work on something that the user wants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from joey.effects import Todo
from joey.events import CommandLeftRunning
from joey.frames import framed
from joey.system.filenames import quoted
from joey.system.processes import ProcessGroup, still_running
from joey.task.log import TaskLog
from joey.tools.base import ToolContext, ToolMemory
from joey.tools.searching.listing import list_folder
from joey.tools.shell.jobs import EarlierCommand, Jobs, earlier_commands, finished_jobs, running_jobs
from joey.tools.todos import render_checklist

MAX_ENTRIES = 200
_SECTIONS = "project_structure|actively_running_terminals|finished_in_the_background|mode|time|todos"
_SECTION_END = re.compile(rf"(?m)(^[ \t]*)<(?=\\*/?(?:{_SECTIONS})>)")
"""A line that would begin or end a section, in what a section says."""


def first_details(context: ToolContext, now: datetime, todos: Sequence[Todo] = ()) -> str:
    """With the task: what is in the workspace, what runs, the mode and the time."""
    return _wrapped(
        _section("project_structure", project_structure(context)),
        _section("actively_running_terminals", _running(context) or "No terminals running"),
        _section("mode", context.mode),
        _section("time", now.isoformat(timespec="minutes") + f" ({now.tzname() or 'local'})"),
        _section("todos", render_checklist(todos)),
    )


def turn_details(context: ToolContext, todos: Sequence[Todo] = ()) -> str:
    """With each turn: only what is worth saying. Empty when nothing runs and there are no todos."""
    return _wrapped(
        _section("actively_running_terminals", _running(context)),
        _section("finished_in_the_background", _finished(context)),
        _section("todos", render_checklist(todos)),
    )


def project_structure(context: ToolContext) -> str:
    listing = list_folder(context.workspace, recursive=True, limit=MAX_ENTRIES, hidden=context.ignored, seconds=2.0)
    if not listing.entries:
        return f"{quoted(context.workspace.name)}/ (empty)"
    note = [f"(only {len(listing.entries)} entries are shown; list_files shows more)"] if listing.cut else []
    return "\n".join([f"{quoted(context.workspace.name)}/", *_tree(listing.entries), *note])


def _tree(entries: Sequence[str]) -> list[str]:
    """`src/`, `src/a.py` as an indented tree: names only, two spaces a level."""
    lines = []
    for entry in entries:
        path = Path(entry)
        lines.append("  " * len(path.parts) + quoted(path.name) + ("/" if entry.endswith("/") else ""))
    return lines


def _running(context: ToolContext) -> str:
    jobs = [f"{job.id}: {job.command} (running in {quoted(str(job.cwd))})" for job in running_jobs(context)]
    return "\n".join([*jobs, *map(str, earlier_commands(context))])


def _finished(context: ToolContext) -> str:
    return "\n".join(f"{job.id}: {job.command} ({job.status})" for job in finished_jobs(context))


def _section(name: str, text: str) -> str:
    return framed(name, _SECTION_END.sub(r"\1<\\", text)) if text else ""


def _wrapped(*sections: str) -> str:
    details = "\n".join(section for section in sections if section)
    return f"<environment_details>\n{details}\n</environment_details>" if details else ""


def find_earlier_commands(log: TaskLog, memory: ToolMemory) -> None:
    """Remember the commands that may still run, for the model, and report them to the user."""
    groups = {ProcessGroup(each.group, each.mark): each.command for each in log.state.calls.commands}
    running = still_running(groups)
    found = [EarlierCommand(command, group) for group, command in groups.items() if group in running]
    unknown = (call for call in log.state.unanswered if call.id in log.state.calls.starting)
    found += [EarlierCommand(str(call.arguments.get("command", ""))) for call in unknown]
    memory[Jobs].earlier = tuple(found)
    for each in found:
        log.emit(CommandLeftRunning(each.command, each.group.number if each.group else 0))
