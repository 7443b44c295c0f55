"""List skills: folders with a SKILL.md that a model loads when it needs them.

They are read from `.joey/skills`, `.roo/skills` and `.agents/skills` of the project and of your home folder; see
docs/guides/commands-and-skills.md. `joey skills NAME` shows one.
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
    parser.add_argument("name", nargs="?", help="skill to show")
    parser.add_argument("--mode", metavar="SLUG", help="only skills for this mode")


def run(args: argparse.Namespace) -> int:
    library = Library(Path.cwd(), user_folder())
    skills = library.skills(args.mode)
    if args.name:
        skill = skills.get(args.name)
        if skill is None:
            raise UsageError(f"unknown skill {args.name!r}; available skills: {', '.join(skills) or 'none'}")
        print(skill.body)
        return 0
    for skill in skills.values():
        modes = f" (in {', '.join(skill.modes)})" if skill.modes else ""
        print(f"{skill.name:<24}  {skill.origin:<8}  {skill.description}{modes}")
    if not skills:
        print("no skills; see docs/guides/commands-and-skills.md", file=sys.stderr)
    flaws = library_flaws(library, skills=True)
    print(*flaws, sep="\n", end="\n" if flaws else "", file=sys.stderr)
    return 1 if flaws else 0
