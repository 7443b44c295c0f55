"""Programs by tables of what is harmless. A program that is in no table is not understood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.programs import (
    archives,
    build,
    compilers,
    containers,
    files,
    git,
    languages,
    network,
    node,
    node_tools,
    python,
    python_tools,
    system,
    text,
    wrappers,
)

NEUTRAL = frozenset({":", "true", "false", "pwd", "echo", "printf", "test", "[", "cd", "exit", "set", "sleep"})
"""Commands that do nothing by themselves. They need no rule beside a command that has one."""

BUILTINS = (NEUTRAL - {"sleep"}) | {"kill", "type", "command", "time", "builtin", "source", "."}
"""Commands of the shell itself, which no file can replace."""


def _one_folder(use: Use) -> Iterator[str]:
    if len(use.operands) != 1 or use.operands[0].text == "-" or use.operands[0].glob:
        yield "where it goes is not written out"


def _strictness(use: Use) -> Iterator[str]:
    wanted = [value.text for name, value in use.options if name == "-o" and value is not None]
    if not use.options or not set(wanted) <= {"pipefail", "errexit", "nounset"}:
        yield "it changes more than how the shell treats errors"


_SHELL = {
    "cd": program("", "p*", check=_one_folder),
    "exit": program("", "t"),
    "set": program("-e -u -x -o=t", check=_strictness),
    "source": program("", "x b", leading=True, project_code=True),
    ".": program("", "x b", leading=True, project_code=True),
}

_FAMILIES = (
    *(text, files, archives, system, wrappers, network, containers),
    *(git, python, python_tools, node, node_tools, build, compilers, languages),
)

PROGRAMS: dict[str, Program] = {
    **_SHELL,
    **{name: table for each in _FAMILIES for name, table in each.PROGRAMS.items()},
}


def table_of(name: str) -> Program | None:
    """The table of a program, by its bare name."""
    return PROGRAMS.get(re.sub(r"^(python3|pip3)\.\d+$", r"\1", name))
