"""The command line. One module per command: `configure` adds its options, `run` does it and returns an exit code.

Nothing is loaded before it is needed: `joey --version` does not even load argparse, and `joey parse --help` loads
`joey.cli.parse` alone. Exit codes: 0 success, 1 failure, 2 invalid usage, 130 interrupted.
"""

from __future__ import annotations

import sys

from joey import __version__
from joey.errors import JoeyError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

GROUPS: dict[str, dict[str, str]] = {
    "work": {
        "interactive": "open the interactive terminal (same as `joey` without a command)",
        "acp": "work in an editor that speaks the Agent Client Protocol",
        "gateway": "serve a model to other programs, with tool calls that work: Claude Code, Codex, any SDK",
        "web": "work in the browser: a page for all tasks of this machine",
        "run": "run one task without asking questions, for scripts and CI",
        "fleet": "run many tasks on a durable queue, on this machine or on many",
        "scratch": "try Joey: run one task in a new, empty folder",
        "demo": "watch one whole task offline, with a scripted model",
    },
    "history": {
        "resume": "resume a task",
        "tasks": "task history: list, search, show, export, fork, import, delete",
        "checkpoints": "list, compare and restore the files as they were before each change",
        "worktrees": "list, merge and remove the git worktrees that tasks work in",
    },
    "models": {
        "models": "list providers and their keys; look up a model",
        "local": "install, list, remove or measure models that run on this machine",
        "protocols": "list the dialects of open models, show one, or detect which one a model writes",
    },
    "settings and safety": {
        "config": "show and change settings",
        "login": "store the key of a provider in the keyring",
        "doctor": "check this machine and say what to do",
        "approvals": "explain whether a command or path would be allowed, and why",
        "permissions": "list and revoke what you allowed with an answer",
        "sandbox": "show and test the sandbox for commands, or run a command in it",
        "completion": "print a completion script for bash, zsh or fish",
    },
    "tools and extensions": {
        "tools": "list the tools of a mode; `--try NAME JSON` runs one",
        "modes": "list the modes and what each may do",
        "mcp": "list, test, add or remove MCP servers",
        "hooks": "list hooks and their problems; `--accept` lets those of a project run",
        "commands": "list slash commands and their problems",
        "skills": "list skills and their problems",
        "index": "build, inspect, search or delete the index for codebase_search",
        "parse": "parse a model's stream: text or JSON chunks in, content or events out",
    },
}
"""Every command and what it does, in groups and in the order in which `joey --help` shows them."""
COMMANDS: dict[str, str] = {name: about for group in GROUPS.values() for name, about in group.items()}


