"""Options and arguments by which an ordinary program runs code of the caller's choice.

A rule that allows a program by name does not mean these: `python` is for `python tool.py`, and `python -c …` needs
a rule that says so (`python -c`, or `*`). The table knows the usual suspects; abbreviated long options count too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from joey.policy.danger import Danger, known, of_module
from joey.policy.git import git_dangers
from joey.policy.rules import program
from joey.policy.scripts import awk_dangers, sed_dangers
from joey.policy.words import Word


@dataclass(frozen=True, slots=True)
class _Options:
    short: str = ""
    long: tuple[str, ...] = ()
    leading: bool = False
    """Whether only options before the first other word are the program's own."""
    values: str = ""
    """Short options before those that take a value as their next word."""
    spread: bool = True
    """Whether to expect such an option in a part that the shell may make several words of."""


_NODE = _Options(
    "epr", ("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader"), leading=True
)
_TAR = _Options(
    "IF",
    (
        *("--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script"),
        *("--rsh-command", "--rmt-command"),
    ),
)

_OPTIONS: dict[str, _Options] = {
    "python": _Options("c", leading=True, values="WXm"),
    "pypy": _Options("c", leading=True, values="WXm"),
    "ipython": _Options("c"),
    "perl": _Options("eE", leading=True, values="IMm"),
    "ruby": _Options("e", leading=True, values="Ir"),
    "node": _NODE,
    "nodejs": _NODE,
    "bun": _Options("ep", ("--eval", "--print", "--preload")),
    "php": _Options("rBRE", ("--run", "--process-begin", "--process-code"), leading=True),
    "lua": _Options("e", leading=True),
    "luajit": _Options("e", leading=True),
    "julia": _Options("eE", ("--eval", "--print"), leading=True),
    "rscript": _Options("e", leading=True),
    "r": _Options("e"),
    "ghc": _Options("e"),
    "groovy": _Options("e"),
    "scala": _Options("e"),
    "elixir": _Options("e", ("--eval", "--rpc-eval")),
    "erl": _Options("", ("-eval",)),
    "osascript": _Options("e"),
    "fish": _Options("cC", ("--command", "--init-command")),
    "csh": _Options("c"),
    "tcsh": _Options("c"),
    "pwsh": _Options("ce", ("-command", "-encodedcommand"), leading=True),
    "powershell": _Options("ce", ("-command", "-encodedcommand"), leading=True),
    "cmd": _Options("ck", ("/c", "/k")),
    "tar": _TAR,
    "gtar": _TAR,
    "bsdtar": _Options("", ("--use-compress-program",)),
    "zip": _Options("", ("-TT", "--unzip-command")),
    "rsync": _Options("e", ("--rsh", "--rsync-path")),
    "scp": _Options("So"),
    "sftp": _Options("So"),
    "ssh": _Options("oF"),
    "sort": _Options("", ("--compress-program",)),
    "split": _Options("", ("--filter",)),
    "man": _Options("PH", ("--pager", "--html")),
    "rg": _Options("", ("--pre", "--hostname-bin")),
    "ag": _Options("", ("--pager",)),
    "bat": _Options("", ("--pager",)),
    "wget": _Options("e", ("--execute", "--use-askpass", "--config")),
    "curl": _Options("K", ("--config",)),
    "gcc": _Options("", ("-wrapper", "-fplugin")),
    "g++": _Options("", ("-wrapper", "-fplugin")),
    "go": _Options("", ("-toolexec", "--toolexec", "-exec", "--exec", "-vettool", "--vettool")),
    "cargo": _Options("", ("--config",)),
    "make": _Options("E", ("--eval",)),
    "gmake": _Options("E", ("--eval",)),
    "npm": _Options("", ("--script-shell", "--shell", "--node-options"), spread=False),
    "gdb": _Options("", ("-ex", "-iex", "--eval-command", "--command", "-x", "--args")),
    "vim": _Options("cS", ("--cmd",)),
    "vi": _Options("cS", ("--cmd",)),
    "nvim": _Options("cS", ("--cmd",)),
    "ex": _Options("cS"),
    "view": _Options("cS"),
    "emacs": _Options("fl", ("--eval", "--execute", "--load", "--funcall", "-eval", "-batch")),
    "sqlite3": _Options("", ("-cmd", "--cmd")),
    "expect": _Options("c"),
    "tcpdump": _Options("z"),
    "svn": _Options("", ("--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option")),
    "hg": _Options("", ("--config",)),
    "gradle": _Options("I", ("--init-script",)),
    "xterm": _Options("e"),
    "screen": _Options("X"),
    "mapfile": _Options("C"),
    "readarray": _Options("C"),
    "complete": _Options("CF"),
    "compgen": _Options("CFW"),
    "bind": _Options("x"),
    "enable": _Options("f"),
    "hash": _Options("p"),
    "less": _Options("k"),
    "nmap": _Options("", ("--script",)),
}  # fmt: skip


