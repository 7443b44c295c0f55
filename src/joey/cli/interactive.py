"""The interactive terminal: say what to do, watch it being done, give leave, and have the last word.

Everything is kept: Ctrl+Q leaves, and `joey --resume last` goes on. Inside, /help lists commands and keys.

Where there is no terminal that can show a whole screen (TERM=dumb, a pipe, a file), or with --plain, it is lines out
and lines in. From a pipe, one line is read for each thing that is asked; after its end nobody is there, and what needs
leave is denied, as with `joey run`.

examples:
  joey
  joey --model ollama/qwen3 --approve edits
  joey --resume last
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from joey.app.settings import default_model, notices, said_in, settings_in_force
from joey.app.tasks import TaskOptions, open_task, prepare_task, read_image
from joey.app.tools import look_around, tool_choices
from joey.cli.flags import add_setting_flags, add_workspace_flag, settings_in
from joey.errors import UsageError
from joey.journal.replay import TaskState
from joey.journal.store import TaskStore
from joey.mcp.config import configured_servers
from joey.messages import ImageBlock
from joey.system.folders import state_folder
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.terminal.past import Past
from joey.terminal.workshop import Choices, TaskLine
from joey.tools.searching.listing import list_folder

_MOST_FILES = 5_000


def configure(parser: argparse.ArgumentParser) -> None:
    add_workspace_flag(parser)
    add_setting_flags(parser, "interactive")
    parser.add_argument("--resume", metavar="ID", help="go on with a task; `last` is the newest")
    parser.add_argument("--plain", action="store_true", help="lines out and lines in, also on a terminal")


def run(args: argparse.Namespace) -> int:
    options = TaskOptions((args.workspace or Path.cwd()).absolute(), settings_in(args))
    if not options.workspace.is_dir():
        raise UsageError(f"{options.workspace} is not a folder")
    workshop, choices = HomeWorkshop(options), first_choices(options, args.resume)
    if args.plain or not full_terminal():
        from joey.terminal.plain import Plain

        return asyncio.run(Plain(workshop, choices, sys.stdout).run(sys.stdin.fileno()))
    from joey.terminal.interactive import Interactive

    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)  # where they are exported, the size they say would hold when the window changes
    Interactive(workshop, choices).run()
    return 0


def full_terminal(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a terminal on both sides that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and environment.get("TERM", "dumb") not in ("dumb", "unknown", "")


def first_choices(options: TaskOptions, resume: str | None) -> Choices:
    """What the terminal begins with. A task that is taken up again has a model and a mode of its own."""
    config = settings_in_force(options.workspace, options.flags)
    with said_in(config.settings["mode"]):
        mode = look_around(options.workspace).mode(config.value("mode"))
    if resume:
        return Choices(options.flags.get("mode"), options.flags.get("model"), resume)
    return Choices(mode.slug, config.value("model") or default_model())


class HomeWorkshop:
    """A Workshop of this folder and this user."""

    def __init__(self, options: TaskOptions) -> None:
        self._options = options
        self._store = TaskStore(state_folder() / "tasks")

    @property
    def folder(self) -> Path:
        return self._options.workspace

    @property
    def past(self) -> Past:
        return Past(state_folder() / "said.jsonl", self.folder)

    def open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock] = ()
    ) -> AbstractAsyncContextManager[TaskHandle]:
        options = self._options.with_flags({"mode": choices.mode, "model": choices.model})
        return open_task(prepare_task(replace(options, resume=choices.resume)), prompt, watch, images)

    def image(self, path: Path) -> ImageBlock:
        return read_image(path)

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

    def commands(self) -> Mapping[str, str]:
        library = look_around(self._options.workspace).library
        commands = {name: command.description for name, command in library.commands().items()}
        return commands | {name: skill.description for name, skill in library.skills().items()}

    def undo(self, task_id: str, *, do: bool) -> str:
        from joey.cli.checkpoints import undo

        return undo(self._store, task_id, do=do)


def workspace_files(workspace: Path) -> list[str]:
    """The files and folders there, folders with a slash at their end."""
    listing = list_folder(workspace, recursive=True, limit=_MOST_FILES, hidden=lambda _path: False, seconds=1.0)
    return listing.entries
