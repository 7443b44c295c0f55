"""Programs that run other programs. The command inside is judged in turn, strictly from the front."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.plain import Word
from joey.policy.shell.programs.find import fill_in
from joey.policy.shell.variables import removal_problem

# env

_ENV_FLAGS = ("-0", "--null")
_ENV_EMPTY = ("-i", "-", "--ignore-environment")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def _env(use: Use, words: Sequence[Word]) -> Iterator[str]:
    """Options, then variables, then a command; without a command it prints the variables."""
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        yield from _env_option(use, rest)
    while rest and (match := _ASSIGNMENT.fullmatch(rest[0].text)):
        if rest.pop(0).glob:
            yield f"what `{match[1]}` is set to is only known when it runs"
        use.assignments.append((match[1], match[2]))
    if rest:
        use.inner.append(tuple(rest))


def _env_option(use: Use, rest: list[Word]) -> Iterator[str]:
    text = rest.pop(0).text
    removed: str | None = None
    if text in _ENV_FLAGS:
        use.options.append((text, None))
    elif text in _ENV_EMPTY:
        yield "what a command does without its variables is not known to be harmless"
    elif text.startswith("--unset="):
        removed = text.removeprefix("--unset=")
    elif text in ("-u", "--unset") and rest and not rest[0].glob:
        removed = rest.pop(0).text
    elif text != "--":
        yield f"the option `{text}` of `env` is not known to be harmless"
        rest.clear()
    if removed is not None and (problem := removal_problem(removed)):
        yield problem


# Shells

_SETTINGS = frozenset({"pipefail", "errexit", "nounset", "xtrace"})


def _shell(use: Use, words: Sequence[Word]) -> Iterator[str]:
    """`bash -c CODE` or `bash SCRIPT`. The code is what follows all options, not what follows the letter `c`."""
    rest, letters = list(words), ""
    while rest and rest[0].text.startswith(("-", "+")):
        text = rest.pop(0).text
        if text == "--":
            break
        if not re.fullmatch(r"-[ceunx]*o?|--norc|--noprofile|--posix", text) or text == "-":
            yield f"the option `{text}` of a shell is not known to be harmless"
            return
        if text.startswith("--"):
            continue
        letters += text[1:]
        if text.endswith("o") and (not rest or rest.pop(0).text not in _SETTINGS):
            yield "the shell gets a setting that is not known to be harmless"
            return
    yield from _shell_code(use, rest, letters)


def _shell_code(use: Use, rest: Sequence[Word], letters: str) -> Iterator[str]:
    use.options += [(f"-{letter}", None) for letter in letters]
    use.operands += rest
    if not rest or rest[0].glob or rest[0].below:
        yield "the shell runs code that is only known when it runs"
    elif "c" in letters:
        use.code.append(rest[0].text)
    else:
        use.files.append(("read" if "n" in letters else "run", rest[0]))


_SHELL = program(reader=_shell, project_code=True)


# xargs


def _xargs(use: Use) -> Iterator[str]:
    """Its words arrive on standard input: whole ones only if they are ended by NUL, and else split into any others."""
    use.appends_input = True
    if not use.has("-0", "--null"):
        yield "`xargs` without `-0` splits what it is given into words that may be options"
    if not use.inner:
        use.inner.append((Word("echo"),))
    replaced = [value.text for name, value in use.options if name == "-I" and value is not None]
    if any(text != "{}" for text in replaced):
        yield "`xargs` puts its input in place of a word that is not `{}`"
    if replaced and any("{}" in word.text and word.text != "{}" for word in use.inner[0]):
        yield "`xargs` puts its input into a word that is more than `{}`"


def with_input(use: Use, starts: Sequence[Word]) -> tuple[Word, ...]:
    """The inner command of `xargs` if what arrives are files below these folders."""
    files = tuple(Word(start.text, start.glob, below=True) for start in starts)
    return tuple(fill_in(use.inner[0], starts)) if use.has("-I") else (*use.inner[0], *files)


def listed_below(name: str, use: Use) -> list[Word] | None:
    """The folders below which a command lists files, ended by NUL, and prints nothing else; None for any other."""
    other = use.has("-print", "-printf", "-ls", "-exec", "-help", "--help", "-version", "--version")
    return use.operands if name == "find" and use.has("-print0") and not other and not use.problems else None


# Others


def _command(use: Use) -> Iterator[str]:
    """With `-v` it only says where a program is."""
    if use.has("-v", "-V"):
        use.inner.clear()
    yield from ()


def _nohup(use: Use) -> Iterator[str]:
    """What is printed goes into a file if it would go to a terminal."""
    use.files.append(("write", Word("nohup.out")))
    yield from ()


def _wrapper(options: str = "", operands: str = "c") -> Program:
    return program(options, operands, leading=True, wrapper=True)


_TIMEOUT = _wrapper(
    "-k=t -s=t -v --kill-after=t --signal=t --foreground --preserve-status --verbose --help --version", "t c"
)

PROGRAMS: dict[str, Program] = {
    "env": program(reader=_env, wrapper=True),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "nice": _wrapper("-n=t -# --adjustment=t --help --version"),
    "nohup": program("--help --version", "c", leading=True, wrapper=True, check=_nohup),
    "time": _wrapper("-p"),
    "stdbuf": _wrapper("-i=t -o=t -e=t --input=t --output=t --error=t --help --version"),
    "ionice": _wrapper("-c=t -n=t -t --class=t --classdata=t --ignore --help --version"),
    "setsid": _wrapper("-c -f -w --ctty --fork --wait --help --version"),
    "chronic": _wrapper("-v -e"),
    "command": program("-p -v -V", "c", leading=True, wrapper=True, check=_command),
    "xargs": program(
        "-0 -r -t -n=t -P=t -I=t --null --no-run-if-empty --verbose --max-args=t --max-procs=t --help --version",
        "c",
        leading=True,
        wrapper=True,
        check=_xargs,
    ),
    "sh": _SHELL,
    "bash": _SHELL,
    "dash": _SHELL,
}