def dangers(words: Sequence[Word]) -> list[Danger]:
    """The ways in which a command runs code, apart from the programs and shell code that `unwrap` finds."""
    if not words or words[0].value is None:
        return []
    name = re.sub(r"^(python|pypy|perl|ruby|lua|php|node)[\d.]+[a-z]?$", r"\1", program(words[0].value))
    name = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gfind": "find"}.get(name, name)
    found = _by_option(words, _OPTIONS[name]) if name in _OPTIONS else []
    found += _pytest(of_module(words))
    return found + (_BY_PROGRAM[name](words) if name in _BY_PROGRAM else [])


def _by_option(words: Sequence[Word], options: _Options) -> list[Danger]:
    found = []
    at = 1
    while at < len(words):
        word = words[at]
        if (options.leading and not word.prefix.startswith("-")) or word.value == "--":
            break
        if options.leading and re.fullmatch(f"-[{options.values} ]", word.value or ""):
            if word.value == "-m" and "W" in options.values:  # a module of Python's: the rest is its own
                break
            at += 1
        elif name := _dangerous(word, options):
            why = f"`{name}` makes `{words[0].source}` run code"
            found.append(Danger((name, word.value or ""), why, known(words[at : at + 2]), commands=not options.leading))
        at += 1
    if (
        options.spread
        and not options.leading
        and any(word.splits and not word.prefix and not word.globs for word in words[1:])
    ):
        found.append(
            Danger((), f"an option that makes `{words[0].source}` run code may be in what only the shell knows")
        )
    return found


def _dangerous(word: Word, options: _Options) -> str | None:
    text = word.prefix
    if not text.startswith(("-", "/")) or text in ("-", "--"):
        return None
    given = text.split("=", 1)[0]
    for option in options.long:
        abbreviated = option.startswith("--") and len(given) > 4 and option.startswith(given)
        if (
            given.casefold() == option.casefold()
            or abbreviated
            or (not option.startswith("--") and text.startswith(option))
        ):
            return option
    cluster = re.match(r"-([A-Za-z0-9]+)", text)
    for char in cluster[1] if cluster else "":
        if char in options.short:
            return f"-{char}"
        if char in options.values:  # the rest is its value
            break
    return None


def _positional(words: Sequence[Word]) -> list[Word]:
    return [word for word in words[1:] if not word.prefix.startswith("-")]


def _python(words: Sequence[Word]) -> list[Danger]:
    values = [word.value for word in words]
    if "-m" in values and values.index("-m") + 1 < len(values):
        module = values[values.index("-m") + 1]
        if module in ("timeit", "pdb", "code", "trace", "cProfile", "profile", "runpy", "site"):
            return [Danger((str(module),), f"`-m {module}` runs code", known(words))]
        return []
    return _reads_code(words, harmless=r"-V+|--version|-h|--help|-m.*")


def _reads_code(words: Sequence[Word], harmless: str = r"-v|-V|--version|-h|--help") -> list[Danger]:
    """An interpreter without a script runs what it reads."""
    rest = words[1:]
    script = next((word for word in rest if not word.prefix.startswith("-") or word.value == "-"), None)
    if any(re.fullmatch(harmless, word.value or "") for word in rest) and (script is None or script.value != "-"):
        return []
    if script is None and any(
        re.match(r"-[^-]*[ceEprB]|--eval|--print|--run|--test|--check", word.prefix) for word in rest
    ):
        return []
    if script is None or script.value == "-" or re.match(r"/dev/(stdin|fd)|/proc/", script.prefix):
        return [Danger(("-",) if script else (), f"`{words[0].source}` runs the code it reads from its input")]
    if script.value is None and not script.prefix:
        return [Danger((), f"what `{words[0].source}` runs is only known when it runs")]
    return []


