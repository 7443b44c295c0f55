"""What a program does with its words, read from a table of what is understood.

A table names every option that is known to be harmless, what kind of value it takes, and what the operands are:

    program("-n=t --lines=t -q -v", "r*")              head: two options with a value, two flags, then files to read

An option that is not in the table is a problem, and a command with a problem is asked about. Long options are taken by
their whole names only (an abbreviation is unknown), short ones may be clustered (`-la`) or carry their value (`-n5`).

Kinds of values and operands:

    t  text that is neither run, nor a file        r  a file that is read
    l  a folder or file whose name is listed       d  a folder that is read with all it holds
    L  the same, and what links below it lead to
    w  a file that is written                      x  a script of the project, which is run
    k  a file or folder that is removed            p  a folder of the project to work in
    f  a folder that is filled with files whose names are not known
    u  an address of a web page                    c  a command: the rest of the words
    C  shell code, as text                         s  a script for sed            a  a program for awk
    b  one word of text; the rest belongs to it (arguments of the project's own code)
    m  a module of Python; the rest belongs to it

`name=K` takes a value, `name?K` one that is attached (`--color=auto`), a bare name is a flag. `-#` is a number (`-5`).
Where options are whole words, a `--` among them ends them. `name=KK` takes two values (`--arg name value`).
Operands: `*` for any number, `+` for at least one, as in `r+ w`; `-` is always standard input or output. Where they
depend on the options, a function of the use gives them. A program whose words are a language has a `reader` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.policy.shell.plain import Word
from joey.policy.shell.scripts import awk_problems, sed_problems

Kind: TypeAlias = str
Shows: TypeAlias = Literal["", "worktree", "history"]
Touch: TypeAlias = Literal[
    "read", "list", "names", "tree", "follow", "write", "rewrite", "fill", "remove", "run", "folder", "maybe"
]
"""What is done with a file. "names": what is below it is listed, and what links there lead to. "rewrite": what is below
it may be changed, also through links. "maybe": it is written if there is such a file; it may as well name something
else, as in `git checkout NAME`."""
_TOUCHES: dict[Kind, Touch] = {
    "r": "read", "l": "list", "d": "tree", "L": "follow", "w": "write", "f": "fill", "k": "remove", "x": "run",
    "p": "folder",
}  # fmt: skip
_TOUCHES_BELOW: dict[Kind, Touch] = {
    "r": "follow",
    "l": "names",
    "d": "follow",
    "w": "fill",
    "f": "fill",
    "k": "remove",
}
"""What is done to a folder if it is done to any file below it."""


@dataclass(slots=True)
class Use:
    """What one command does, as far as it is understood."""

    problems: list[str] = field(default_factory=list)
    """What is not understood, or does more than a rule for the program means. Each is a reason to ask."""
    files: list[tuple[Touch, Word]] = field(default_factory=list)
    inner: list[tuple[Word, ...]] = field(default_factory=list)
    """Commands that it runs in turn."""
    code: list[str] = field(default_factory=list)
    """Lines of shell code that it runs."""
    options: list[tuple[str, Word | None]] = field(default_factory=list)
    """The options it was given, in order, with their values."""
    operands: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, str]] = field(default_factory=list)
    """Variables that it sets for the commands it runs."""
    appends_input: bool = False
    """Whether its inner command gets more words, which arrive on standard input (xargs)."""
    path: tuple[str, ...] = ()
    """The subcommands it went through, as in ("stash", "show")."""
    separated: int | None = None
    """How many operands stand before `--`, if there is one."""
    shows: Shows = ""
    """Whether it prints what is in files, here or in the history: of any, unless `only` restricts it."""
    only: list[Word] | None = None
    """The files and folders of which alone something is shown. None: of all, or of what words without `--` name."""
    widens: bool = False
    """Whether it may show more than the paths that it is given."""
    objects: list[str] = field(default_factory=list)
    """Words that git may take for a file's content in its history, which it shows whatever the paths are."""
    from_top: bool = False
    """Whether `files` are named from the top of the git repository, wherever the command runs (`HEAD:a/b`)."""
    remotes: list[str] = field(default_factory=list)
    """Remotes that git talks to. One that is not configured is a path or an address."""
    modules: list[str] = field(default_factory=list)
    """Modules of Python that it runs and no table knows: they must be the project's own."""
    rewrites_all: bool = False
    """Whether it rewrites what it finds anywhere in the workspace, whatever its words name (`cargo fmt`)."""
    installed: list[str] = field(default_factory=list)
    """Tools that it runs if they are in node_modules, and fetches otherwise."""

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


