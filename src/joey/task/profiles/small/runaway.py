"""Replies that go on for ever: blank lines without end, or the same few lines or characters again and again.

A small model that has nothing more to write, and no way to end under its grammar, does that up to the limit of its
reply, which takes minutes. No text that anybody wants looks like it.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"(?:\n[ \t]*){8}\Z")
_ROW = 300
"""Characters with one short period."""
_MAX_PERIOD = 24
_SHORT_CYCLE, _MAX_CYCLE = 6, 12
_ROUNDS, _LONG_ROUNDS = 12, 5


def runs_away(tail: str) -> bool:
    """Whether a reply that ends like this will not come to an end by itself."""
    return _BLANK.search(tail) is not None or _has_period(tail) or _cycles(tail)


def _has_period(tail: str) -> bool:
    end = tail[-_ROW:]
    return len(tail) >= _ROW + _MAX_PERIOD and any(
        end == tail[-_ROW - period : -period] for period in range(1, _MAX_PERIOD + 1)
    )


def _cycles(tail: str) -> bool:
    """Whether the last lines are the same few, many times; of the first and the last line, only a part may be there."""
    lines = tail.split("\n")[1:-1]
    for length in range(1, _MAX_CYCLE + 1):
        rounds = _ROUNDS if length <= _SHORT_CYCLE else _LONG_ROUNDS
        last = lines[-length * rounds :]
        if len(last) == length * rounds and any(last) and last[length:] == last[:-length]:
            return True
    return False
