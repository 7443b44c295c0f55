"""List the modes: what each is for, what it may do, and where it is defined.

A mode is a role and the groups of tools it may use. Modes are read from, in order of precedence:
  .roomodes and .joey/modes/*.{yaml,json,toml}           the project
  custom_modes.yaml and modes/* in ~/.config/joey        your own
  the built-in ones
In a folder that is not trusted (`joey tools --trust`), the project can add modes but not replace any. An invalid entry
is reported with its file and line; the others still work. `joey modes MODE` shows all of one mode.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from joey.cli.flags import add_workspace_flag, workspace_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from joey.bounded.formats import Problem
    from joey.modes import GroupRule, Mode
    from joey.modes.files import LoadedModes


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mode", nargs="?", metavar="MODE", help="show all of one mode")
    add_workspace_flag(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from joey.app.tools import discover

    here = discover(workspace_in(args))
    loaded = here.modes
    if args.json:
        print(json.dumps(_as_json(loaded, args.mode and here.mode(args.mode)), ensure_ascii=False, indent=2))
        return 0
    print(_whole(here.mode(args.mode)) if args.mode else _table(loaded))
    for problem in (*loaded.problems, *loaded.held_back):
        print(f"warning: {problem}", file=sys.stderr)
    return 0


def _as_json(loaded: LoadedModes, only: Mode | None) -> dict[str, Any]:
    modes = [only] if only else loaded.modes
    return {
        "modes": [_mode_json(mode) for mode in modes],
        "problems": _problems_json(loaded.problems),
        "held_back": _problems_json(loaded.held_back),
    }


def _problems_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [{"file": each.file, "line": each.line, "message": each.message} for each in problems]


def _mode_json(mode: Mode) -> dict[str, Any]:
    return {
        "slug": mode.slug,
        "name": mode.name,
        "origin": mode.origin,
        "file": mode.file or None,
        "groups": [_rule_json(rule) for rule in mode.groups],
        "model": mode.model or None,
        "description": mode.description,
        "whenToUse": mode.when_to_use,
        "roleDefinition": mode.role,
        "customInstructions": mode.instructions,
    }


def _rule_json(rule: GroupRule) -> dict[str, Any]:
    return {"group": rule.group, "fileRegex": rule.file_regex, "description": rule.description}


def _table(loaded: LoadedModes) -> str:
    width = max(len(mode.slug) for mode in loaded.modes)
    blocks = []
    for mode in loaded.modes:
        about = mode.description or mode.when_to_use or mode.role
        blocks += [
            f"{mode.slug:<{width}}  {_first_sentence(about)}",
            f"{'':<{width}}  may: {_abilities(mode)}",
            f"{'':<{width}}  from: {mode.file or 'built-in'}" + (f" ({mode.origin})" if mode.file else ""),
        ]
    return "\n".join(blocks)


def _whole(mode: Mode) -> str:
    parts = [
        f"{mode.name} ({mode.slug})",
        f"from: {mode.file or 'built-in'}",
        f"may: {_abilities(mode)}",
        mode.model and f"model of its subtasks: {mode.model}",
        mode.when_to_use and f"\nwhen to use\n  {mode.when_to_use}",
        f"\nrole\n  {mode.role}",
        mode.instructions and "\ninstructions\n  " + mode.instructions.replace("\n", "\n  "),
    ]
    return "\n".join(part for part in parts if part)


def _abilities(mode: Mode) -> str:
    """The groups in words; what every mode may do (ask, complete, switch, delegate) is not repeated."""
    words = [f"{rule.group} ({_restriction(rule)})" if rule.file_regex else rule.group for rule in mode.groups]
    return ", ".join(words) or "talk, switch modes and start subtasks only"


def _restriction(rule: GroupRule) -> str:
    return f"files matching {rule.file_regex}" + (f": {rule.description}" if rule.description else "")


def _first_sentence(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
