"""Which lines of two texts belong together, at a cost that stays small for large files.

difflib is quadratic in lines that repeat. An edit mostly leaves a long beginning and a long end as they were, so these
are set aside first; what is left is compared exactly if it is small, and otherwise with difflib's shortcut for lines
that are everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_SMALL = 1_000_000
"""As product of the two numbers of lines."""


class DiffPiece(NamedTuple):
    """The old lines from `old` up to `old_end`, and the new lines that stand for them."""

    kind: Literal["equal", "replace", "delete", "insert"]
    old: int
    old_end: int
    new: int
    new_end: int


def line_diff(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffPiece]:
    """The pieces that lead from the old lines to the new ones, in order, the equal ones included."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield DiffPiece("equal", 0, head, 0, head)
    middle, new_middle = old[head:old_end], new[head:new_end]
    matcher = SequenceMatcher(None, middle, new_middle, autojunk=len(middle) * len(new_middle) > _SMALL)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        yield DiffPiece(kind, first + head, last + head, new_first + head, new_last + head)
    if tail:
        yield DiffPiece("equal", old_end, len(old), new_end, len(new))


def changes(old: Sequence[str], new: Sequence[str]) -> list[DiffPiece]:
    """The pieces that differ."""
    return [piece for piece in line_diff(old, new) if piece.kind != "equal"]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are equal at the beginning."""
    for at, (ours, theirs) in enumerate(zip(old, new, strict=False)):
        if ours != theirs:
            return at
    return min(len(old), len(new))
