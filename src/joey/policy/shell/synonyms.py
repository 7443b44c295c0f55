"""Other ways to write a command, for deny rules.

Many programs have two names for one thing: `npm i` is `npm install`, `docker container ls` is `docker ps`, and
`python -m pytest` is `pytest`. A deny rule for one of them means the others. So a command and a deny rule are written
in every way that this table knows, and match if any two are the same. Allow rules never look here: they mean their
words.

Where a subcommand stands is not always known, since an option before it may have a value (`npm -w web run-script x`):
then each word that could be it is taken for it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]

_MAX_FORMS = 64
_PROGRAMS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (re.compile(r"py\.test|pytest-3"), ("pytest",)),
    (re.compile(r"pip[\d.]+"), ("pip",)),
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


_PACKAGES = ("install: i", "remove: rm uninstall un", "update: up upgrade", "list: ls la ll", "test: t tst", "add: a")
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
    "git": _all("add: stage", "blame: annotate"),
}
_RUN_BY_NAME = frozenset({"yarn", "pnpm", "bun"})
"""`yarn run build` is `yarn build`."""
_FINDERS: dict[Words, Words] = {
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
    """A command in every way that it can be written, its own the first. `apart`: also with each of the targets of a
    builder alone, since it makes all of them."""
    found = [words]
    for form in found:
        found += [each for each in dict.fromkeys(_steps(form, apart=apart)) if each and each not in found]
        if len(found) > _MAX_FORMS:
            break
    return tuple(found)


def _steps(words: Words, *, apart: bool) -> Iterator[Words]:
    if not words:
        return
    name, rest = words[0], words[1:]
    yield from ((*new, *rest) for pattern, new in _PROGRAMS if pattern.fullmatch(name))
    if re.fullmatch(r"python[\d.]*", name):
        yield from _module(rest)
    if name in _WITH_TARGETS:
        yield from _targets(words, apart=apart)
    if name == "cargo" and rest and rest[0].startswith("+"):
        yield (name, *rest[1:])
    for start, new in _FINDERS.items():
        if words[: len(start)] == start:
            yield from ((*new, *words[at:]) for at in _positions(words, len(start)))
    for at in _positions(words, 1):
        yield from _renamed(words, at)


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
    """`./deploy` of make is `deploy`, and so is `:app:deploy` of Gradle."""
    return posixpath.normpath(word.rpartition(":")[2] or word)
