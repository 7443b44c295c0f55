"""Rules for commands: the first words of a command, whole words.

    git log          `git log` and what Joey understands after it
    npm *            npm with any arguments; for programs and options that Joey has no table for
    *                any command
    =make clean      exactly this command, byte for byte, and nothing else
    npm ci +network  the same as `npm ci`, and in the sandbox it may use the network
    +network =npm ci  exactly this command, which may use the network: what "don't ask again" adds

The rule with the most words that matches decides; between an allow and a deny rule of the same length, deny.

An allow rule matches only a program of just that name, called by its name or in a folder of the system. A deny rule
also matches a program called by any path, in other letters (`RM`, `rm.exe`), or with options before the words
(`git -C . push`), and its words may hold `*`. It matches other ways to write the same command, too (see `synonyms`), of
which the longest counts as the length of a rule. Where a deny rule may match and it cannot be decided (`rm -r -f`
beside the rule `rm -rf`), `suspecting` names it, and the command is asked about.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from joey.policy.names import fold
from joey.policy.shell.equivalents import Words
from joey.policy.shell.synonyms import MAX_FORMS, may_be, synonyms

SYSTEM_FOLDERS = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"}
)
_GIT_WITH_VALUE = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)
_GIT_HARMLESS = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "-C"}
)


_NETWORK = "+network"
BLANK = " \t\n"
"""What a shell passes over around a line. More is blank to Python, and part of a word to a shell."""


@dataclass(frozen=True, slots=True)
class Rule:
    text: str
    words: tuple[str, ...]
    exact: bool = False
    """The text must be the command, byte for byte."""
    open_end: bool = False
    """It ends in `*`: any arguments."""
    network: bool = False
    """It ends in `+network`, or begins with it where it is exact: what it allows may use the network in the sandbox."""

    @classmethod
    def read(cls, text: str) -> Rule:
        text = text.strip(BLANK)
        if (line := text.removeprefix(f"{_NETWORK} ")).startswith("="):
            return cls(text, (line[1:].strip(BLANK),), exact=True, network=line != text)
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        network = len(words) > 1 and words[-1] == _NETWORK
        words = words[:-1] if network else words
        open_end = len(words) > 1 and words[-1] == "*"
        return cls(text, tuple(words[:-1] if open_end else words), open_end=open_end, network=network)

    @property
    def any(self) -> bool:
        return self.words == ("*",)

    @property
    def length(self) -> int:
        return 0 if self.any else max(map(len, self.forms))

    @property
    def forms(self) -> list[Words]:
        """The words, and other ways to write them."""
        return _written(self.words, apart=False)


def bare_name(name: str) -> str:
    """The bare, folded name of a program, for deny rules."""
    base = posixpath.basename(name.rstrip("/").replace("\\", "/"))
    return re.sub(r"\.(?:exe|cmd|bat)$", "", fold(base))


@dataclass(frozen=True, slots=True)
class CommandRules:
    allow: tuple[Rule, ...]
    deny: tuple[Rule, ...]

    @classmethod
    def read(cls, allow: Iterable[str], deny: Iterable[str]) -> CommandRules:
        return cls(tuple(_rules(allow)), tuple(_rules(deny)))

    @property
    def any_allowed(self) -> bool:
        return any(rule.any for rule in self.allow)

    def exactly(self, source: str) -> Rule | None:
        """The rule that allows just this text."""
        return next((rule for rule in self.allow if rule.exact and rule.words[0] == source), None)

    def allowing(self, words: Sequence[str]) -> Rule | None:
        """The longest allow rule that matches for certain."""
        forms = _forms(words, _GIT_HARMLESS)
        return _narrowest(rule for rule in self.allow if not rule.exact and any(_allows(rule, form) for form in forms))

    def denying(self, words: Sequence[str]) -> Rule | None:
        """The longest deny rule that matches."""
        forms = [each for form in _forms(words, None) for each in _written(form, apart=True)]
        return _narrowest(rule for rule in self.deny if any(_denies(rule, form) for form in forms))

    def suspecting(self, words: Sequence[str]) -> Rule | None:
        """A deny rule that may match: its words come later, or its options in another shape."""
        forms = _written(words, apart=True)
        if len(forms) > MAX_FORMS:
            return _narrowest(self.deny)
        return _narrowest(rule for rule in self.deny if not rule.any and any(_may_deny(rule, form) for form in forms))


def _rules(texts: Iterable[str]) -> Iterable[Rule]:
    rules = (Rule.read(text) for text in texts)
    return (rule for rule in rules if rule.words)


def _narrowest(rules: Iterable[Rule]) -> Rule | None:
    return max(rules, key=lambda rule: rule.length, default=None)


def _forms(words: Sequence[str], skippable: frozenset[str] | None) -> list[Sequence[str]]:
    """The command, and the command without the options that git takes before its own commands."""
    if not words or bare_name(words[0]) != "git":
        return [words]
    at = 1
    while at < len(words):
        option = words[at]
        if not option.startswith("-") or (skippable is not None and option not in skippable):
            break
        at += 2 if option in _GIT_WITH_VALUE else 1
    return [words] if at == 1 else [words, [words[0], *words[at:]]]


def _allows(rule: Rule, words: Sequence[str]) -> bool:
    if rule.any:
        return True
    if len(words) < len(rule.words):
        return False
    return by_name(words[0], rule.words[0]) == rule.words[0] and list(rule.words[1:]) == list(
        words[1 : len(rule.words)]
    )


def by_name(name: str, wanted: str = "") -> str:
    """A program's name without the folder of the system that it was called in, unless a rule names that too."""
    folder, base = posixpath.split(name)
    return base if folder in SYSTEM_FOLDERS and "/" not in wanted else name


