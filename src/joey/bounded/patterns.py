"""Patterns in the syntax of .gitignore, matched in a time that no pattern can blow up.

Whoever wrote a repository wrote its ignore files, and a regular expression made from `*a*a*a*a*b` in the obvious way
tries every way to cut a name into pieces. Two things prevent that:

- What stands between two stars of one name has a fixed length, so its first place is as good as any later one: each is
  matched once and for all (an atomic group), and only the last star of a name is tried again.
- A pattern with more than MAX_ANYWHERE `**` is cut after these. It then fits more than it should, so a line that hides
  may be cut, and one that takes back is left out.

A line that is no pattern is skipped, as git does.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from joey.bounded.files import read_regular

MAX_LINES = 5_000
"""Lines that are read; those after them are left out."""
MAX_LINE = 1_000
"""Characters of a line; a longer one is left out."""
MAX_ANYWHERE = 2
_STAR = "[^/]*"


def read_lines(path: Path | str) -> list[str]:
    """The lines of an ignore file that say something. A file that cannot be read ignores nothing."""
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


class LinearPattern(GitIgnoreSpecPattern):
    """A pattern of git whose regular expression does not try again what cannot help."""

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        regex, include = super().pattern_to_regex(pattern)
        return (None if regex is None else linear(regex)), include


def git_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """The patterns of an ignore file."""
    usable = [cut for line in list(lines)[:MAX_LINES] if (cut := _cut(line)) is not None and _valid(cut)]
    return GitIgnoreSpec.from_lines(usable, LinearPattern, backend="simple")


def linear(regex: str) -> str:
    """The expression with every star but the last of each name matched once and for all."""
    first, *pieces = regex.split(_STAR)
    made = [first]
    for at, piece in enumerate(pieces):
        last = at == len(pieces) - 1 or "/" in _without_sets(piece)
        made.append(_STAR + piece if last else f"(?>[^/]*?{piece})")
    return "".join(made)


def _without_sets(regex: str) -> str:
    """The expression without its sets of characters, in which a `/` ends no name."""
    return re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]", "", re.sub(r"\\[^\]]", "", regex))


def _cut(line: str) -> str | None:
    if not line.strip() or line.startswith("#") or len(line) > MAX_LINE:
        return None
    parts = re.split(r"(?:(?<=/)|(?<=^!)|^)\*\*(?=/)", line)
    if len(parts) <= MAX_ANYWHERE + 1:
        return line
    return None if line.startswith("!") else "**".join(parts[: MAX_ANYWHERE + 1]).rstrip("/") + "/**"


def _valid(line: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # sets in sets, which git does not know either
            LinearPattern(line)
    except (ValueError, re.error):
        return False
    return True
