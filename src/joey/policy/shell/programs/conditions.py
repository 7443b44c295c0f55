"""test and [: one test of a file, a string or numbers. Chains (`-a`, `-o`) and variables (`-v`) are not known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joey.policy.shell.options import Use, program
from joey.policy.shell.plain import Word

_FILES = frozenset("-b -c -d -e -f -g -h -k -L -N -O -G -p -r -s -S -u -w -x".split())  # noqa: SIM905
_STRINGS = frozenset(("-n", "-z"))
_COMPARE_STRINGS = frozenset(("=", "==", "!=", "<", ">"))
_COMPARE_NUMBERS = frozenset("-eq -ne -lt -le -gt -ge".split())  # noqa: SIM905
_COMPARE_FILES = frozenset(("-nt", "-ot", "-ef"))


def _test(use: Use, words: Sequence[Word]) -> Iterator[str]:
    use.operands += words
    if any(word.glob for word in words):
        yield "how many words a pattern in a test stands for is only known when it runs"
        return
    rest = words[1:] if len(words) > 1 and words[0].text == "!" else words
    texts = [word.text for word in rest]
    if len(rest) == 3 and _binary(use, rest):
        return
    if len(rest) == 2 and texts[0] in _FILES:
        use.files.append(("list", rest[1]))
    elif len(rest) > 2 or (len(rest) == 2 and texts[0] not in _STRINGS):
        yield f"the test `{' '.join(texts)}` is not known to be harmless"


def _binary(use: Use, words: Sequence[Word]) -> bool:
    left, operator, right = words
    if operator.text in _COMPARE_FILES:
        use.files += [("list", left), ("list", right)]
        return True
    numbers = all(re.fullmatch(r"[+-]?\d+", word.text) for word in (left, right))
    return operator.text in _COMPARE_STRINGS or (operator.text in _COMPARE_NUMBERS and numbers)


def _bracket(use: Use, words: Sequence[Word]) -> Iterator[str]:
    if not words or words[-1].text != "]":
        yield "`[` lacks its `]`"
        return
    yield from _test(use, words[:-1])


TEST = program(reader=_test)
BRACKET = program(reader=_bracket)
