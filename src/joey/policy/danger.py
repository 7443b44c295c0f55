"""A way in which a command runs code of the caller's choice."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def of_module(words: Sequence[Word]) -> Sequence[Word]:
    """`python -m NAME …` as the program NAME with its own words; any other command as it is."""
    if not re.fullmatch(r"(python|pypy)[\d.]*", program(words[0].value or "")):
        return words
    at = 1
    while at < len(words) and (option := re.fullmatch(r"-([A-VYZa-ln-z]*)([WXm])?(.*)", words[at].value or "")):
        if option[2] == "m":
            return words[at + 1 :] or words if not option[3] else (Word.literal(option[3]), *words[at + 1 :])
        at += 2 if option[2] and not option[3] else 1
    return words


def known(words: Sequence[Word]) -> str:
    """What words say, or nothing if a part of them is only known to the shell."""
    return "" if any(word.dynamic for word in words) else " ".join(word.text for word in words)