@dataclass(frozen=True, slots=True)
class Option:
    kind: Kind | None = None
    attached: bool = False


Check: TypeAlias = Callable[[Use], Iterator[str]]
Reader: TypeAlias = Callable[[Use, Sequence[Word]], Iterator[str]]
Operands: TypeAlias = str | Callable[[Use], str]


@dataclass(frozen=True, slots=True)
class Program:
    """The table of one program, or of one subcommand."""

    options: Mapping[str, Option]
    operands: Operands = ""
    subcommands: Mapping[str, Program] | None = None
    modules: Mapping[str, Program] | None = None
    """What `-m` of Python may run."""
    leading: bool = False
    """Options end at the first operand; what follows belongs to that."""
    words: bool = False
    """Options are whole words with one dash (`-name`), never clustered."""
    project_code: bool = False
    """It runs code of the project by nature: a rule for it allows that."""
    wrapper: bool = False
    """It does nothing but run another command, which is judged instead; it needs no rule of its own."""
    check: Check | None = None
    """What the table cannot say: yields problems, may add files. That of a subcommand comes first."""
    reader: Reader | None = None
    """Reads the words instead of the table, if they are a language (`find`, `test`): yields problems, adds the rest."""


def program(
    options: str = "",
    operands: Operands = "",
    *,
    subcommands: Mapping[str, Program] | None = None,
    modules: Mapping[str, Program] | None = None,
    leading: bool = False,
    words: bool = False,
    project_code: bool = False,
    wrapper: bool = False,
    check: Check | None = None,
    reader: Reader | None = None,
) -> Program:
    return Program(
        _options(options), operands, subcommands, modules, leading, words, project_code, wrapper, check, reader
    )


def _options(text: str) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for token in text.split():
        match = re.fullmatch(r"([^=?]+)(?:([=?])(\w+))?", token)
        assert match is not None, f"not an option of a table: {token}"
        found[match[1]] = Option(match[3], match[2] == "?")
    return found


def read_use(table: Program, words: Sequence[Word], name: str) -> Use:
    """What a command does: `words` are those after the program's name."""
    use = Use()
    _Reading(table, list(words), name, use).run()
    return use


