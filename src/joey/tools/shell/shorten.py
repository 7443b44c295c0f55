"""Long output made short for showing: repeated lines counted, the middle left out and measured.

A fifth of the room goes to the beginning, the rest to the end: that is where a command says how it went.
"""

from __future__ import annotations

from itertools import groupby

_HEAD_SHARE = 0.2


def collapse_repeats(text: str) -> str:
    """Runs of the same line as one line and a count, where that is shorter."""
    lines = text.split("\n")
    last = lines.pop()  # no newline behind it, so it is not the same line again
    shaped = "".join(_run(line, len(list(run))) for line, run in groupby(lines))
    return shaped + last


def _run(line: str, count: int) -> str:
    repeats = f"{line}\n" * (count - 1)
    note = f"<previous line repeated {count - 1} additional times>\n"
    return f"{line}\n{note if len(note) < len(repeats) else repeats}"


def shorten_output(
    text: str, max_lines: int | None = None, max_characters: int | None = None, *, lines_before: int = 0
) -> str:
    """The text with its middle left out if it has more than so many characters, or else more than so many lines. Where
    it lacks some of its middle already, `lines_before` is how many lines it had."""
    if max_characters is not None and len(text) > max_characters:
        head = int(max_characters * _HEAD_SHARE)
        tail = max_characters - head
        return joined_ends(text[:head], text[-tail:] if tail else "", len(text) - max_characters)
    lines = text.split("\n")
    if max_lines is None or len(lines) <= max_lines:
        return text
    head = int(max_lines * _HEAD_SHARE)
    cut = len(lines) - max_lines
    omitted = max(len(lines), lines_before) - max_lines
    return "\n".join([*lines[:head], "", f"[...{omitted} lines omitted...]", "", *lines[head + cut :]])


def joined_ends(head: str, tail: str, omitted: int, unit: str = "characters") -> str:
    """The two ends of something longer, and how much is missing between them."""
    return f"{head}\n[...{omitted} {unit} omitted...]\n{tail}"
