"""A unified diff as the screen shows it: line numbers, code in colour, changed words marked.

    @@ -5,3 +5,3 @@            5   def do_GET(self):
     def do_GET(self):   -->   6 -     self.send_error(404)
    -    self.send_…           6 +     self.send_response(200)      the words that differ are underlined

Each side of a hunk is highlighted as a whole, so that a string over several lines stays one. Removed and added lines
that follow each other are compared in pairs; a pair with little in common has no marks. The signs are there without
colours, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise

from rich.syntax import Syntax
from rich.text import Text

from joey.system.visible import visible

MAX_LINES = 1_000
"""A longer diff is shown without colours of code and marks: nobody reads it, and it would be slow."""
MAX_NUMBERED = 20_000
"""A longer one is shown as it is."""
_MAX_WIDTH = 400
_ALIKE = 0.5
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_WORDS = re.compile(r"\w+|\s+|.")
_INK = {"+": "green", "-": "red", " ": "dim"}
_BACKGROUND = {
    (True, "+"): "on #10301c",
    (True, "-"): "on #3c1619",
    (False, "+"): "on #d7f5dd",
    (False, "-"): "on #ffe3e0",
}


@dataclass(slots=True)
class _Line:
    """A line of a hunk: its sign, its number on its own side, its text, and the parts of it that changed."""

    sign: str
    number: int
    text: Text
    changed: tuple[tuple[int, int], ...] = ()


def draw_code_diff(diff: str, name: str, *, dark: bool) -> Text | None:
    """The diff of one file; None for what is no unified diff, or too long."""
    lines = visible(diff).rstrip("\n").split("\n")
    hunks = list(_hunks(lines))
    if not hunks or len(lines) > MAX_NUMBERED:
        return None
    theme, lexer = "ansi_dark" if dark else "ansi_light", Syntax.guess_lexer(name or "x.txt", "")
    syntax = Syntax("", lexer, theme=theme, background_color="default")
    width = max(len(str(line.number)) for _, hunk in hunks for line in hunk) if any(hunk for _, hunk in hunks) else 1
    drawn = []
    for place, hunk in hunks:
        if len(lines) <= MAX_LINES:
            _colour(hunk, syntax.highlight)
            _mark(hunk)
        if len(hunks) > 1:
            drawn.append(Text().append(f"{'⋯':>{width}} {place}".rstrip(), "cyan"))
        drawn += [_drawn(line, width, dark=dark) for line in hunk]
    return Text("\n").join(drawn)


def _hunks(lines: Iterable[str]) -> Iterator[tuple[str, list[_Line]]]:
    """The hunks, each with the place that its head names (the function, where git found one)."""
    hunk: list[_Line] = []
    old = new = 0
    for line in lines:
        if head := _HUNK.match(line):
            old, new, hunk = int(head[1]), int(head[2]), []
            yield head[3], hunk  # it is filled while the others are read
        elif old + new and line[:1] in ("+", "-", " ", ""):
            sign = line[:1] or " "
            hunk.append(_Line(sign, old if sign == "-" else new, Text(line[1:])))
            old, new = old + (sign != "+"), new + (sign != "-")


def _colour(hunk: list[_Line], highlight: Callable[[str], Text]) -> None:
    """Colours of code, side by side: context belongs to the new side."""
    for signs in ("-", "+ "):
        side = [line for line in hunk if line.sign in signs]
        coloured = highlight("\n".join(line.text.plain for line in side)).split("\n", allow_blank=True)
        for line, text in zip(side, coloured, strict=False):
            if text.plain == line.text.plain:  # a lexer may leave out blank lines
                line.text = text


def _mark(hunk: list[_Line]) -> None:
    """Mark the words that differ between removed lines and the added ones behind them."""
    runs = [(sign, list(run)) for sign, run in groupby(hunk, key=lambda line: line.sign)]
    for (sign, before), (next_sign, after) in pairwise(runs):
        if (sign, next_sign) == ("-", "+"):
            for old, new in zip(before, after, strict=False):
                old.changed, new.changed = changed_words(old.text.plain, new.text.plain)


def changed_words(old: str, new: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Where two lines differ, in each of them; nowhere if they have too little in common."""
    if max(len(old), len(new)) > _MAX_WIDTH:
        return (), ()
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (), ()
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return _places(before, [(i, j) for _, i, j, _, _ in steps]), _places(after, [(i, j) for _, _, _, i, j in steps])


def _places(words: list[str], spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[first], starts[last]) for first, last in spans if last > first)


def _drawn(line: _Line, width: int, *, dark: bool) -> Text:
    ink = _INK[line.sign]
    drawn = Text().append(f"{line.number:>{width}} ", ink).append(line.sign, f"bold {ink}")
    text = line.text.copy()
    text.rstrip()
    if background := _BACKGROUND.get((dark, line.sign)):
        text.stylize(background)
    for start, end in line.changed:
        text.stylize("bold underline", start, end)
    return drawn.append_text(text)
