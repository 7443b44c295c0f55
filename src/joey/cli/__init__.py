"""What people type. One command, one module: `configure` names its options, `run` does it and returns an exit code.

Nothing is loaded before it is needed: `joey --version` does not even load argparse, and `joey parse --help` loads
`joey.cli.parse` alone. Exit codes: 0 done, 1 it did not work, 2 asked wrongly, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from joey import __version__
from joey.errors import JoeyError

COMMANDS: dict[str, str] = {
    "interactive": "the interactive terminal; `joey` without a command opens it too",
    "run": "carry out one task with nobody at the keyboard",
    "scratch": "do one task in a new, empty folder: a first look, with whichever model is at hand",
    "resume": "go on with a task: at a terminal you are asked, otherwise as `joey run`",
    "tasks": "the tasks there have been: list, show, export, fork, import, delete",
    "checkpoints": "the files as they were before each change: list, show what would change, put back",
    "config": "the settings in force and where each came from; `set` changes one of yours",
    "doctor": "is this machine ready? what was found, and what to do",
    "approvals": "the verdict on a command or a path under the rules in force, and why",
    "sandbox": "what confines commands here; `test` tries the walls, `-- COMMAND` runs one inside",
    "demo": "see one whole task, offline: a scripted model, and everything else real",
    "tools": "what a mode offers, and why not; `--try NAME JSON` runs one tool by hand",
    "modes": "the modes there are, where each came from, and what it may do",
    "index": "the index of this folder for codebase_search: build, look at, ask, throw away",
    "mcp": "the MCP servers there are, and whether they work: list, test, add, remove",
    "commands": "your slash commands, the project's, and what is wrong with one",
    "skills": "the skills a model can load here, and what is wrong with one",
    "models": "the providers Joey can ask, whether their keys are set, and what it knows of a model",
    "local": "models that run on this machine without a key: install, list, remove, measure",
    "parse": "what Joey sees in a model's stream: text or JSON chunks in, events or content out",
}
"""Every command and what it does, in the order in which `joey --help` shows them."""


def main(argv: Sequence[str] | None = None) -> int:
    _filter_terminal()
    _forget_relative_programs()
    args = list(sys.argv[1:] if argv is None else argv)
    if args in (["--version"], ["-V"]):
        print(f"joey {__version__}")
        return 0
    try:
        return _run(args)
    except JoeyError as error:
        print(f"joey: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _reader_went_away()


def _forget_relative_programs() -> None:
    """Look for programs (bash, git, rg, …) in absolute places only: in `.` or `` they would be those of the project."""
    import os

    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(each for each in path if os.path.isabs(each)) or os.defpath  # noqa: PTH117


def _filter_terminal() -> None:
    """What is printed at a terminal is text that it shows, whatever the text says. Nothing to do for pipes."""
    if any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        from joey.terminal.outlet import filter_terminal

        filter_terminal()


def _reader_went_away() -> int:
    """`joey parse … | head`: nothing is wrong, and nothing more can be said, not even by Python's last flush."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _run(args: list[str]) -> int:
    import argparse
    import importlib

    if args[:1] in (["-h"], ["--help"], ["help"]):
        print(_help())
        return 0
    if not args or args[0].startswith("-"):
        args = ["interactive", *args]
    name = args[0]
    if name not in COMMANDS:
        raise JoeyError(_unknown(name))
    module = importlib.import_module(f"joey.cli.{name}")
    parser = argparse.ArgumentParser(
        f"joey {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.configure(parser)
    return int(module.run(parser.parse_args(args[1:])))


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: joey [options]          the interactive terminal\n"
        "       joey COMMAND [options]\n\n"
        "Joey is a coding agent for the terminal, and the stream parsers under it.\n\n"
        f"commands:\n{commands}\n\n"
        "`joey COMMAND --help` tells more about one; `joey --version` tells the version."
    )


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean `joey {near[0]}`?" if near else "`joey --help` lists the commands."
    return f"there is no command {name!r}. {hint}"
