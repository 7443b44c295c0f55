"""List hooks: commands that run at points of a task.

They are set in ~/.config/joey/config.toml ([[hooks.PreToolUse]] …), and in .joey/config.toml and .claude/settings.json
of a trusted project; see docs/guides/hooks.md. Those of a project run only after you have seen them here and accepted
them with `--accept`, or in the question that a task begins with.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from joey.app.hooks import accept_hooks, hooks_of, list_hooks
from joey.app.sources import Sources


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--accept", action="store_true", help="let the hooks of this project run from now on")


def run(args: argparse.Namespace) -> int:
    sources = Sources.of(Path.cwd())
    config = sources.config()
    if args.accept:
        for hook in accept_hooks(config, sources):
            print(f"accepted: {hook}")
        return 0
    lines = list_hooks(config, sources)
    print(*lines, sep="\n", end="\n" if lines else "")
    if not lines:
        print("no hooks; see docs/guides/hooks.md", file=sys.stderr)
    return 1 if hooks_of(config, sources).flaws else 0
