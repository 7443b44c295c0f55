"""List slash commands: Markdown files with a prompt.

`/NAME ARGUMENTS` in a message inserts the file's text, with `$ARGUMENTS` and `$1` to `$9` replaced. They are read from
`.joey/commands` and `.roo/commands` of the project and from `commands` in ~/.config/joey; see
docs/guides/commands-and-skills.md. `joey commands NAME` shows one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from joey.app.tools import library_flaws
from joey.errors import UsageError
from joey.prompts import Library
from joey.system.folders import user_folder


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="slash command to show")


def run(args: argparse.Namespace) -> int:
    library = Library(Path.cwd(), user_folder())
    commands = library.commands()
    if args.name:
        command = commands.get(args.name.lstrip("/"))
        if command is None:
            raise UsageError(f"unknown slash command {args.name!r}; available commands: {', '.join(commands)}")
        print(command.body)
        return 0
    for command in commands.values():
        mode = f" (in {command.mode} mode)" if command.mode else ""
        usage = f"/{command.name} {command.argument_hint}".rstrip()
        print(f"{usage:<32}  {command.origin:<8}  {command.description}{mode}".rstrip())
    flaws = library_flaws(library, skills=False)
    print(*flaws, sep="\n", end="\n" if flaws else "", file=sys.stderr)
    return 1 if flaws else 0