class _Reading:
    def __init__(self, table: Program, words: list[Word], name: str, use: Use) -> None:
        self._table = table
        self._words = words
        self._name = name
        self._use = use
        self._operands: list[Word] = []

    def run(self) -> None:
        if self._table.reader is not None:
            self._use.problems += self._table.reader(self._use, self._words)
            return
        while self._words:
            word = self._words.pop(0)
            text = word.text
            if text == "--" and (not self._table.words or "--" in self._table.options):
                self._use.separated = len(self._operands)
                self._operands += self._words
                self._words = []
            elif text.startswith("-") and text != "-":
                self._option(word)
            elif self._table.subcommands is not None:
                self._subcommand(word, self._table.subcommands)
            else:
                self._operands.append(word)
                if self._table.leading:
                    self._operands += self._words
                    self._words = []
        self._place_operands()
        if self._table.check is not None:
            self._use.problems += self._table.check(self._use)

    # Options

    def _option(self, word: Word) -> None:
        text = word.text
        name, equals, value = text.partition("=")
        options = self._table.options
        if text in options and options[text].kind is None:
            self._use.options.append((text, None))
        elif text in options and not options[text].attached:
            self._value(text, options[text], self._next(text))
        elif text in options:
            self._use.options.append((text, None))
        elif equals and name in options and options[name].kind is not None and self._takes_equals(name):
            self._value(name, options[name], Word(value, word.glob))
        elif "-#" in options and re.fullmatch(r"-\d+", text):
            self._use.options.append(("-#", None))
        elif text.startswith("--") or self._table.words:
            self._unknown(name)
        else:
            self._cluster(word)

    def _takes_equals(self, name: str) -> bool:
        return name.startswith("--") or self._table.words

    def _cluster(self, word: Word) -> None:
        letters = word.text[1:]
        for at, letter in enumerate(letters):
            name, rest = f"-{letter}", letters[at + 1 :]
            option = self._table.options.get(name)
            if option is None:
                self._unknown(name if len(letters) == 1 else f"{name} in {word.text}")
                return
            if option.kind is None:
                self._use.options.append((name, None))
                continue
            if rest.startswith("=") and option.kind != "t":
                self._use.problems.append(f"whether the `=` of `{word.text}` belongs to the value is not clear")
            if rest or not option.attached:
                self._value(name, option, Word(rest, word.glob) if rest else self._next(name))
            else:
                self._use.options.append((name, None))
            return

    def _next(self, name: str) -> Word:
        if self._words:
            return self._words.pop(0)
        self._use.problems.append(f"`{name}` of `{self._name}` lacks its value")
        return Word("")

    def _unknown(self, name: str) -> None:
        self._use.problems.append(f"the option `{name}` of `{self._name}` is not known to be harmless")

    def _value(self, name: str, option: Option, word: Word) -> None:
        for at, kind in enumerate(option.kind or "t"):
            value = word if at == 0 else self._next(name)
            self._use.options.append((name, value))
            if value.glob:
                self._use.problems.append(f"how many words `{value.text}` stands for is only known when it runs")
            self._place(kind, [value])

    # Subcommands and operands

    def _module(self, word: Word) -> None:
        assert self._table.modules is not None
        if word.text in self._table.modules:
            self._subcommand(word, self._table.modules)
            return
        self._use.modules.append(word.text)
        self._words = []

    def _subcommand(self, word: Word, tables: Mapping[str, Program]) -> None:
        words, self._words = self._words, []
        table = tables.get(word.text) if not word.glob else None
        if table is None:
            self._use.problems.append(f"`{self._name} {word.text}` is not known to be harmless")
            return
        self._use.path = (*self._use.path, word.text)
        _Reading(table, words, f"{self._name} {word.text}", self._use).run()

    def _place_operands(self) -> None:
        table, words = self._table.operands, self._operands
        kinds = (table if isinstance(table, str) else table(self._use)).split()
        self._use.operands += words
        star = next((at for at, kind in enumerate(kinds) if kind[-1] in "*+"), None)
        if star is None:
            self._assign(kinds, words)
            return
        before, after = kinds[:star], kinds[star + 1 :]
        middle = max(len(words) - len(after), star)
        self._assign(before, words[:star])
        self._place(kinds[star][0], words[star:middle])
        self._assign(after, words[middle:])

    def _assign(self, kinds: Sequence[Kind], words: Sequence[Word]) -> None:
        for at, word in enumerate(words):
            if at >= len(kinds):
                self._use.problems.append(f"`{self._name}` is given more than is known to be harmless: `{word.text}`")
                return
            if kinds[at] in ("c", "b"):
                self._place(kinds[at], words[at:])
                return
            if word.glob:
                self._use.problems.append(f"how many words `{word.text}` stands for is only known when it runs")
            self._place(kinds[at], [word])

    def _place(self, kind: Kind, words: Sequence[Word]) -> None:
        if not words:
            return
        if kind == "x" and any(word.text == "-" for word in words):
            self._use.problems.append(f"`{self._name}` runs what arrives on standard input")
        if kind in _TOUCHES:
            self._use.files += [touch for word in words if word.text != "-" for touch in self._touched(kind, word)]
        elif kind not in ("t", "b") and any(word.below for word in words[:1]):
            self._use.problems.append(f"what `{self._name}` runs is only known when it runs")
        elif kind == "m":
            self._module(words[0])
        elif kind == "c":
            self._use.inner.append(tuple(words))
        elif kind == "C":
            self._use.code += [word.text for word in words]
        elif kind in _VALUES:
            self._use.problems += [problem for word in words for problem in _VALUES[kind](word.text)]
        else:
            assert kind in ("t", "b"), f"not a kind of value: {kind}"

    def _touched(self, kind: Kind, word: Word) -> Iterator[tuple[Touch, Word]]:
        if word.text.startswith("@"):
            self._use.problems.append(f"`{word.text}` may be a file of options; write `./{word.text}`")
        if not word.below:
            yield _TOUCHES[kind], word
            yield from self._matched(kind, word)
        elif kind in _TOUCHES_BELOW:
            yield _TOUCHES_BELOW[kind], word
        else:
            self._use.problems.append(f"which file below `{word.text}` `{self._name}` runs is only known when it runs")

    def _matched(self, kind: Kind, word: Word) -> Iterator[tuple[Touch, Word]]:
        """A quoted pattern (`'src/**/*.ts'`) may be expanded by the program itself: then it is any file below."""
        found = None if word.glob else _PATTERN.search(word.text)
        if found is None:
            return
        if ".." in word.text[found.start() :] or re.search(r"[{,]/", word.text):
            self._use.problems.append(f"which files `{word.text}` stands for is not known")
        folder = Word(word.text[: found.start()].rpartition("/")[0] or ".", below=True)
        yield "follow", folder
        if kind in ("w", "f", "k"):
            yield "fill", folder


