"""An excerpt of a text as the model reads it: the lines with their numbers, and above them what is not shown.

A model that does not know that there is more takes the excerpt for the whole, so the note says exactly which lines
these are, how many there are, and how to get the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from joey.tools.line_numbers import MAX_LINE, number_lines
from joey.tools.reading.lines import Span

MAX_CHARACTERS = 200_000
"""A whole excerpt ends before it gets larger, at the end of a line: 2,000 long lines would fill a model's context."""
_NAMED_LINES = 10


def excerpt(lines: Sequence[str], span: Span, limit: int) -> str:
    """The lines of the span under a note, if there is something to note."""
    shown = span.of(lines)
    last = _last_shown(shown, span)
    shown = shown[: last - span.first + 1]
    notes = [
        *_more(span.first, last, len(lines), limit, cut=span.cut or last < span.last),
        *_cut_lines(shown, span.first),
    ]
    return "\n".join([*notes, *([""] if notes else []), number_lines(shown, span.first, max_length=MAX_LINE)])


def _last_shown(shown: Sequence[str], span: Span) -> int:
    room = MAX_CHARACTERS
    for number, line in enumerate(shown, span.first):
        room -= min(len(line), MAX_LINE)
        if room < 0:
            return max(span.first, number - 1)
    return span.last


def _more(first: int, last: int, total: int, limit: int, *, cut: bool) -> list[str]:
    if not cut:
        return []
    note = f"Showing lines {first}-{last} of {total} total."
    if last < total:
        note += f" To read more, call read_file with offset={last + 1} and limit={limit}."
    return [note]


def _cut_lines(shown: Sequence[str], first: int) -> list[str]:
    long = [str(number) for number, line in enumerate(shown, first) if len(line) > MAX_LINE]
    if not long:
        return []
    named = ", ".join(long[:_NAMED_LINES]) + (", ..." if len(long) > _NAMED_LINES else "")
    return [f"Lines longer than {MAX_LINE:,} characters are cut and end in `...`: {named}."]
