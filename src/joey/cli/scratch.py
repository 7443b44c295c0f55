"""Run one task in a new, empty folder, with whichever model is available.

Made for trying Joey out. Files in the new folder may be read and changed without asking. Commands need your approval:
in a terminal you are asked about each (`a` means always); without one they are refused unless --allow names them. The
default task may run its own script. Everything else works like `joey run`.

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

from joey.app.tasks import TaskOptions
from joey.cli.flags import add_setting_flags, settings_in
from joey.cli.run import run_attended, run_without_a_user

TASK = "Write squares.py, a script that prints the squares of the numbers 1 to 5, and run it."
ITS_COMMAND = "python3 squares.py"
"""The command that the default task may run without asking."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", default="", help="what to do (default: write and run a small script)")
    add_setting_flags(parser, "scratch")


def run(args: argparse.Namespace) -> int:
    attended = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    folder = Path(tempfile.mkdtemp(prefix="joey-scratch-")).resolve()
    prompt, flags = args.prompt.strip() or TASK, settings_in(args)
    allow = flags.get("approvals.allow") or (() if attended or prompt != TASK else (ITS_COMMAND,))
    print(_opening(folder, prompt, allow, attended=attended), file=sys.stderr)
    flags |= {"approvals.profile": "edits", "approvals.allow": allow}
    options = TaskOptions(folder, flags, headless=not attended)
    if attended:
        code = asyncio.run(run_attended(options, prompt))
    else:
        code = run_without_a_user(options, prompt, as_json=False)
    print(f"The files are in {folder}", file=sys.stderr)
    return code


def _opening(folder: Path, prompt: str, allow: tuple[str, ...], *, attended: bool) -> str:
    """What is about to happen, and what may happen without a question."""
    rules = f" {', '.join(allow)} may run;" if allow else ""
    commands = "other commands" if allow else "commands"
    fate = f"you are asked about {commands}" if attended else f"{commands} are refused (--allow RULE lets them run)"
    return (
        f"Task: {prompt}\nFolder: {folder} (new and empty)\n"
        f"Approved: reading and changing files in this folder;{rules} {fate}.\n"
    )
