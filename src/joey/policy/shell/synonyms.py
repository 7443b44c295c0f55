"""Other ways to write a command, for deny rules.

Many programs have two names for one thing: `npm i` is `npm install`, `docker container ls` is `docker ps`, and
`python -m pytest` is `pytest`. A deny rule for one of them means the others. So a command and a deny rule are written
in every way that this table knows, and match if any two are the same. Allow rules never look here: they mean their
words.

A command may also do what several others do (`git pull` fetches and merges): a deny rule for one of these means it.

Where a subcommand stands is not always known, since an option before it may have a value (`npm -w web run-script x`):
then each word that could be it is taken for it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from joey.policy.shell.equivalents import Words, equivalents, may_abbreviate

MAX_FORMS = 64
"""Ways to write one command that are looked at. One that has more may be denied by any rule."""
_PROGRAMS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (re.compile(r"py\.test|pytest-3"), ("pytest",)),
    (re.compile(r"pip[\d.]+"), ("pip",)),
    (re.compile(r"python[\d.]+|py"), ("python",)),
    (re.compile(r"nodejs"), ("node",)),
    (re.compile(r"git-([a-z][a-z-]*)"), ("git", r"\1")),
    (re.compile(r"npx"), ("npm", "exec")),
    (re.compile(r"pnpx|pnx"), ("pnpm", "dlx")),
    (re.compile(r"bunx"), ("bun", "x")),
    (re.compile(r"uvx"), ("uv", "tool", "run")),
    (re.compile(r"gmake"), ("make",)),
    (re.compile(r"yarnpkg"), ("yarn",)),
    (re.compile(r"mvnw"), ("mvn",)),
    (re.compile(r"gradlew"), ("gradle",)),
    (re.compile(r"docker-compose"), ("docker", "compose")),
    (re.compile(r"podman-compose"), ("podman", "compose")),
)


def _all(*lines: str) -> dict[Words, Words]:
    """Lines such as "install: i add", of which each says what other names a subcommand has."""
    pairs = (line.split(": ") for line in lines)
    return {
        tuple(other.split("+")): tuple(name.split("+"))
        for name, others in pairs
        for other in others.split()
        if other != name
    }


_PACKAGES = (
    "install: i", "remove: rm uninstall un r", "update: up upgrade", "list: ls la ll", "test: t tst", "add: a",
    "rebuild: rb", "link: ln", "unlink: dislink", "config: c", "dlx: x", "install-test: it",
    "ci: clean-install ic install-clean",
)  # fmt: skip
_CONTAINERS = _all(
    "ps: container+ls container+list container+ps",
    "rm: container+rm container+remove",
    "images: image+ls image+list",
    "rmi: image+rm image+remove",
    "build: image+build builder+build buildx+build buildx+b",
    *(
        f"{name}: container+{name}"
        for name in (
            "attach", "commit", "cp", "create", "diff", "exec", "export", "inspect", "kill", "logs", "pause", "port",
            "rename", "restart", "run", "start", "stats", "stop", "top", "unpause", "update", "wait",
        )
    ),
    *(f"{name}: image+{name}" for name in ("history", "import", "load", "pull", "push", "save", "tag")),
    *(f"{name}: system+{name}" for name in ("events", "info")),
)  # fmt: skip
_SUBCOMMANDS: dict[str, dict[Words, Words]] = {
    "npm": _all(
        "run: run-script rum urn",
        "run+test: test t tst",
        "run+start: start",
        "run+stop: stop",
        "run+restart: restart",
        "install: i in ins inst insta instal isnt isnta isntal isntall add",
        "uninstall: un unlink remove rm r",
        "update: up upgrade udpate",
        "ci: clean-install install-clean ic isntall-clean",
        "ls: list la ll",
        "view: info show v",
        "exec: x",
        "init: create innit",
        "dedupe: ddp",
        "rebuild: rb",
        "explain: why",
        "config: c",
        "search: find s se",
        "link: ln",
        "login: adduser add-user",
        "version: verison",
        "dist-tag: dist-tags",
        "install-test: it",
        "install-ci-test: cit clean-install-test sit",
    ),
    **dict.fromkeys(("yarn", "pnpm", "bun"), _all(*_PACKAGES, "run: run-script")),
    "cargo": _all("run: r", "test: t", "build: b", "check: c", "doc: d", "remove: rm"),
    **dict.fromkeys(("docker", "podman"), _CONTAINERS),
    "git": _all(
        "add: stage",
        "blame: annotate",
        "init: init-db",
        "fsck: fsck-objects",
        "remote+remove: remote+rm",
        "remote+update: remote+up",
        "stash+push: stash+save",
    ),
    "composer": _all(
        "install: i",
        "update: u upgrade",
        "require: r",
        "remove: rm uninstall",
        "run-script: run",
        "show: info",
        "global: g",
    ),
    "bundle": _all("install: i", "exec: e ex exe", "check: c", "list: ls", "remove: rm"),
    "gem": _all("install: i", "uninstall: u"),
    "brew": _all("install: i", "uninstall: rm remove", "list: ls", "search: -S"),
    "helm": _all("uninstall: del delete un", "list: ls", "dependency: dep dependencies"),
    "gh": _all(
        *(f"{name}+create: {name}+new" for name in ("pr", "issue", "release", "repo", "gist")),
        *(f"{name}+list: {name}+ls" for name in ("pr", "issue", "release", "repo", "gist")),
    ),
    "rails": _all("server: s", "console: c", "generate: g", "destroy: d", "runner: r", "dbconsole: db", "test: t"),
    "conda": _all("remove: uninstall", "update: upgrade"),
    "mamba": _all("remove: uninstall", "update: upgrade"),
    **dict.fromkeys(("terraform", "tofu"), _all("destroy: apply+-destroy apply+--destroy")),
    "dotnet": _all("add+package: package+add", "remove+package: package+remove"),
}
_BARE: dict[str, tuple[Words, frozenset[str]]] = {
    "yarn": (("install",), frozenset({"-v", "--version", "-h", "--help"})),
    "bundle": (("install",), frozenset({"-v", "--version", "-h", "--help"})),
}
"""Programs without a subcommand, and what they do then, unless they are given one of these options."""
_OF_PARTS: dict[Words, tuple[Words, ...]] = {
    ("git", "pull"): (("git", "fetch"), ("git", "merge"), ("git", "rebase")),
    ("git", "stash", "pop"): (("git", "stash", "apply"), ("git", "stash", "drop")),
    ("npm", "install-test"): (("npm", "install"), ("npm", "run", "test")),
    ("npm", "install-ci-test"): (("npm", "ci"), ("npm", "run", "test")),
    ("pnpm", "install-test"): (("pnpm", "install"), ("pnpm", "test")),
}
"""Commands that do several things, of which each may be denied. To deny all of it denies none of them."""
_RUN_BY_NAME = frozenset({"yarn", "pnpm", "bun"})
"""`yarn run build` is `yarn build`."""
_FINDERS: dict[Words, Words] = {
    **dict.fromkeys((("busybox",), ("toybox",), ("coreutils",), ("corepack",)), ()),
    **dict.fromkeys((("npx",), ("bunx",), ("pnpx",), ("uvx",)), ()),
    **dict.fromkeys((("npm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x"), ("pipx", "run")), ()),
    ("uv", "tool", "run"): (),
    ("uv", "pip"): ("pip",),
}
"""Programs that find the one which they run, and what is written in their place."""
_WITH_TARGETS = frozenset({"make", "ninja", "mvn", "gradle", "ant", "rake", "just"})
_OF_PYTHON = re.compile(r"-[bBdEiIOPqsSuvx]*m(.*)", re.DOTALL)


@lru_cache(maxsize=256)
def synonyms(words: Words, *, apart: bool) -> tuple[Words, ...]:
    """A command in every way that it can be written, its own the first. `apart`: as what is run, and not as the
    first words of it: also with each of the targets of a builder alone, since it makes all of them, and with what a
    program does that is given nothing to do."""
    found = [words]
    for form in found:
        found += [each for each in dict.fromkeys(_steps(form, apart=apart)) if each and each not in found]
        if len(found) > MAX_FORMS:
            break
    return tuple(found)


def _steps(words: Words, *, apart: bool) -> Iterator[Words]:
    if not words:
        return
    name, rest = words[0], words[1:]
    for pattern, new in _PROGRAMS:
        if found := pattern.fullmatch(name):
            yield (*map(found.expand, new), *rest)
    if re.fullmatch(r"python[\d.]*|py", name):
        yield from _module(rest)
    yield from equivalents(words, apart=apart)
    if apart:
        yield from _bare(words)
        yield from _parts(words)
    if name in _WITH_TARGETS:
        yield from _targets(words, apart=apart)
    if name == "cargo" and rest and rest[0].startswith("+"):
        yield (name, *rest[1:])
    for start, new in _FINDERS.items():
        if words[: len(start)] == start:
            yield from ((*new, *words[at:]) for at in _positions(words, len(start)))
    for at in _positions(words, 1):
        yield from _renamed(words, at)


def _bare(words: Words) -> Iterator[Words]:
    """`yarn` and `yarn --frozen-lockfile` are `yarn install`; `git stash` and `git stash -u` are `git stash push`."""
    name, rest = words[0], words[1:]
    if name in _BARE and not _names(rest) and _BARE[name][1].isdisjoint(rest):
        yield (name, *_BARE[name][0], *rest)
    if name == "git" and rest[:1] == ("stash",) and (len(rest) == 1 or rest[1].startswith("-")):
        yield (name, "stash", "push", *rest[1:])


def _names(words: Words) -> bool:
    return any(not word.startswith("-") for word in words)


def _parts(words: Words) -> Iterator[Words]:
    for start, parts in _OF_PARTS.items():
        if words[: len(start)] == start:
            yield from ((*part, *words[len(start) :]) for part in parts)


def _positions(words: Words, start: int) -> Iterator[int]:
    """Where a word may stand that is no option and no value of one."""
    for at in range(start, len(words)):
        if not words[at].startswith("-"):
            yield at
            if at == start or not words[at - 1].startswith("-"):
                return


def _renamed(words: Words, at: int) -> Iterator[Words]:
    for old, new in _SUBCOMMANDS.get(words[0], {}).items():
        if words[at : at + len(old)] == old:
            yield (*words[:at], *new, *words[at + len(old) :])
    if words[0] in _RUN_BY_NAME and words[at] == "run" and len(words) > at + 1:
        yield (*words[:at], *words[at + 1 :])


def _module(rest: Words) -> Iterator[Words]:
    """`python -m pip` is pip."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        if found := _OF_PYTHON.fullmatch(rest[at]):
            yield (found[1], *rest[at + 1 :]) if found[1] else rest[at + 1 :]
            return
        at += 2 if rest[at] in ("-W", "-X") else 1


def _targets(words: Words, *, apart: bool) -> Iterator[Words]:
    names = tuple(word if word.startswith("-") else _target(word) for word in words[1:])
    yield (words[0], *names)
    if apart:
        yield from ((words[0], name) for name in names if not name.startswith("-"))


def _target(word: str) -> str:
    """`./deploy` of make is `deploy`, and so are `:app:deploy` of Gradle and `deploy[prod]` of Rake."""
    return posixpath.normpath(re.sub(r"(?<=.)\[.*\]", "", word).rpartition(":")[2] or word)


def may_be(program: str, short: str, full: str, *, first: bool) -> bool:
    """Whether a program may take a word for a longer one: not if it has that word itself."""
    known = any((short,) in (each[:1], name[:1]) for each, name in _SUBCOMMANDS.get(program, {}).items())
    return not known and may_abbreviate(program, short, full, first=first)
