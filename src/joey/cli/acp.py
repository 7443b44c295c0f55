"""Joey in an editor: an agent of the Agent Client Protocol, on standard input and output.

Editors start this command themselves: `joey acp` is what their settings want (see docs/guides/editors.md). Sessions are
tasks: `joey tasks` lists them, and a session of the editor is resumed with `joey resume`, or the other way round.
`joey acp login` is `joey login`, for editors that offer it.

examples:
  joey acp
  joey acp --model anthropic/claude-sonnet-5-5 --approve edits
  joey acp --check
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from joey.acp.serve import serve
from joey.cli.flags import add_setting_flags, settings_in


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("login",), help="store a key, instead of serving an editor")
    parser.add_argument("--check", action="store_true", help="start it as an editor would, and print what it would see")
    add_setting_flags(parser, "acp")


def run(args: argparse.Namespace) -> int:
    if args.action == "login":
        from joey.cli.login import login

        return login(None)
    if args.check:
        return _check()
    return serve(settings_in(args))


def _check() -> int:
    from joey.acp.check import check

    given = sys.argv[sys.argv.index("acp") + 1 :] if "acp" in sys.argv else []
    for line in check(Path.cwd(), [each for each in given if each != "--check"]):
        print(line)
    return 0
