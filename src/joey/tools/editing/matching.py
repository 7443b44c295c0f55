"""Where lines occur in a file, from exactly to nearly.

Stages, each tried only when the one before found nothing:

    exact         the lines are equal
    trailing      … apart from white space at their ends
    indentation   … and at their beginnings; places where one indentation always stands for the same other one
                  come before places where it does not
    typography    … and quotes, dashes, ellipses and spaces that models cannot tell apart count as their ASCII kin
    fuzzy         the texts are alike to a given degree (Levenshtein, runs of white space as one). Only on request.

A place must be the only one of its stage, or be pinned by its line number; otherwise the answer is the list of
places, and nobody guesses. Characters inside a line are never ignored before the fuzzy stage.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from joey.tools.editing.likeness import best_distances, closest_lines, likeness

_ASCII_KIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        "…": "...",
    }
)
_BLANKS = re.compile(r"\s+")
_MAX_WORK = 2 * 10**10
"""Pairs of characters that are compared to find what is merely alike: a few seconds. Beyond, lines must be equal."""
_PLACES = 12
_WORTH_SHOWING = 0.35
"""Below this likeness the nearest place says nothing to anybody."""


class Stage(Enum):
    """How lines were found; the value says what did not count."""

    EXACT = ""
    TRAILING = "white space at line ends did not count"
    INDENTATION = "indentation did not count"
    TYPOGRAPHY = "typographic characters did not count"
    FUZZY = "alike, not equal"

    @property
    def keeps_indentation(self) -> bool:
        return self in (Stage.EXACT, Stage.TRAILING)


@dataclass(frozen=True, slots=True)
class Matched:
    """The lines begin at this line (from 0)."""

    first: int
    stage: Stage


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The lines begin at each of these lines (from 0), and nothing says which is meant."""

    places: tuple[int, ...]
    stage: Stage


@dataclass(frozen=True, slots=True)
class NotFound:
    """The lines are nowhere."""


def locate(
    lines: Sequence[str], wanted: Sequence[str], *, pin: int | None = None, start: int = 0, fuzzy: float | None = None
) -> Matched | Ambiguous | NotFound:
    """The one place at or after `start` where the wanted lines are. `pin` is the line they are said to begin at."""
    stage, found = places(lines, wanted, start=start, fuzzy=fuzzy)
    if not found:
        return NotFound()
    if len(found) == 1:
        return Matched(found[0], stage)
    return Matched(pin, stage) if pin in found and pin is not None else Ambiguous(tuple(found), stage)


def places(
    lines: Sequence[str], wanted: Sequence[str], *, start: int = 0, fuzzy: float | None = None
) -> tuple[Stage, list[int]]:
    """Every place of the first stage that has any."""
    for stage, key in _KEYS.items():
        found = list(_runs([key(line) for line in lines], [key(line) for line in wanted], start))
        if found and stage is Stage.INDENTATION:
            found = [at for at in found if _indents_consistently(lines[at : at + len(wanted)], wanted)] or found
        if found:
            return stage, found
    if fuzzy is not None and fuzzy < 1:
        return Stage.FUZZY, _alike(lines, wanted, start, fuzzy)
    return Stage.EXACT, []


def is_blank(lines: Sequence[str]) -> bool:
    """Whether there is nothing but white space."""
    return not any(line.strip() for line in lines)


def to_ascii(text: str) -> str:
    """The text with typographic characters as their ASCII kin."""
    return text.translate(_ASCII_KIN)


def indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The place most like what was wanted: its lines from `first` up to `last`, and how alike they are, 0 to 1."""

    first: int
    last: int
    likeness: float


def nearest(lines: Sequence[str], wanted: Sequence[str]) -> Nearest | None:
    """The place to show to somebody whose lines were not found."""
    if _PLACES * sum(map(len, wanted)) ** 2 > _MAX_WORK:
        return None
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    alike = closest_lines(wanted[anchor].strip(), [line.strip() for line in lines], limit=_PLACES)
    starts = {max(at - anchor, 0) for at in alike}
    scored = [(_likeness(lines[at : at + len(wanted)], wanted), -at) for at in starts]
    best, at = max(scored, default=(0.0, 0))
    if best < _WORTH_SHOWING:
        return None
    return Nearest(-at, min(-at + len(wanted), len(lines)), best)


_KEYS: dict[Stage, Callable[[str], str]] = {
    Stage.EXACT: str,
    Stage.TRAILING: str.rstrip,
    Stage.INDENTATION: str.strip,
    Stage.TYPOGRAPHY: lambda line: to_ascii(line).strip(),
}


def _runs(lines: list[str], wanted: list[str], start: int) -> Iterator[int]:
    """Where the wanted lines follow each other."""
    # The longest line is the least likely to repeat.
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    at = start + anchor - 1
    while True:
        try:
            at = lines.index(wanted[anchor], at + 1)
        except ValueError:
            return
        first = at - anchor
        if lines[first : first + len(wanted)] == wanted:
            yield first


def _indents_consistently(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether each indentation of the wanted lines stands for one indentation of the file."""
    known: dict[str, str] = {}
    pairs = [(indentation(want), indentation(line)) for line, want in zip(lines, wanted, strict=True) if want.strip()]
    return all(known.setdefault(ours, theirs) == theirs for ours, theirs in pairs)


def _alike(lines: Sequence[str], wanted: Sequence[str], start: int, degree: float) -> list[int]:
    """The best places that are alike to this degree; of overlapping ones only the best.

    Comparing is dear, and a bound on its outcome cheap: what has the best bound is compared next, and what overlaps
    a place that was chosen never is.
    """
    plain = [_squeezed(line) for line in lines]
    target = "\n".join(_squeezed(line) for line in wanted)
    ends = [0, *accumulate(len(line) + 1 for line in plain)]
    if ends[-1] * len(target) > _MAX_WORK:
        return []
    distances = best_distances(target, plain)
    bounds = {
        at: 1 - distances[at + len(wanted) - 1] / max(len(target), ends[at + len(wanted)] - ends[at] - 1, 1)
        for at in range(start, len(lines) - len(wanted) + 1)
    }
    open_places = [(-bound, False, at) for at, bound in bounds.items() if bound >= degree]
    heapq.heapify(open_places)
    chosen: list[int] = []
    while open_places:
        _score, is_exact, at = heapq.heappop(open_places)
        if any(abs(at - other) < len(wanted) for other in chosen):
            continue
        if is_exact:
            chosen.append(at)
        elif (score := likeness(target, "\n".join(plain[at : at + len(wanted)]))) >= degree:
            heapq.heappush(open_places, (-score, True, at))
    return sorted(chosen)


def _squeezed(line: str) -> str:
    return _BLANKS.sub(" ", to_ascii(line)).strip()


def _likeness(lines: Sequence[str], wanted: Sequence[str]) -> float:
    ours, theirs = ("\n".join(line.strip() for line in each) for each in (wanted, lines))
    return likeness(ours, theirs)