def main(argv: Sequence[str] | None = None) -> int:
    _open_missing_streams()
    _filter_terminal()
    _forget_relative_programs()
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(args)
        finally:
            sys.stdout.flush()  # here what cannot be written can still be reported, also help, which exits
    except JoeyError as error:
        return _fail(str(error), 2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141  # `joey parse … | head`: nothing is wrong
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not _current_folder_exists():
            return _fail("the current folder does not exist any more; change to another one", 2)
        return _fail(_reason(error), 1)
    finally:
        _drop_unwritten()


def _fail(message: str, code: int) -> int:
    import contextlib

    with contextlib.suppress(OSError):
        print(f"joey: {message}", file=sys.stderr)
    return code


def _reason(error: OSError) -> str:
    """What the system refused."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and error.filename is None:
        return f"the output cannot be written: {error.strerror}; make room, or send it elsewhere"
    return (
        f"{error.filename!r} cannot be used: {error.strerror}"
        if error.filename is not None
        else str(error) or type(error).__name__
    )


def _current_folder_exists() -> bool:
    from pathlib import Path

    try:
        return Path.cwd().is_dir()
    except FileNotFoundError:
        return False


def _forget_relative_programs() -> None:
    """Look for programs (bash, git, rg, …) in absolute places only: in `.` or `` they would be those of the project."""
    import os

    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(each for each in path if os.path.isabs(each)) or os.defpath  # noqa: PTH117


def _filter_terminal() -> None:
    """What is printed at a terminal is text that it shows, whatever the text says. Nothing to do for pipes."""
    if any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        from joey.system.visible import filter_terminal

        filter_terminal()


def _open_missing_streams() -> None:
    """Streams that were closed (`2>&-`) lead nowhere. Left closed, the next file would get their number, and what is
    written to the stream would end in it."""
    import os

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _drop_unwritten() -> None:
    """What could not be written is dropped: Python's last flush would fail once more, and change the exit code."""
    import os

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(args: list[str]) -> int:
    import importlib

    if args in (["--version"], ["-V"]):
        print(f"joey {__version__}")
        return 0
    if args == ["acp"]:  # an editor waits: not even the options are read
        from joey.acp.serve import serve

        return serve({})
    if args[:1] == ["help"] and len(args) > 1:
        args = [args[1], "--help"]
    if args[:1] in (["-h"], ["--help"], ["help"]):
        print(_help())
        return 0
    args = with_command(args)
    name = args[0]
    if name not in COMMANDS:
        raise UsageError(_unknown(name, args[1:]))
    parsed = command_parser(name).parse_args(args[1:])
    return int(importlib.import_module(f"joey.cli.{name}").run(parsed))


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of a command."""
    import argparse
    import importlib

    class CommandParser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UsageError(_with_hint(message, self))

    class HelpText(argparse.RawDescriptionHelpFormatter):
        """Made for each option, and seldom written: to find the width itself, argparse loads what unpacks archives."""

        def __init__(self, prog: str) -> None:
            super().__init__(prog, width=width)

    module, width = importlib.import_module(f"joey.cli.{name}"), _help_width()
    parser = CommandParser(f"joey {name}", description=module.__doc__, formatter_class=HelpText)
    module.configure(parser)
    return parser


def _help_width() -> int:
    """As argparse finds it: two less than $COLUMNS or the terminal."""
    import contextlib
    import os

    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns) - 2
    with contextlib.suppress(OSError):
        return (os.get_terminal_size(1).columns or 80) - 2
    return 78


def with_command(args: list[str]) -> list[str]:
    """The arguments with the command that they leave out. A single word is never a prompt: it may be a command that was
    mistyped, and a prompt costs money."""
    if args and args[0] in COMMANDS:
        return args
    if any(each in ("-p", "--print") for each in args):
        return ["run", *(each for each in args if each not in ("-p", "--print"))]
    return ["interactive", *args] if not args or args[0].startswith("-") or " " in args[0].strip() else args


_QUOTE = 'quote a prompt of several words: joey "…"'


def _with_hint(message: str, parser: argparse.ArgumentParser) -> str:
    """A complaint of argparse, with the option that was probably wanted, or where all of them are listed."""
    import difflib
    import re

    unknown = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
    if not unknown.startswith("--"):
        takes_prompt = parser.prog in ("joey run", "joey interactive") and message.startswith("unrecognized")
        return f"{message}; {_QUOTE}" if takes_prompt else message
    known = re.findall(r"--[\w-]+", parser.format_help())
    near = [each for each in known if sorted(each) == sorted(unknown)]  # two letters swapped
    near = near or difflib.get_close_matches(unknown, known, n=1)
    return f"{message}; " + (f"did you mean {near[0]}?" if near else f"`{parser.prog} --help` lists the options")


def _help() -> str:
    width = max(map(len, COMMANDS))
    groups = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {about}" for name, about in group.items())])
        for title, group in GROUPS.items()
    )
    return (
        'usage: joey [options] ["PROMPT"]    open the interactive terminal\n'
        '       joey -p "PROMPT"             print the result of one task; same as `joey run`\n'
        "       joey -c, joey -r [ID]        continue the last task of this folder; choose or name one\n"
        "       joey COMMAND [options]\n\n"
        "Joey is a coding agent for the terminal.\n\n"
        f"{groups}\n\n"
        "`joey help COMMAND` explains a command; `joey --version` prints the version."
    )


def _unknown(name: str, rest: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    if name == "version":
        near = ["--version"]
    elif len(rest) > (1 if near else 0) and not any(each.startswith("-") for each in rest):
        return f"unknown command {name!r}; {_QUOTE}"
    others = '`joey --help` lists the commands; a prompt of one word needs joey -p or joey -- "…"'
    hint = f"did you mean `joey {near[0]}`?" if near else others
    return f"unknown command {name!r}; {hint}"
