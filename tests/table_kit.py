"""What the tables of programs make of a plain line of one command."""

from __future__ import annotations

from collections.abc import Mapping

from joey.policy.shell.options import Program, Use, read_use
from joey.policy.shell.plain import read_plain


def used(programs: Mapping[str, Program], line: str) -> Use:
    """The use of the only command of a line."""
    (command,) = read_plain(line)
    return read_use(programs[command.name], command.words[1:], command.name)


def summary(use: Use) -> str:
    """The files, commands and code of a use, as in "read a, write b, run [cat a]"."""
    parts = [f"{touch} {word.text}{'/**' if word.below else ''}" for touch, word in use.files]
    parts += [f"{name}={value}" for name, value in use.assignments]
    parts += [
        "[" + " ".join(f"{word.text}{'/**' if word.below else ''}" for word in inner) + "]" for inner in use.inner
    ]
    return ", ".join([*parts, *(f"<{code}>" for code in use.code)])


def touched(use: Use) -> str:
    """The files of a use, as in "read:a.py write:b.py"."""
    return " ".join(f"{touch}:{word.text}" for touch, word in use.files)
