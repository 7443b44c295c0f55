"""A way in which a command runs code of the caller's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def known(words: Sequence[Word]) -> str:
    """What words say, or nothing if a part of them is only known to the shell."""
    return "" if any(word.dynamic for word in words) else " ".join(word.text for word in words)
