"""The flags of the settings, from the table (`joey.config.keys`): no command writes down one of them itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joey.config.files import parse_text, problem_with
from joey.config.keys import BY_NAME, FRONT_ENDS, KEYS, Flag, Key
from joey.config.kinds import SWITCH
from joey.errors import UsageError

_DEST = "setting "
"""What the names of settings begin with among the arguments, so that they stay apart from other arguments."""


def add_setting_flags(parser: argparse.ArgumentParser, command: str = FRONT_ENDS) -> None:
    """The flags of every setting that this command takes; without a flag, the settings files decide. A front end that
    the table does not name takes those that all front ends take."""
    for key in KEYS:
        if key.flag and command in key.flag.commands:
            names = [key.flag.name, *([key.flag.short] if key.flag.short else [])]
            parser.add_argument(*names, dest=_DEST + key.name, help=_help(key), **_reading(key, key.flag))


def add_old_flag(parser: argparse.ArgumentParser, flag: str, name: str) -> None:
    """A former spelling of a setting's flag: it works, and help does not show it."""
    key = BY_NAME[name]
    parser.add_argument(flag, dest=_DEST + name, type=_reader(key), help=argparse.SUPPRESS)


def add_workspace_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", "-w", type=Path, metavar="FOLDER", help="folder to work in (default: the current folder)"
    )


def workspace_in(args: argparse.Namespace) -> Path:
    """The folder that was named, or the current one."""
    folder: Path = (args.workspace or Path.cwd()).absolute()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    return folder


def add_worktree_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--worktree", nargs="?", const="", metavar="NAME",
        help="work in a git worktree of its own, new or of this name; the changes end as the branch joey/NAME",
    )  # fmt: skip


def folder_in(args: argparse.Namespace) -> Path:
    """The folder to work in: the one that was named or the current one, or a worktree of it."""
    folder: Path = (args.workspace or Path.cwd()).absolute()
    if args.worktree is None:
        return folder
    if args.resume is not None:
        raise UsageError("a resumed task continues in its own folder; leave out --worktree")
    from joey.app.worktrees import worktree_for
    from joey.system.worktrees import has_changes

    there = worktree_for(workspace_in(args), args.worktree)
    if has_changes(folder):
        print("note: changes that are not committed are not in the worktree", file=sys.stderr)
    return there


def settings_in(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as flags, by their full names."""
    given = {name.removeprefix(_DEST): value for name, value in vars(args).items() if name.startswith(_DEST)}
    return {name: tuple(each) if isinstance(each, list) else each for name, each in given.items() if each is not None}


def _reading(key: Key, flag: Flag) -> dict[str, Any]:
    """How argparse reads the value of a flag."""
    if key.kind is SWITCH:
        return {"action": argparse.BooleanOptionalAction}
    metavar = flag.metavar or ("{" + ",".join(key.kind.choices) + "}" if key.kind.choices else "VALUE")
    return {"action": "append" if key.adds_up else "store", "type": _reader(key), "metavar": metavar}


def _help(key: Key) -> str:
    choices = f"; one of {', '.join(key.kind.choices)}" if key.flag and key.flag.metavar and key.kind.choices else ""
    repeat = "; can be repeated" if key.adds_up else ""
    default = f" (default: {key.default})" if key.default not in (None, ()) else ""
    return f"{key.about}{choices}{repeat}{default}".replace("%", "%%")


def _reader(key: Key) -> Callable[[str], Any]:
    """Reads and checks the text of a flag; one item of a list at a time."""

    def read(text: str) -> Any:
        value = text if key.adds_up else parse_text(key, text)
        if wrong := problem_with(key, [value] if key.adds_up else value):
            raise argparse.ArgumentTypeError(wrong)
        return value

    return read