_PYTEST_PLUGIN = re.compile(r"no:.*|pytest_\w+|xdist(\.\w+)?|anyio|asyncio|randomly|cacheprovider|pytester|hypothesis")


def _pytest(words: Sequence[Word]) -> list[Danger]:
    """`-p NAME` loads any module; `-o` can say where to look for modules, and add options of any kind."""
    if program(words[0].value or "") not in ("pytest", "py.test"):
        return []
    found = []
    for word, after in pairwise((*words[1:], Word.literal(""))):
        for option in ("-p", "-o", "--override-ini"):
            value = after.value if word.value == option else word.prefix.removeprefix(option).lstrip("=")
            if word.prefix.startswith(option) and not _harmless_for_pytest(option, value):
                found.append(Danger((option,), f"`{option}` makes `pytest` load code", known((word, after))))
    return found


def _harmless_for_pytest(option: str, value: str | None) -> bool:
    if option == "-p":
        return bool(_PYTEST_PLUGIN.fullmatch(value or ""))
    return value is not None and not re.match(r"\s*(pythonpath|addopts|required_plugins)\b", value)


def _find(words: Sequence[Word]) -> list[Danger]:
    if any(word.value == "-delete" for word in words):
        return [Danger(("-delete",), "`-delete` removes what it finds", "rm")]
    return []


def _make(words: Sequence[Word]) -> list[Danger]:
    for word in words[1:]:
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)\s*[:+?]?=", word.prefix) or re.search(r"\$\(|`", word.text):
            return [Danger((word.source,), "a variable given to `make` runs a program", word.text, commands=True)]
    return []


def _package_runner(words: Sequence[Word]) -> list[Danger]:
    """`npm exec` and its like fetch and run any program; `npm run` runs what the project has written down."""
    command = next((word for word in words[1:] if not word.prefix.startswith("-")), None)
    if command is None or command.value not in ("exec", "x", "dlx", "explore"):
        return []
    return [Danger((command.value,), f"`{command.value}` runs any program", known(words), commands=True)]


def _editor(words: Sequence[Word]) -> list[Danger]:
    if any(word.prefix.startswith("+") for word in words[1:]):
        return [Danger(("+",), "`+…` makes the editor run commands", known(words))]
    return []


def _ssh(words: Sequence[Word]) -> list[Danger]:
    rest = _positional(words)
    if not rest:
        return []
    named = tuple(word.value or "" for word in rest[:1])
    return [Danger(named, "it runs commands on another machine", known(rest[1:]), commands=True)]


def _always(why: str) -> Callable[[Sequence[Word]], list[Danger]]:
    return lambda words: [Danger(tuple(word.value or "" for word in words[1:2]), why, known(words))]


_BY_PROGRAM: dict[str, Callable[[Sequence[Word]], list[Danger]]] = {
    "python": _python,
    "pypy": _python,
    "perl": _reads_code,
    "ruby": _reads_code,
    "node": _reads_code,
    "nodejs": _reads_code,
    "php": _reads_code,
    "lua": _reads_code,
    "fish": _reads_code,
    "csh": _reads_code,
    "tcsh": _reads_code,
    "git": git_dangers,
    "awk": awk_dangers,
    "sed": sed_dangers,
    "find": _find,
    "make": _make,
    "npm": _package_runner,
    "pnpm": _package_runner,
    "yarn": _package_runner,
    "bun": _package_runner,
    "gmake": _make,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "less": _editor,
    "view": _editor,
    "ssh": _ssh,
    "source": _reads_code,
    ".": _reads_code,
    "rscript": _reads_code,
    "julia": _reads_code,
    "luajit": _reads_code,
    "at": _always("it runs commands later"),
    "batch": _always("it runs commands later"),
    "crontab": _always("it runs commands later"),
}