_PATTERN = re.compile(r"[*?\[{]")
_OPTION = re.compile(r"--?[A-Za-z]")


def option_values(use: Use, *free: str) -> Iterator[str]:
    """Values that look like options: they are some if the program takes them only attached, as in `--bin --config=x`.

    `free` names options whose next word is their value whatever it looks like.
    """
    for name, value in use.options:
        if value and name not in free and _OPTION.match(value.text):
            yield f"the value of `{name}` looks like an option"


def option_words(use: Use) -> Iterator[str]:
    """Words after `--` that look like options: they are some if the program takes the `--` for a value."""
    if any(_OPTION.match(word.text) for word in use.operands):
        yield "a word after `--` looks like an option"


def unknown_words(use: Use) -> Iterator[str]:
    """Words that `find` or `xargs` puts in when it runs: a check that reads words as text cannot know them."""
    if any(word.below for word in use.operands):
        yield "some of its words are only known when it runs"


_ADDRESS = re.compile(
    r"(?P<scheme>https?://)?(?P<host>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?)(?::\d{1,5})?(?:[/?#]\S*)?"
)
_GUESSED = re.compile(r"(?:ftp|dict|ldap|imap|smtp|pop3)\.", re.IGNORECASE)
"""Names of hosts for which curl speaks another protocol, if none is given."""


_NUMBER = re.compile(r"(?:0[xX])?(?=[a-fA-F]*\d)[0-9a-fA-F]++(?:\.(?:0[xX])?[0-9a-fA-F]++)*+\.?")


def _address(text: str) -> Iterator[str]:
    """An address of http or https, with nothing in it that curl expands or that logs in somewhere."""
    match = _ADDRESS.fullmatch(text)
    guessed = match is not None and not match["scheme"] and _GUESSED.match(match["host"])
    if match is None or guessed or "{" in text or "[" in text:
        yield f"`{text}` is not a plain http or https address"
    elif _NUMBER.fullmatch(match["host"]) and not match["host"].startswith("127."):
        yield f"`{text}` names a machine by its number, which may be one of this network"


_VALUES: dict[Kind, Callable[[str], Iterator[str]]] = {"u": _address, "s": sed_problems, "a": awk_problems}
