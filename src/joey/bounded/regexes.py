"""Regular expressions that somebody else wrote, searched for without hanging.

Python's engine tries every way to match, and a pattern such as `(a+)+$` has more ways than there is time. Linear
engines know neither look-ahead nor back references, which mode files and schemas use. So an expression is searched for
here at once if the worst it could do is little, which holds for nearly all that people write for file names; otherwise
in a process of its own with a second of the processor (`joey.bounded.process`), which costs some 50 ms.

The worst is counted from the text of the pattern: every quantifier multiplies the ways by the length of the text (`?`
and `|` by two), and so does the place where the match begins. That holds as long as no group is repeated. One that is
always goes to the other process, and so does a pattern with comments, in which brackets need not mean anything.
"""

from __future__ import annotations

import json
import re
import sys
from functools import lru_cache

from joey.bounded.process import LimitError, hold_limits, run_bounded
from joey.errors import JoeyError

MAX_PATTERN = 1_000
_MAX_WAYS = 300_000
_MAX_TEXT = 1_000_000
_SECONDS = 1
_COMMENTED = re.compile(r"\(\?(?:#|[a-zA-Z-]*x)")
_QUANTIFIERS = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"  # what is escaped, and sets: neither repeats anything
    r"|(?P<group>\)[*+{])|(?P<special>\(\?[a-zA-Z-]*[:)]?|\(\?[<P][!=<]?)|(?P<many>[*+{])|(?P<two>[?|])",
    re.DOTALL,
)


class PatternError(JoeyError):
    """The pattern is none."""


class SlowPatternError(PatternError):
    """The pattern takes too long."""


def finds(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, as `re.search` finds it. May block a second. Raises PatternError."""
    if len(text) > _MAX_TEXT:
        raise SlowPatternError("the text is too long for a pattern")
    found = _found(pattern, text)
    if found is None:
        raise SlowPatternError(f"the pattern {pattern!r} takes too long; use a simpler one")
    return found


@lru_cache(maxsize=1024)
def _found(pattern: str, text: str) -> bool | None:
    """Whether it is found; None if that takes too long, which is remembered, so that a slow pattern is tried once."""
    compiled = compile_pattern(pattern)
    if compiled is None:
        raise PatternError(f"{pattern[:100]!r} is no regular expression, or has more than {MAX_PATTERN:,} characters")
    if is_cheap(pattern, len(text)):
        return compiled.search(text) is not None
    try:
        return run_bounded("joey.bounded.regexes", [], json.dumps([pattern, text]).encode()) == b"found"
    except LimitError:
        return None


def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """The pattern, if it is one and not too long."""
    if len(pattern) > MAX_PATTERN:
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError, ValueError):
        return None


def is_cheap(pattern: str, length: int) -> bool:
    """Whether a search in a text of this length can try only few ways."""
    if _COMMENTED.search(pattern):
        return False
    ways = length + 1
    for token in _QUANTIFIERS.finditer(pattern):
        if token["group"]:
            return False
        ways *= length + 1 if token["many"] else 2 if token["two"] else 1
        if ways > _MAX_WAYS:
            return False
    return True


def main() -> None:
    hold_limits(_SECONDS)
    pattern, text = json.load(sys.stdin)
    sys.stdout.write("found" if re.search(pattern, text) else "nothing")


if __name__ == "__main__":
    main()
