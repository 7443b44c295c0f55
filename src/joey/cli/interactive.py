"""The interactive terminal: say what to do, watch it being done, give leave, and have the last word.

Everything is kept: Ctrl+Q leaves, and `joey --resume last` goes on. Inside, /help lists commands and keys.

examples:
  joey
  joey --model ollama/qwen3 --approve edits
  joey --resume last
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from joey.app import (
    TaskOptions,
    default_model,
    look_around,
    notices,
    open_task,
    said_in,
    settings_in_force,
    tool_choices,
)
from joey.cli.run import configure_task
from joey.errors import UsageError
from joey.folders import state_folder
from joey.journal.replay import TaskState
from joey.journal.store import TaskStore
from joey.mcp.config import configured_servers
from joey.task.parts import Watcher
from joey.task.task import Task
from joey.terminal.interactive import Interactive
from joey.terminal.workshop import Choices, TaskLine
from joey.tools.searching.listing import list_folder

_MOST_FILES = 5_000


def configure(parser: argparse.ArgumentParser) -> None:
    configure_task(parser)
    parser.add_argument("--approve", metavar="PROFILE", help="ask (default), edits, read-only, or all")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="commands that may run, as words")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="commands that never run")
    parser.add_argument("--resume", metavar="ID", help="go on with a task; `last` is the newest")


def run(args: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError('this needs a terminal; joey run "…" works without one')
    options = TaskOptions(
        model=args.model,
        base_url=args.base_url,
        protocol=args.protocol,
        mode=args.mode,
        workspace=(args.workspace or Path.cwd()).absolute(),
        approve=args.approve,
        allow=tuple(args.allow),
        deny=tuple(args.deny),
        prompt_form=args.prompt_form,
    )
    if not options.workspace.is_dir():
        raise UsageError(f"{options.workspace} is not a folder")
    Interactive(HomeWorkshop(options), first_choices(options, args.resume)).run()
    return 0


def first_choices(options: TaskOptions, resume: str | None) -> Choices:
    """What the terminal begins with. A task that is taken up again has a model and a mode of its own."""
    config = settings_in_force(options.workspace, options.flags)
    with said_in(config.settings["mode"]):
        mode = look_around(options.workspace).mode(config.value("mode"))
    if resume:
        return Choices(options.mode, options.model, resume)
    return Choices(mode.slug, config.value("model") or default_model())


class HomeWorkshop:
    """A Workshop of this folder and this user."""

    def __init__(self, options: TaskOptions) -> None:
        self._options = options
        self._store = TaskStore(state_folder() / "tasks")

    def open(self, prompt: str, choices: Choices, watch: Watcher) -> AbstractAsyncContextManager[Task]:
        options = replace(self._options, mode=choices.mode, model=choices.model, resume=choices.resume)
        return open_task(options, prompt, watch)

    def modes(self) -> Sequence[tuple[str, str]]:
        return [(mode.slug, mode.name) for mode in look_around(self._options.workspace).modes.modes]

    def tools(self, mode: str) -> Sequence[tuple[str, str]]:
        workspace = self._options.workspace
        specs = look_around(workspace).toolset(mode, tool_choices(settings_in_force(workspace))).specs
        return [(spec.name, spec.description.strip().split("\n")[0]) for spec in specs]

    def tasks(self) -> Sequence[TaskLine]:
        return [TaskLine(entry.task_id, entry.status, entry.text) for entry in self._store.entries()]

    def state(self, start: str) -> tuple[str, TaskState]:
        entry = self._store.find(start)
        if entry.state is None:
            raise UsageError(entry.problem or f"task {entry.task_id} has nothing to go on with")
        return entry.task_id, entry.state

    def servers(self) -> Sequence[tuple[str, str]]:
        loaded = configured_servers(self._options.workspace)
        return [(each.name, "switched off" if each.disabled else each.target) for each in loaded.servers]

    def notices(self) -> Sequence[str]:
        config = settings_in_force(self._options.workspace, self._options.flags)
        return [*notices(config), *configured_servers(self._options.workspace).warnings]

    def files(self) -> Sequence[str]:
        return workspace_files(self._options.workspace)

    def commands(self) -> Sequence[str]:
        library = look_around(self._options.workspace).library
        return [*library.commands(), *library.skills()]

    def undo(self, task_id: str, *, do: bool) -> str:
        from joey.cli.checkpoints import undo

        return undo(self._store, task_id, do=do)


def workspace_files(workspace: Path) -> list[str]:
    """The files and folders there, folders with a slash at their end."""
    listing = list_folder(workspace, recursive=True, limit=_MOST_FILES, hidden=lambda _path: False, seconds=1.0)
    return listing.entries
