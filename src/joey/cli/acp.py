"""Joey in an editor: an agent of the Agent Client Protocol, on standard input and output.

Editors start this command themselves: `joey acp` is what their settings want (see docs/guides/editors.md). Sessions are
tasks: `joey tasks` lists them, and a session of the editor is resumed with `joey resume`, or the other way round.

examples:
  joey acp
  joey acp --model anthropic/claude-sonnet-5-5 --approve edits
"""

from __future__ import annotations

import argparse

from joey.acp.serve import serve
from joey.cli.flags import add_setting_flags, settings_in


def configure(parser: argparse.ArgumentParser) -> None:
    add_setting_flags(parser, "acp")


def run(args: argparse.Namespace) -> int:
    return serve(settings_in(args))
