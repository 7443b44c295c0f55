"""The words that the project does not use, and what it says for them: `python scripts/words.py [PATH …]` lists where.

The glossary stands in CONTRIBUTING.md. Identifiers are compared word by word, so `asked` is found in `asked_for` and in
`AskedFor`; everything a person or a model reads (strings, docstrings, comments, Markdown) is searched for phrases.
Names of events and of journal records are saved in files of users and stay as they are, as do the names of commands
that front ends send.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEARCHED = ("src", "tests", "docs", "examples", "bench", "evals", "chaos", "scripts", "*.md")
LEFT_OUT = ("tests/vectors/", "/.cache/", "scripts/words.py", "tests/test_words.py", "CONTRIBUTING.md")

WORDS = {
    "approval, permission": "leave",
    "user input, requested": "asked asking asker",
    "expand_input, added": "brought",
    "message, text, entry": "said",
    "reported, sent": "told",
    "claimed": "meant",
    "again": "anew",
    "discover, Workspace, PromptContext": "surroundings",
    "Objection": "doubt doubts",
    "disable": "barred",
    "resize, coerce, matches": "fit fits fitted fitting",
    "max": "most longest deepest largest",
    "timeout": "patience",
    "fix": "mend mended mending",
    "failed": "vain",
    "compact, summarize": "condense condensed condenses condensing",
    "image": "picture pictures",
}
"""Words that are not used in identifiers, by what is used."""
PHRASES = {
    "approval, permission": r"\b(?:your|the user's|without|ha(?:s|ve|d)|needs?|no|for) leave\b"
    r"|\b(?:gives?|given|gave|got|with) leave\b"
    r"|\b(?:more|refuse) leave\b"
    r"|\bleave (?:of the user|is (?:needed|asked)|for it)\b",
    "again": r"\banew\b",
    "failed": r"\bin vain\b",
    "available": r"\bat hand\b",
    "manually": r"\bby hand\b",
    "in advance": r"\bbeforehand\b",
    "fix": r"\bmend(?:s|ed|ing)?\b",
    "compact, summarize": r"\bcondens(?:e|es|ed|ing)\b|\bsums? up\b|\bsummed up\b",
    "image": r"\bpictures?\b",
    "there is no …": r"which there is not|\bthere is not:",
    "task history": r"the tasks there have been",
    "resume, continue": r"\bgo(?:es|ing)? on with\b(?! the next step)",
    "What would you like to do?": r"what shall i do",
    "architecture, layers, packages": r"\b(?:the house|floors|the rooms)\b",
}
"""Phrases that are not used in any text, by what is used."""
IDIOMS = re.compile(r"told_apart|at_most|zip_longest")
"""What is fine in an identifier: idioms, and a name of Python's own."""
VERBS = frozenset(["asked", "told", "said", "leave"])
"""What is fine in the name of a test, which is a sentence: `test_the_user_is_asked_once`."""
SAVED = frozenset(["UserSaid", "ContextCondensed", "CondenseStarted", "Condense", "QuestionAsked"])
"""Names that files of users hold, or front ends send."""

_BY_WORD = {word: better for better, words in WORDS.items() for word in words.split()}
_BY_PHRASE = [(re.compile(pattern, re.IGNORECASE), better) for better, pattern in PHRASES.items()]
_ANY_PHRASE = re.compile("|".join(PHRASES.values()), re.IGNORECASE)
_NAME = re.compile(r"\w+")
_SAVED = re.compile(rf"\b(?:{'|'.join(sorted(SAVED))})\b|`condense`")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class OldWord:
    """A word that is not used, where it stands, and the better one."""

    path: str
    line: int
    text: str
    better: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} -> {self.better}"


def old_words(path: Path) -> Iterator[OldWord]:
    """The words of a file that have a better one."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py" and any(_better(each) for each in set(_NAME.findall(text))):
        yield from _in_identifiers(name, text)
    if not _ANY_PHRASE.search(text):
        return
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, better in _BY_PHRASE:
            found = (match[0] for match in pattern.finditer(_SAVED.sub("", line)))
            yield from (OldWord(name, number, text, better) for text in found)


def _in_identifiers(name: str, source: str) -> Iterator[OldWord]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            for better in _better(token.string):
                yield OldWord(name, token.start[0], token.string, better)


@cache
def _better(identifier: str) -> tuple[str, ...]:
    """What is used for the words of an identifier that are not."""
    if identifier in SAVED:
        return ()
    parts = {part.lower() for part in _PART.findall(IDIOMS.sub("", identifier))}
    if identifier.startswith("test_"):
        parts -= VERBS
    return tuple(_BY_WORD[part] for part in parts if part in _BY_WORD)


def files(arguments: list[str]) -> Iterator[Path]:
    for start in [Path(argument).resolve() for argument in arguments] or [
        path for pattern in SEARCHED for path in ROOT.glob(pattern)
    ]:
        for path in _below(start) if start.is_dir() else [start]:
            if path.suffix in (".py", ".md") and not any(part in path.as_posix() for part in LEFT_OUT):
                yield path


def _below(start: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names))


def main() -> int:
    found = [word for path in files(sys.argv[1:]) for word in old_words(path)]
    print(*found, sep="\n")
    print(f"{len(found)} old words")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
