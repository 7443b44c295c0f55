"""The interactive terminal: type a task, watch it run, approve each step, and accept the result or ask for more.

Everything is saved: Ctrl+Q quits, `joey -c` continues the last task of the folder and `joey -r` lets you choose one.
Inside, /help lists commands and keys. `joey -p "…"` runs one task without asking questions; see `joey run --help`.

Where there is no terminal that can show a whole screen (TERM=dumb, a pipe, a file), or with --plain, it reads and
writes lines. From a pipe, one line is read for each request; after its end nobody can answer, and what needs approval
is denied, as with `joey run`.

examples:
  joey
  joey "Why does test_parse fail?"
  joey --model ollama/qwen3 --approve edits
  joey -c
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from joey.cli.flags import add_setting_flags, add_workspace_flag, add_worktree_flag, folder_in, settings_in

PICK = ""
"""The ID of a task that is still to be chosen."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", default="", help="what to do first")
    add_workspace_flag(parser)
    add_worktree_flag(parser)
    add_setting_flags(parser, "interactive")
    parser.add_argument(
        "--continue", "-c", dest="resume", action="store_const", const="last", help="continue the last task here"
    )
    parser.add_argument(
        "--resume", "-r", nargs="?", const=PICK, metavar="ID",
        help="resume a task; without ID, choose one; `last` is the newest of this folder",
    )  # fmt: skip
    parser.add_argument("--plain", action="store_true", help="plain lines, also on a terminal")


def run(args: argparse.Namespace) -> int:
    folder = folder_in(args)
    if args.plain or not full_terminal():
        code = _plain(args, folder)
    else:
        with _first_frame(args, folder) as settings:
            code = _full_screen(args, folder, settings)
    if args.worktree is not None:
        from joey.app.worktrees import left_in

        print(left_in(folder))
    return code


def _plain(args: argparse.Namespace, folder: Path) -> int:
    import asyncio

    from joey.app.services import Services
    from joey.app.tasks import TaskOptions
    from joey.terminal.plain.app import Plain

    services = Services(TaskOptions(folder, settings_in(args)))
    choices = services.first_choices(args.resume or None)
    plain = Plain(services, choices, sys.stdout, first=args.prompt or ("/tasks" if args.resume == PICK else ""))
    code = asyncio.run(plain.run(sys.stdin.fileno()))
    if plain.session.choices.resume and sys.stdin.isatty():
        print(f"Resume this task with: joey --resume {plain.session.choices.resume}")
    return code


def _full_screen(args: argparse.Namespace, folder: Path, settings: list[Any] | None) -> int:
    from joey.app.services import Services
    from joey.app.tasks import TaskOptions

    services = Services(TaskOptions(folder, settings_in(args)))
    choices = services.first_choices(args.resume or None)
    from joey.terminal.screen.app import Interactive
    from joey.terminal.slash import CHOOSE_TASK

    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)  # where they are exported, the size they say would hold when the window changes
    first = args.prompt or (CHOOSE_TASK if args.resume == PICK else "")
    app = Interactive(services, choices, first=first, terminal_settings=settings)
    app.run()
    if app.session.choices.resume:
        print(f"Resume this task with: joey --resume {app.session.choices.resume}")
    if app.failure:
        print(app.failure, file=sys.stderr)
    return 1 if app.failure else 0


def _first_frame(args: argparse.Namespace, folder: Path) -> AbstractContextManager[list[Any] | None]:
    """The frame that is there before the rest is loaded. Settings that cannot be read are reported by the rest."""
    from joey.system.place import place_of
    from joey.terminal.first_frame import first_frame
    from joey.terminal.welcome import welcome

    if not folder.is_dir():
        return nullcontext()
    place, flags = place_of(folder), settings_in(args)
    model = flags.get("model") or os.environ.get("JOEY_MODEL") or _users_model()
    return first_frame(welcome(place, model, flags.get("approvals.profile", "")), str(place), f"starting  {model}")


def _users_model() -> str:
    """The model that the user's own settings name; empty if there is none."""
    from joey.config import read_config
    from joey.errors import JoeyError
    from joey.system.folders import user_folder

    try:
        user = user_folder()
        return read_config(user, user, trusted=False, environment={}).value("model") or ""
    except JoeyError:
        return ""


def full_terminal(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a terminal on both sides that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and environment.get("TERM", "dumb") not in ("dumb", "unknown", "")
