"""Rules for commands: the first words of a command, whole words, or `*` for any command.

The rule with the most words that fits decides; between an allow and a deny rule of the same length, deny.

The two kinds are read with opposite doubts. An allow rule fits only what surely begins with its words: `git` does not
fit `gitevil`, nor `./git`, nor `$x` that may be git. A deny rule also fits a program called by its path, in other
letters (`RM`, `rm.exe`), or with options before the words (`git -C . push`), and its words may hold `*`. Where a deny
rule may fit but it cannot be told, `Rules.suspect` names it, and the command is asked about.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from joey.policy.words import Word

SYSTEM_FOLDERS = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"}
)
_GIT_WITH_VALUE = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)
_GIT_HARMLESS = frozenset(
    {"--no-pager", "-P", "-p", "--paginate", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    text: str
    words: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Rule:
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        return cls(text.strip(), tuple(words))

    @property
    def any(self) -> bool:
        return self.words == ("*",)

    @property
    def length(self) -> int:
        return 0 if self.any else len(self.words)


def fold(text: str) -> str:
    """A name without what lookalikes play with: letter case, compatibility forms, invisible characters."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return visible.casefold()


def program(name: str) -> str:
    """The bare, folded name of a program, for deny rules and for tables of known programs."""
    base = posixpath.basename(name.rstrip("/").replace("\\", "/"))
    return re.sub(r"\.(?:exe|cmd|bat)$", "", fold(base))


@dataclass(frozen=True, slots=True)
class Rules:
    allow: tuple[Rule, ...]
    deny: tuple[Rule, ...]

    @classmethod
    def read(cls, allow: Iterable[str], deny: Iterable[str]) -> Rules:
        return cls(tuple(_rules(allow)), tuple(_rules(deny)))

    def allowing(self, words: Sequence[Word]) -> Rule | None:
        """The longest allow rule that surely fits."""
        forms = _forms(words, _GIT_HARMLESS | {"-C"})
        return _longest(rule for rule in self.allow if any(_allows(rule, form) for form in forms))

    def denying(self, words: Sequence[Word]) -> Rule | None:
        """The longest deny rule that fits."""
        forms = _forms(words, None)
        return _longest(rule for rule in self.deny if any(_denies(rule, form) for form in forms))

    def suspect(self, words: Sequence[Word]) -> Rule | None:
        """A deny rule that may fit: its words come later, or where something stands that only the shell knows."""
        return _longest(rule for rule in self.deny if not rule.any and _may_deny(rule, words))


def _rules(texts: Iterable[str]) -> Iterable[Rule]:
    rules = (Rule.read(text) for text in texts)
    return (rule for rule in rules if rule.words)


def _longest(rules: Iterable[Rule]) -> Rule | None:
    return max(rules, key=lambda rule: rule.length, default=None)


def _forms(words: Sequence[Word], skippable: frozenset[str] | None) -> list[Sequence[Word]]:
    """The command, and the command without the options that git takes before its own commands."""
    if not words or words[0].value is None or program(words[0].value) != "git":
        return [words]
    at = 1
    while at < len(words):
        option = words[at].value
        if option is None or not option.startswith("-") or (skippable is not None and option not in skippable):
            break
        at += 2 if option in _GIT_WITH_VALUE else 1
    return [words] if at == 1 else [words, [words[0], *words[at:]]]


def _allows(rule: Rule, words: Sequence[Word]) -> bool:
    if rule.any:
        return True
    if len(words) < len(rule.words) or words[0].value is None:
        return False
    return _same_program(rule.words[0], words[0].value) and all(
        word.value is not None and _same_word(wanted, word.value)
        for wanted, word in zip(rule.words[1:], words[1:], strict=False)
    )


def _same_program(wanted: str, name: str) -> bool:
    folder, base = posixpath.split(name)
    if "/" in name and "/" not in wanted and folder in SYSTEM_FOLDERS:
        name = base
    return _same_word(wanted, name)


def _same_word(wanted: str, word: str) -> bool:
    """Letter case matters in options (`-d` and `-D`) and in paths, not in names."""
    if wanted.startswith("-") or "/" in wanted or not word.isascii():
        return wanted == word
    return wanted.casefold() == word.casefold()


def _denies(rule: Rule, words: Sequence[Word]) -> bool:
    if rule.any:
        return True
    if len(words) < _needed(rule) or words[0].value is None or not _is_program(rule, words[0].value):
        return False
    return all(
        word.value is not None and fnmatch.fnmatchcase(fold(word.value), fold(wanted))
        for wanted, word in zip(rule.words[1:], words[1:], strict=False)
    )


def _needed(rule: Rule) -> int:
    """`rm *` is meant for `rm` with any words, or none."""
    return len(rule.words) - (rule.words[-1] == "*")


def _is_program(rule: Rule, name: str) -> bool:
    return fnmatch.fnmatchcase(program(name), program(rule.words[0]))


def _may_deny(rule: Rule, words: Sequence[Word]) -> bool:
    if not words or words[0].value is None or not _is_program(rule, words[0].value):
        return False
    wanted = [fold(word) for word in rule.words[1:] if word != "*"]
    flags = [word for word in wanted if word.startswith("-")]
    names = [word for word in wanted if not word.startswith("-")]
    rest = list(words[1:])
    return (not flags or _has_flags(flags, rest)) and _has_names(names, rest)


def _has_flags(flags: list[str], words: Sequence[Word]) -> bool:
    if any(_unknown(word) for word in words):
        return True
    given = [fold(word.value or "") for word in words]
    letters = {char for word in given if re.match(r"-[^-]", word) for char in word[1:]}
    letters |= {word[2] for word in given if re.match(r"--[^-]", word)}
    return all(set(flag.lstrip("-") if not flag.startswith("--") else flag[2:3]) <= letters for flag in flags)


def _has_names(names: list[str], words: Sequence[Word]) -> bool:
    """Whether the names come in order, with only options and what may be their values before each."""
    at = 0
    for name in names:
        option = False
        while at < len(words):
            word, text = words[at], fold(words[at].value or "")
            at += 1
            if _unknown(word) or fnmatch.fnmatchcase(text, name):
                break
            if not text.startswith("-") and not option:
                return False
            option = text.startswith("-")
        else:
            return False
    return True


def _unknown(word: Word) -> bool:
    return word.value is None and (not word.prefix or word.splits)
