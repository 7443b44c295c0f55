"""What became of each part of an edit, in words a model can act on.

Short on purpose: which part, why, the nearest place with what differs, what to do. Whole files and walls of advice
cost the model its context and are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal

from joey.tools.editing.document import Document
from joey.tools.editing.matching import Ambiguous, Stage, nearest

_MAX_DIFF_LINES = 16
_MAX_PLACES = 8
_MAX_LINE = 160


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """One part of an edit: done, found to be done already, or why it cannot be done."""

    outcome: Literal["applied", "already", "failed"]
    words: str

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"


def applied(first: int, stage: Stage = Stage.EXACT) -> EditOutcome:
    note = f" ({stage.value})" if stage.value else ""
    return EditOutcome("applied", f"applied at line {first + 1}{note}.")


def already(first: int) -> EditOutcome:
    return EditOutcome("already", f"already applied, the new text is at line {first + 1}. Nothing to do.")


@dataclass(frozen=True, slots=True)
class EditedDocument:
    """The new document (the old one when a part failed) and the verdict on each part."""

    document: Document
    verdicts: tuple[EditOutcome, ...]

    @property
    def failed(self) -> bool:
        return any(verdict.failed for verdict in self.verdicts)


def failure(words: str) -> EditOutcome:
    return EditOutcome("failed", words)


def not_found(lines: Sequence[str], wanted: Sequence[str]) -> EditOutcome:
    """The wanted lines are nowhere in these."""
    place = nearest(lines, wanted)
    if place is None:
        return failure("not found, and nothing in the file is like it. Read the file again before editing it.")
    found = lines[place.first : place.last]
    return failure(
        f"not found. The nearest place is {span(place.first, place.last)}, {place.likeness:.0%} alike "
        f"('-' is what you sent, '+' what the file has):\n{_difference(wanted, found)}\nSend the file's own lines."
    )


def ambiguous(lines: Sequence[str], answer: Ambiguous, remedy: str) -> EditOutcome:
    shown = [f"line {at + 1}{_after(lines, at)}" for at in answer.places[:_MAX_PLACES]]
    more = len(answer.places) - len(shown)
    listed = "; ".join(shown) + (f"; and {more} more" if more else "")
    note = f" ({answer.stage.value})" if answer.stage.value else ""
    return failure(f"{len(answer.places)} places match{note}: {listed}. {remedy}")


def report(verdicts: Sequence[EditOutcome], noun: str) -> str:
    """The verdict on each part, one a line. When some fail, those that would fit share a line: nothing was applied."""
    if len(verdicts) == 1:
        return f"{noun}: {verdicts[0].words}"
    some_failed = any(verdict.failed for verdict in verdicts)
    possible = [number for number, each in enumerate(verdicts, 1) if some_failed and each.outcome == "applied"]
    rows = [
        f"{noun} {number} of {len(verdicts)}: {each.words}"
        for number, each in enumerate(verdicts, 1)
        if number not in possible
    ]
    return "\n".join([*rows, f"{noun} {_ranges(possible)} of {len(verdicts)}: would fit."] if possible else rows)


def _ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 5 as `1-3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def span(first: int, last: int) -> str:
    """The lines from `first` up to `last` (from 0) in words."""
    return f"line {first + 1}" if last - first <= 1 else f"lines {first + 1}-{last}"


def _difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    rows = list(unified_diff(wanted, found, n=1, lineterm=""))[2:]
    rows = [row for row in rows if not row.startswith("@@")]
    more = len(rows) - _MAX_DIFF_LINES
    shown = [cut_line(row) for row in rows[:_MAX_DIFF_LINES]]
    return "\n".join([*shown, f"… {more} more lines differ"] if more > 0 else shown)


def cut_line(line: str, size: int = _MAX_LINE) -> str:
    return line if len(line) <= size else line[: size - 1] + "…"


def _after(lines: Sequence[str], at: int) -> str:
    before = next((line.strip() for line in reversed(lines[max(at - 3, 0) : at]) if line.strip()), "")
    return f" (after '{cut_line(before)[:60]}')" if before else ""
