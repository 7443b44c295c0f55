"""Resume a task that was interrupted, cancelled or finished. A finished task continues with your next message.

In a terminal, Joey asks line by line: to approve what a tool would do, to answer the model's questions, to accept the
result. Anything else you type is a message to the model. Without a terminal, or with --json, this works like
`joey run --resume`: --approve, --allow and --deny decide what the task may do, and anything else is denied.

The ID may be shortened; `last`, the default, is the most recent task of this folder. `joey tasks` lists them. The task
keeps its folder, mode and protocol. The exit codes are those of `joey run`.

examples:
  joey resume
  joey resume 20260115-0932 "also add a test" --approve edits
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from joey.app.services import Choices, Services
from joey.app.tasks import TaskOptions, prepare_task
from joey.cli.flags import add_setting_flags, settings_in
from joey.cli.run import configure_headless, run_attended, run_without_a_user
from joey.terminal.plain.app import Plain


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", default="last", metavar="ID", help="task to resume (default: last)")
    parser.add_argument("message", nargs="?", default="", metavar="MESSAGE", help="message to send to the model first")
    add_setting_flags(parser, "resume")
    configure_headless(parser)


def run(args: argparse.Namespace) -> int:
    attended = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not args.json
    options = TaskOptions(flags=settings_in(args), resume=args.id, attach=tuple(args.attach), headless=not attended)
    if attended and not args.message and (finished := _finished_task(options)):
        services = Services(options)
        return asyncio.run(Plain(services, Choices(resume=finished), sys.stdout).run(sys.stdin.fileno()))
    if attended:
        return asyncio.run(run_attended(options, args.message))
    return run_without_a_user(options, args.message, as_json=args.json)


def _finished_task(options: TaskOptions) -> str | None:
    """The id of the task, if it needs a message to continue."""
    entry = prepare_task(options).entry
    return entry.task_id if entry and entry.state and entry.state.is_finished else None
