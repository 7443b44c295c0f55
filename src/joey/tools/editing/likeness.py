"""How alike two texts are: edit distance and common characters, a whole column of the table at a time.

The table of Levenshtein has a row for each character of one text and a column for each of the other; neighbouring
cells differ by -1, 0 or 1. So a column is two numbers of one bit a row (where it rises, where it falls), and the next
column comes out of a dozen operations on them (Myers 1999; Hyyrö 2001 for the distance, 2004 for the common
characters). Python's integers have as many bits as there are rows, which makes this fast without any C of our own.

    rises, falls   where the column is one more, or one less, than the row above
    at_row         for each character, the rows that hold it
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import accumulate


def distance(ours: str, theirs: str) -> int:
    """How many characters must be put in, taken out or changed to make one text of the other."""
    ours, theirs = _without_shared_ends(ours, theirs)
    if not ours or not theirs:
        return max(len(ours), len(theirs))
    return _bottom_row(ours, theirs, anywhere=False)[-1]


def likeness(ours: str, theirs: str) -> float:
    """From 0, nothing in common, to 1, equal: the part of the longer text that may stay."""
    longer = max(len(ours), len(theirs))
    return 1 - distance(ours, theirs) / longer if longer else 1.0


def best_distances(wanted: str, lines: Sequence[str]) -> list[int]:
    """For each line, the least distance of `wanted` to any stretch of text that ends where the line ends.

    One pass over the text, where comparing with each stretch would be one for each of them.
    """
    if not wanted:
        return [0] * len(lines)
    bottom = _bottom_row(wanted, "\n" + "\n".join(lines), anywhere=True)
    ends = accumulate(len(line) + 1 for line in lines)
    return [bottom[end - 1] for end in ends]


def closest_lines(wanted: str, lines: Sequence[str], limit: int) -> list[int]:
    """The lines (from 0) that have most characters in common with this one, in the same order; the best first."""
    common = _Common(wanted)
    best: list[tuple[float, int]] = []
    for at, line in enumerate(lines):
        if len(best) < limit:
            heapq.heappush(best, (common.share(line), -at))
        elif common.max_share(line) > best[0][0]:
            heapq.heappushpop(best, (common.share(line), -at))
    return [-at for _share, at in sorted(best, reverse=True)]


def _without_shared_ends(ours: str, theirs: str) -> tuple[str, str]:
    start = _shared(ours, theirs)
    ours, theirs = ours[start:], theirs[start:]
    end = _shared(reversed(ours), reversed(theirs))
    return ours[: len(ours) - end], theirs[: len(theirs) - end]


def _shared(ours: Iterable[str], theirs: Iterable[str]) -> int:
    """How many characters both begin with."""
    count = 0
    for ours_here, theirs_here in zip(ours, theirs, strict=False):
        if ours_here != theirs_here:
            break
        count += 1
    return count


def _rows(text: str) -> dict[str, int]:
    at_row: dict[str, int] = {}
    for row, character in enumerate(text):
        at_row[character] = at_row.get(character, 0) | 1 << row
    return at_row


def _bottom_row(ours: str, theirs: str, *, anywhere: bool) -> list[int]:
    """For each beginning of `theirs`, its distance to `ours`; `anywhere`: of the end of it that is nearest."""
    rows_of, every, bottom = _rows(ours).get, (1 << len(ours)) - 1, 1 << (len(ours) - 1)
    rises, falls, score = every, 0, len(ours)
    first = 0 if anywhere else 1
    scores = []
    for character in theirs:
        same = rows_of(character, 0)
        level = ((((same & rises) + rises) ^ rises) | same | falls) & every
        more, less = falls | (every ^ (level | rises)), rises & level
        if more & bottom:
            score += 1
        elif less & bottom:
            score -= 1
        more = (more << 1 | first) & every
        rises = (less << 1) & every | (every ^ (level | more))
        falls = more & level
        scores.append(score)
    return scores


class _Common:
    """The characters that lines have in common with one text: twice their number in the characters of both."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._at_row = _rows(text)
        self._every = (1 << len(text)) - 1

    def share(self, line: str) -> float:
        total = self._length + len(line)
        return 2 * self._common(line) / total if total else 1.0

    def max_share(self, line: str) -> float:
        """What it can be at most, for its length."""
        total = self._length + len(line)
        return 2 * min(self._length, len(line)) / total if total else 1.0

    def _common(self, line: str) -> int:
        at_row, every = self._at_row, self._every
        unmet = every
        for character in line:
            if same := at_row.get(character):
                here = unmet & same
                unmet = (unmet + here | unmet - here) & every
        return self._length - unmet.bit_count()
