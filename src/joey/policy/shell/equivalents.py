"""Commands that are documented to be another one, for deny rules (see `synonyms`).

Some programs are another with an option (`gunzip` is `gzip -d`), some run another (`coverage run -m pytest`), and some
take what they are to make in several ways (`tox -e a,b`, `cmake --build build -t deploy`). Where only the program
itself knows what a word stands for (`gradle pub`), it is said that it may be the denied one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]

PROGRAMS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (re.compile(r"\."), ("source",)),
    (re.compile(r"\["), ("test",)),
    (re.compile(r"cc|(?:[a-z0-9_]+-)*gcc(?:-[\d.]+)?"), ("gcc",)),
    (re.compile(r"c\+\+|(?:[a-z0-9_]+-)*g\+\+(?:-[\d.]+)?"), ("g++",)),
    (re.compile(r"cc|(?:[a-z0-9_]+-)*clang(?:-[\d.]+)?"), ("clang",)),
    (re.compile(r"c\+\+|(?:[a-z0-9_]+-)*clang\+\+(?:-[\d.]+)?"), ("clang++",)),
    (re.compile(r"egrep"), ("grep", "-E")),
    (re.compile(r"fgrep"), ("grep", "-F")),
    (re.compile(r"rgrep"), ("grep", "-r")),
    (re.compile(r"gunzip|uncompress"), ("gzip", "-d")),
    (re.compile(r"zcat"), ("gzip", "-d", "-c")),
    (re.compile(r"bunzip2"), ("bzip2", "-d")),
    (re.compile(r"bzcat"), ("bzip2", "-d", "-c")),
    (re.compile(r"unxz|unlzma"), ("xz", "-d")),
    (re.compile(r"xzcat|lzcat"), ("xz", "-d", "-c")),
    (re.compile(r"unzstd"), ("zstd", "-d")),
    (re.compile(r"zstdcat"), ("zstd", "-d", "-c")),
    (re.compile(r"hd"), ("hexdump", "-C")),
    (re.compile(r"dir"), ("ls", "-C", "-b")),
    (re.compile(r"vdir"), ("ls", "-l", "-b")),
    (re.compile(r"fdfind"), ("fd",)),
    (re.compile(r"batcat"), ("bat",)),
    (re.compile(r"[gmn]awk"), ("awk",)),
    (re.compile(r"g(sed|tar|timeout|find|xargs|rm|cp|mv|ln|chmod|touch|mkdir|rmdir)"), (r"\1",)),
)
"""Names of a program, and what stands for them: another name, or another program with options."""
_PACKERS = frozenset({"gzip", "bzip2", "xz", "zstd"})
_PACKING = {
    "--decompress": "-d",
    "--uncompress": "-d",
    "--stdout": "-c",
    "--to-stdout": "-c",
}
_BUILTIN_OF_RUNNERS = frozenset(
    {"add", "audit", "bin", "build", "c", "cache", "ci", "completion", "config", "create", "dedupe", "dlx"}
    | {"exec", "help", "i", "import", "info", "init", "install", "it", "link", "list", "login", "logout", "ls"}
    | {"node", "outdated", "owner", "pack", "patch", "plugin", "pm", "publish", "rebuild", "remove", "root"}
    | {"run", "search", "self-update", "set", "start", "stop", "store", "tag", "team", "test", "unlink", "up"}
    | {"update", "upgrade", "upgrade-interactive", "version", "versions", "whoami", "why", "workspace"}
    | {"workspaces", "x"}
)
"""What yarn, pnpm and bun do themselves."""


def equivalents(words: Words, *, apart: bool) -> Iterator[Words]:
    """A command, or the first words of one, as others are documented to do the same. `apart`: also with each of the
    things alone that it makes."""
    name, rest = words[0], words[1:]
    for pattern, new in PROGRAMS:
        if found := pattern.fullmatch(name):
            yield (*map(found.expand, new), *rest)
    if name in _PACKERS:
        yield (name, *(each for word in rest for each in _packing(word)))
    if name in _WITH_ENVIRONMENTS:
        yield from _environments(words, apart=apart)
    if name == "coverage":
        yield from _covered(rest)
    if name == "cmake":
        yield from _targets_of_cmake(words, apart=apart)
    if name == "chmod":
        yield (name, *map(_octal, rest))
    if re.fullmatch(r"(?:python|py|node|ruby|perl|php)[\d.]*|nodejs|(?:ba|da|z|k)?sh", name):
        yield from _by_interpreter(rest)
    if name in ("yarn", "pnpm", "bun") and rest and rest[0] not in _BUILTIN_OF_RUNNERS and not rest[0].startswith("-"):
        yield rest


def _packing(word: str) -> Iterator[str]:
    """`-dck` as `-d -c -k`, and long options by their letters."""
    if re.fullmatch(r"-[a-zA-Z]{2,}", word):
        letters = sorted(word[1:], key=lambda letter: {"d": 0, "c": 1}.get(letter, 2))
        yield from (f"-{letter}" for letter in letters)
    else:
        yield _PACKING.get(word, word)


# Tools that are given names of what to make


_WITH_ENVIRONMENTS: dict[str, tuple[str, frozenset[str], re.Pattern[str]]] = {
    "tox": ("-e", frozenset({"--env"}), re.compile(r"-[A-Za-df-z]*e=?(.*)")),
    "nox": ("-s", frozenset({"--session", "--sessions"}), re.compile(r"-[A-Za-df-rt-z]*[es]=?(.*)")),
}
"""With which option tox and nox are told what to make, and its other names."""


def _environments(words: Words, *, apart: bool) -> Iterator[Words]:
    """What is made, as if nothing else stood there, and each of several alone."""
    option, names, letter = _WITH_ENVIRONMENTS[words[0]]
    rest = words[1 : words.index("--")] if "--" in words else words[1:]
    for at, word in enumerate(rest):
        start, equals, value = word.partition("=")
        found = letter.fullmatch(word)
        if not (found or start in names):
            continue
        attached = found[1] if found else value
        given = [attached] if attached or equals else _until_option(rest[at + 1 :])
        given = given if words[0] == "nox" else given[:1]
        yield (words[0], option, *given)
        for each in (part.strip() for text in given for part in text.split(",") if apart):
            yield (words[0], option, each)
            if words[0] == "nox" and (base := re.match(r"(.+?)(?:-[\d.]+|\(.*)$", each)):
                yield (words[0], option, base[1])


def _until_option(words: Words) -> list[str]:
    end = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[:end])


def _covered(rest: Words) -> Iterator[Words]:
    """`coverage run` stands for Python: a module, or a script."""
    if rest[:1] != ("run",):
        return
    for at, word in enumerate(rest):
        if word in ("-m", "--module"):
            yield rest[at + 1 :]
        elif at and not word.startswith("-"):
            yield ("python", *rest[at:])


def _targets_of_cmake(words: Words, *, apart: bool) -> Iterator[Words]:
    """`cmake --build` gives its targets to make, or to ninja, and hands on what stands behind `--`."""
    if "--build" not in words:
        return
    end = words.index("--") if "--" in words else len(words)
    found = [word for word in words[end + 1 :] if not word.startswith("-")]
    for at, word in enumerate(words[:end]):
        if word in ("-t", "--target"):
            found += _until_option(words[at + 1 : end])
        elif word.startswith("--target="):
            found.append(word.removeprefix("--target="))
        elif word.startswith("-t") and word != "-t":
            found.append(word[2:])
    for target in found if apart or len(found) == 1 else ():
        yield from (("make", target), ("ninja", target), (*words[:3], "--target", target))


# Others


_BITS = {"r": 4, "w": 2, "x": 1}
_CLAUSE = re.compile(r"([ugoa]*)([=+])([rwx]*)")


def _octal(mode: str) -> str:
    """A mode as an octal number without zeros before it, where it says the same for every file."""
    if re.fullmatch(r"[0-7]+", mode):
        return mode.lstrip("0") or "0"
    clauses = [_CLAUSE.fullmatch(part) for part in mode.split(",")]
    bits: dict[str, int] = {}
    for clause in clauses:
        if clause is None or (clause[2] == "+" and set(clause[3]) != {"r", "w", "x"}):
            return mode
        value = sum(_BITS[letter] for letter in set(clause[3]))
        bits |= dict.fromkeys("ugo" if "a" in clause[1] or not clause[1] else clause[1], value)
    return "".join(str(bits[who]) for who in "ugo") if len(bits) == 3 else mode


_INSTALLED = re.compile(r"(?:.*/)?node_modules/(?:(?:@[^/]+/)?([^/.@][^/]*)/)?(?:.*/)?([^/]+?)(?:\.[cm]?js)?")
_STARTER = re.compile(r"(?:.*/)?(?:\.?bin|Scripts)/([^/]+)|(?:\./)?(gradlew|mvnw)")


def _by_interpreter(rest: Words) -> Iterator[Words]:
    """`node node_modules/eslint/bin/eslint.js` is eslint, `python .venv/bin/pytest` is pytest."""
    for at, word in enumerate(rest):
        if word.startswith("-"):
            continue
        for pattern in (_INSTALLED, _STARTER):
            if found := pattern.fullmatch(posixpath.normpath(word)):
                yield from ((name, *rest[at + 1 :]) for name in found.groups() if name)
        if at == 0 or not rest[at - 1].startswith("-"):
            return


_BY_PREFIX = frozenset({"npm", "composer", "bundle", "gem"})
"""Programs of which a subcommand may be cut short."""


def may_abbreviate(program: str, short: str, full: str, *, first: bool) -> bool:
    """Whether a program may take a word for this longer one; `first`: whether it is the subcommand. Gradle takes the
    beginnings of the parts of a name (`pTML` for `publishToMavenLocal`)."""
    if not short or short.startswith("-") or full.startswith("-") or len(short) >= len(full):
        return False
    if program == "gradle":
        letters = iter(full)
        return short[0] == full[0] and all(letter in letters for letter in short)
    return first and program in _BY_PREFIX and full.startswith(short)
