"""Do one task in a new, empty folder, with whichever model is at hand, and say where the folder is.

Made for a first look. Files in that folder may be read and changed without asking: nothing of yours is in it. Commands
are another matter, for a program can do anything: at a terminal you are asked about each, where `a` means always;
without one they are refused, unless --allow names them; only the script of the task that is done when you name none
may run. Nothing else is different from `joey run`.

examples:
  joey scratch
  joey scratch "Write a script that prints the first ten primes, and run it"
  joey scratch --allow python3 --model local/coder-1.5b
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from joey.app.tasks import TaskOptions, open_task
from joey.cli.run import configure_habits, configure_model, run_without_a_user, seconds_for
from joey.terminal.conversation import Conversation, converse
from joey.terminal.headless import EXIT_CODES

TASK = "Write squares.py, a script that prints the squares of the numbers 1 to 5, and run it."
ITS_COMMAND = "python3 squares.py"
"""What that task may run where nobody can be asked."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", default="", help="what to do; a small script when left out")
    configure_model(parser)
    parser.add_argument("--protocol", "-p", metavar="NAME", help="how the model calls tools: native, xml, json_mix, …")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="commands that may run, as words")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="how long it may take, at most")
    configure_habits(parser)


def run(args: argparse.Namespace) -> int:
    attended = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    folder = Path(tempfile.mkdtemp(prefix="joey-scratch-")).resolve()
    prompt = args.prompt.strip() or TASK
    allow = args.allow or ([] if attended or prompt != TASK else [ITS_COMMAND])
    print(_opening(folder, prompt, allow, attended=attended), file=sys.stderr)
    options = TaskOptions(
        model=args.model,
        base_url=args.base_url,
        protocol=args.protocol,
        prompt_form=args.prompt_form,
        workspace=folder,
        approve="edits",
        allow=tuple(allow),
        timeout=args.timeout,
        plain_answers=args.plain_answers,
        text_calls=args.text_calls,
        tool_choice=args.tool_choice,
        grammar=args.grammar,
        headless=not attended,
    )
    code = asyncio.run(_converse(options, prompt)) if attended else run_without_a_user(options, prompt, as_json=False)
    print(f"The files are in {folder}", file=sys.stderr)
    return code


async def _converse(options: TaskOptions, prompt: str) -> int:
    conversation = Conversation(sys.stdout)
    async with open_task(options, prompt, conversation.watch) as task:
        finished = await converse(task, conversation, sys.stdin.fileno(), seconds=seconds_for(task, options))
    return EXIT_CODES[finished.outcome]


def _opening(folder: Path, prompt: str, allow: list[str], *, attended: bool) -> str:
    """What is about to happen, and what may happen without a question."""
    rules = f" {', '.join(allow)} may run;" if allow else ""
    commands = "other commands" if allow else "commands"
    fate = f"you are asked about {commands}" if attended else f"{commands} are refused (--allow RULE lets them run)"
    return (
        f"Task: {prompt}\nFolder: {folder} (new and empty)\n"
        f"Leave: files in this folder may be read and changed;{rules} {fate}.\n"
    )
