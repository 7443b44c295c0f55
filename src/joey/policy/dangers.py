"""Options and arguments by which an ordinary program runs code of the caller's choice.

A rule that allows a program by name does not mean these: `python` is for `python tool.py`, and `python -c …` needs
a rule that says so (`python -c`, or `*`). The table knows the usual suspects; abbreviated long options count too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from joey.policy.rules import program
from joey.policy.words import Word


@dataclass(frozen=True, slots=True)
class Danger:
    """`names` are the words of which a rule must have one to mean this."""

    names: tuple[str, ...]
    why: str
    code: str = ""
    """The code, empty if it is not known."""
    commands: bool = False
    """Whether the code is commands to run, and not a program in some language."""


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
            found.append(
                Danger((name, word.value or ""), why, _known(words[at : at + 2]), commands=not options.leading)
            )
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


def _known(words: Sequence[Word]) -> str:
    """What words say, or nothing if a part of them is only known to the shell."""
    return "" if any(word.dynamic for word in words) else " ".join(word.text for word in words)


def _positional(words: Sequence[Word]) -> list[Word]:
    return [word for word in words[1:] if not word.prefix.startswith("-")]


def _python(words: Sequence[Word]) -> list[Danger]:
    values = [word.value for word in words]
    if "-m" in values and values.index("-m") + 1 < len(values):
        module = values[values.index("-m") + 1]
        if module in ("timeit", "pdb", "code", "trace", "cProfile", "profile", "runpy", "site"):
            return [Danger((str(module),), f"`-m {module}` runs code", _known(words))]
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


def _git(words: Sequence[Word]) -> list[Danger]:
    found: list[Danger] = []
    at = 1
    while at < len(words) and words[at].prefix.startswith("-"):
        option = words[at].prefix.split("=", 1)[0]
        if option.startswith(("-c", "--exec-path", "--config-env")):
            name = "-c" if option.startswith("-c") else option
            found.append(
                Danger((name,), f"`{name}` can make git run any program", _known(words[at : at + 2]), commands=True)
            )
        elif option.startswith(("--git-dir", "--work-tree")):
            found.append(Danger((option,), f"`{option}` makes git take its settings from elsewhere"))
        at += 2 if words[at].value in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    rest = words[at:]
    if rest and rest[0].value is None:
        return [*found, Danger((), "which git command runs is only known when it runs")]
    return found + (_git_command(rest) if rest else [])


_GIT_OPTIONS: dict[str, tuple[str, ...]] = {
    "grep": ("-O", "--open-files-in-pager"),
    "rebase": ("-x", "--exec"),
    "bisect": ("run", "visualize", "view"),
    "submodule": ("foreach",),
    "difftool": ("-x", "--extcmd", "-t", "--tool"),
    "mergetool": ("-t", "--tool"),
    "clone": ("-c", "--config", "-u", "--upload-pack", "--template"),
    "init": ("--template",),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "ls-remote": ("--upload-pack", "--exec"),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
    "filter-branch": ("*",),
    "for-each-repo": ("*",),
    "daemon": ("*",),
    "credential": ("*",),
    "send-email": ("*",),
    "instaweb": ("*",),
    "diff": ("--ext-diff",),
    "log": ("--ext-diff",),
    "show": ("--ext-diff",),
    "help": ("-w", "--web", "-i", "--info"),
}


def _git_command(words: Sequence[Word]) -> list[Danger]:
    command = (words[0].value or "").casefold()
    whole = _known(words)
    if command == "config":
        return _git_config(words, whole)
    for option in _GIT_OPTIONS.get(command, ()):
        if option == "*" or any(_is_git_option(word, option) for word in words[1:]):
            shown = command if option == "*" else f"{command} {option}"
            named = (command if option == "*" else option,)
            return [Danger(named, f"`git {shown}` runs other programs", whole, commands=True)]
    if any("ext::" in word.text for word in words[1:]):
        return [Danger((), "an `ext::` address makes git run a program", whole, commands=True)]
    if command in _GIT_OPTIONS and any(word.splits and not word.prefix and not word.globs for word in words[1:]):
        return [Danger((), f"an option that makes `git {command}` run code may be in what only the shell knows")]
    return []


def _is_git_option(word: Word, option: str) -> bool:
    text = word.prefix
    if option.startswith("--"):
        given = text.split("=", 1)[0]
        return given == option or (len(given) > 4 and option.startswith(given))
    if option.startswith("-"):
        return re.match(r"-[A-Za-z]", text) is not None and option[1] in text.split("=", 1)[0][1:]
    return text == option


def _git_config(words: Sequence[Word], whole: str) -> list[Danger]:
    reading = any(
        (word.value or "") in ("--get", "--get-all", "--list", "-l", "--get-regexp", "list", "get") for word in words
    )
    settings = [word for word in words[1:] if not word.prefix.startswith("-")]
    if reading or len(settings) < 2:
        return []
    harmless = re.match(r"user\.(name|email|signingkey)$", settings[0].value or "")
    return (
        []
        if harmless
        else [Danger(("config",), "a git setting can name programs that git then runs", whole, commands=True)]
    )


def _awk(words: Sequence[Word]) -> list[Danger]:
    texts = [word.text for word in words[1:]]
    runs = re.compile(r"\bsystem\b|(?<!\|)\|(?!\|)|\bgetline\b|@|\bprintf?\b[^;}\n]*>")
    if any(re.match(r"-(?:f|e|i|l|E)|--(?:file|source|include|load|exec)", text) for text in texts):
        return [Danger(("-f", "-e", "-i", "-l", "-E"), "its program comes from somewhere else", " ".join(texts))]
    program_text = next(iter(_awk_program(words)), None)
    if program_text is None:
        return []
    if program_text.value is None and program_text.dynamic:
        return [Danger((), "its program is only known when it runs")]
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', program_text.text)
    plain = re.sub(r"(^|[(,!~{;&|}\n])\s*/(?:[^/\\\n]|\\.)*/", r"\1 0", plain)
    if runs.search(plain):
        return [Danger((), "its program runs commands or writes files", program_text.text, commands=True)]
    return []


def _awk_program(words: Sequence[Word]) -> list[Word]:
    at, rest = 1, []
    while at < len(words):
        if words[at].value in ("-v", "-F"):
            at += 2
            continue
        if not words[at].prefix.startswith("-"):
            rest.append(words[at])
        at += 1
    return rest


_SED_COMMAND = re.compile(
    r"""[\s;]*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*)(?:\s*[,~]\s*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*))?\s*!?\s*)?
    (?:[=dDgGhHlnNpPqQxzF}]\s*\d*|\{|[btT:]\s*[\w.-]*|[aic](?:\\?\n?|\s)[^\n]*\n?
    |([sy])(?P<d>[^\s\\\w])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\]|\\.)*(?P=d)(?:[gpiImM]|\d)*)?
    \s*(?=[;\n}]|$)[;\s]*""",
    re.VERBOSE | re.DOTALL,
)


def _sed(words: Sequence[Word]) -> list[Danger]:
    scripts: list[Word] = []
    at = 1
    files = False
    while at < len(words):
        word = words[at]
        glued = re.match(r"-[nErsuz]*e(?=.)|--e[a-z]*=", word.prefix, re.DOTALL)
        if glued:
            scripts.append(Word.literal(word.text[glued.end() :]) if not word.dynamic else word)
        elif re.fullmatch(r"-[nErsuz]*e|--e[a-z]*", word.value or ""):
            scripts += words[at + 1 : at + 2]
            at += 1
        elif re.match(r"-[nErsuz]*f|--f", word.prefix):
            files = True
            at += word.value in ("-f", "--file")
        at += 1
    if not scripts and not files:
        scripts = [word for word in words[1:] if not word.prefix.startswith("-") or not word.prefix][:1]
    unsafe = next((script for script in scripts if script.dynamic or not _plain_sed(script.text)), None)
    if unsafe is None:
        return []
    return [Danger((), "its script may run commands or write files", _known([unsafe]), commands=True)]


def _plain_sed(script: str) -> bool:
    """Whether a script only prints and edits: no `e`, `w`, `r`, no `s///e`."""
    at = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if not match or match.end() == at:
            return False
        at = match.end()
    return True


def _find(words: Sequence[Word]) -> list[Danger]:
    if any(word.value == "-delete" for word in words):
        return [Danger(("-delete",), "`-delete` removes what it finds", "rm")]
    return []


def _make(words: Sequence[Word]) -> list[Danger]:
    for word in words[1:]:
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)\s*[:+?]?=", word.prefix) or re.search(r"\$\(|`", word.text):
            return [Danger((word.source,), "a variable given to `make` runs a program", word.text, commands=True)]
    return []


def _editor(words: Sequence[Word]) -> list[Danger]:
    if any(word.prefix.startswith("+") for word in words[1:]):
        return [Danger(("+",), "`+…` makes the editor run commands", _known(words))]
    return []


def _ssh(words: Sequence[Word]) -> list[Danger]:
    rest = _positional(words)
    if not rest:
        return []
    named = tuple(word.value or "" for word in rest[:1])
    return [Danger(named, "it runs commands on another machine", _known(rest[1:]), commands=True)]


def _always(why: str) -> Callable[[Sequence[Word]], list[Danger]]:
    return lambda words: [Danger(tuple(word.value or "" for word in words[1:2]), why, _known(words))]


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
    "git": _git,
    "awk": _awk,
    "sed": _sed,
    "find": _find,
    "make": _make,
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
