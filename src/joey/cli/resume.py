"""Go on with a task that was interrupted, cancelled or finished.

At a terminal you are asked line by line: leave for what a tool would do, the model's questions, whether you accept the
result. What you type in between is a message for the model. Without a terminal, or with --json, it goes as with
`joey run --resume`: what needs leave is allowed by --approve, --allow and --deny, and otherwise denied.

The ID may be shortened, `last` (also when it is left out) is the newest; `joey tasks` lists them. The task keeps its
folder, its mode and its protocol. The exit codes are those of `joey run`.

examples:
  joey resume
  joey resume 20260115-0932 "also add a test" --approve edits
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from joey.app.tasks import TaskOptions, open_task
from joey.cli.run import configure_model, configure_run, options_from, run_without_a_user, seconds_for
from joey.terminal.conversation import Conversation, converse
from joey.terminal.headless import EXIT_CODES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", default="last", metavar="ID", help="which task; `last` when left out")
    parser.add_argument("words", nargs="?", default="", metavar="WORDS", help="what to tell the model first")
    configure_model(parser)
    configure_run(parser)
    parser.set_defaults(protocol=None, mode=None, workspace=None)


def run(args: argparse.Namespace) -> int:
    attended = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not args.json
    options = options_from(args, resume=args.id, headless=not attended)
    if attended:
        return asyncio.run(_converse(options, args.words))
    return run_without_a_user(options, args.words, as_json=args.json)


async def _converse(options: TaskOptions, words: str) -> int:
    conversation = Conversation(sys.stdout)
    async with open_task(options, words, conversation.watch) as task:
        finished = await converse(task, conversation, sys.stdin.fileno(), seconds=seconds_for(task, options))
    return EXIT_CODES[finished.outcome]