def _written(words: Sequence[str], *, apart: bool) -> list[Words]:
    """A command as it is, and in other ways, for which its program is called by its bare name."""
    others = synonyms((bare_name(words[0]), *words[1:]), apart=apart) if words else ()
    return [tuple(words), *others[1:]]


def _denies(rule: Rule, words: Sequence[str]) -> bool:
    return rule.any or any(_matches(wanted, words) for wanted in rule.forms)


def _matches(wanted: Sequence[str], words: Sequence[str]) -> bool:
    if len(words) < len(wanted) or not _is_program(wanted[0], words[0]):
        return False
    return all(fnmatch.fnmatchcase(fold(word), fold(each)) for each, word in zip(wanted[1:], words[1:], strict=False))


def _is_program(wanted: str, name: str) -> bool:
    return fnmatch.fnmatchcase(bare_name(name), bare_name(wanted))


def _may_deny(rule: Rule, words: Sequence[str]) -> bool:
    return any(_may_match(wanted, words) for wanted in rule.forms)


def _may_match(wanted: Sequence[str], words: Sequence[str]) -> bool:
    if not words or not _is_program(wanted[0], words[0]):
        return False
    folded = [fold(word) for word in wanted[1:]]
    flags = [word for word in folded if word.startswith("-")]
    names = [word for word in folded if not word.startswith("-")]
    rest = [fold(word) for word in words[1:]]
    return (not flags or _has_flags(flags, rest)) and _has_names(names, rest, bare_name(words[0]))


def _has_flags(flags: list[str], words: Sequence[str]) -> bool:
    letters = {char for word in words if re.match(r"-[^-]", word) for char in word[1:]}
    letters |= {word[2] for word in words if re.match(r"--[^-]", word)}
    return all(set(flag.lstrip("-") if not flag.startswith("--") else flag[2:3]) <= letters for flag in flags)


def _has_names(names: list[str], words: Sequence[str], program: str) -> bool:
    """Whether the names come in order, with only options and what may be their values before each."""
    at = 0
    for number, name in enumerate(names):
        option = False
        while at < len(words):
            text = words[at]
            at += 1
            if fnmatch.fnmatchcase(text, name) or (set("*?") & set(text) and fnmatch.fnmatchcase(name, text)):
                break
            if may_be(program, text, name, first=number == 0):
                break
            if not text.startswith("-") and not option:
                return False
            option = text.startswith("-")
        else:
            return False
    return True
