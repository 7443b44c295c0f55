"""The interactive terminal: type a task, watch it run, approve each step, and accept the result or ask for more.

Everything is saved: Ctrl+Q quits, and `joey --resume last` resumes. Inside, /help lists commands and keys.

Where there is no terminal that can show a whole screen (TERM=dumb, a pipe, a file), or with --plain, it reads and
writes lines. From a pipe, one line is read for each request; after its end nobody can answer, and what needs approval
is denied, as with `joey run`.

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
from collections.abc import Mapping
from pathlib import Path

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.cli.flags import add_setting_flags, add_workspace_flag, settings_in


def configure(parser: argparse.ArgumentParser) -> None:
    add_workspace_flag(parser)
    add_setting_flags(parser, "interactive")
    parser.add_argument("--resume", metavar="ID", help="resume a task; `last` is the newest of this folder")
    parser.add_argument("--plain", action="store_true", help="plain lines, also on a terminal")


def run(args: argparse.Namespace) -> int:
    options = TaskOptions((args.workspace or Path.cwd()).absolute(), settings_in(args))
    services = Services(options)
    choices = services.first_choices(args.resume)
    if args.plain or not full_terminal():
        from joey.terminal.plain.app import Plain

        return asyncio.run(Plain(services, choices, sys.stdout).run(sys.stdin.fileno()))
    from joey.terminal.screen.app import Interactive

    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)  # where they are exported, the size they say would hold when the window changes
    Interactive(services, choices).run()
    return 0


def full_terminal(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a terminal on both sides that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and environment.get("TERM", "dumb") not in ("dumb", "unknown", "")
