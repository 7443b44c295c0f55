"""A long entry on the screen, laid out where it is looked at: unfolding 30,000 lines of a log must not stop the screen.

    drawn --cut--> pieces of some hundred lines --count_rows--> the height --strip(y)--> one piece laid out

How many rows a piece of text has is counted without drawing it, once for each width that the layout tries: only lines
that are wider than the screen are wrapped, and those with words of usual letters and length by jumping from row to row.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, islice

from rich._wrap import divide_line
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from joey.terminal.quoted import Quoted
from joey.terminal.screen.places import Marked, plain

PIECE = 500
"""How many lines are laid out at once. An entry of more than two pieces is a tall one."""
_TAB = 8
_WIDTHS = 2
"""For so many widths the rows are remembered: with and without a bar to scroll with."""


@dataclass(slots=True)
class Tall:
    """The pieces of an entry, one above the other, and which rows they fill at the width they were laid out for."""

    pieces: list[RenderableType]
    _counted: dict[int, list[int]] = field(default_factory=dict)
    _ends: list[int] = field(default_factory=list)

    def find(self, pattern: re.Pattern[str], nth: int) -> Tall:
        """The same with the words marked, and one place of them more than the others."""
        pieces: list[RenderableType] = []
        for piece in self.pieces:
            count = sum(1 for _ in pattern.finditer(plain(piece)))
            pieces.append(Marked(piece, pattern, nth if 0 <= nth < count else -1) if count else piece)
            nth -= count
        return Tall(pieces)

    def height(self, width: int, console: Console, options: ConsoleOptions) -> int:
        """How many rows it fills at this width, which is that of the layout from now on."""
        ends = self._counted.pop(width, None)
        if ends is None:
            ends = [*accumulate(count_rows(piece, width, console, options) for piece in self.pieces)]
        self._counted = {**dict([*self._counted.items()][1 - _WIDTHS :]), width: ends}
        self._ends = ends
        return ends[-1]

    def piece_at(self, y: int) -> tuple[int, int]:
        """Which piece has this row, and which of its rows it is."""
        at = bisect_right(self._ends, y)
        return at, y - (self._ends[at - 1] if at else 0)

    def found_row(self, console: Console, options: ConsoleOptions) -> int:
        """The row of the place that is marked more than the others."""
        self.height(options.max_width, console, options)
        for at, piece in enumerate(self.pieces):
            if isinstance(piece, Marked) and piece.nth >= 0:
                return (self._ends[at - 1] if at else 0) + piece.row(console, options)
        return 0


def tall(drawn: RenderableType) -> Tall | None:
    """What is drawn, in pieces, if it is long."""
    pieces = list(_cut(drawn)) if _is_long(drawn) else []
    return Tall(pieces) if pieces else None


def _is_long(drawn: RenderableType) -> bool:
    match drawn:
        case Text():
            return drawn.plain.count("\n") > 2 * PIECE
        case Group():
            return any(map(_is_long, drawn.renderables))
        case Padding():
            return _is_long(drawn.renderable)
        case Quoted():
            return _is_long(drawn.words)
    return False


def _cut(drawn: RenderableType) -> Iterator[RenderableType]:
    match drawn:
        case Text():
            yield from _texts(drawn)
        case Group():
            for each in drawn.renderables:
                yield from _cut(each)
        case Padding():
            inner = list(_cut(drawn.renderable))
            for at, piece in enumerate(inner):
                above, below = 0 if at else drawn.top, 0 if at + 1 < len(inner) else drawn.bottom
                yield Padding(piece, (above, drawn.right, below, drawn.left))
        case Quoted():
            for at, piece in enumerate(_cut(drawn.words)):
                yield replace(drawn, words=piece, first=drawn.others) if at else replace(drawn, words=piece)
        case _:
            yield drawn


def _texts(text: Text) -> Iterator[Text]:
    """The text in pieces of so many lines."""
    line_ends = (found.end() for found in re.finditer("\n", text.plain))
    for piece in text.divide(islice(line_ends, PIECE - 1, None, PIECE)):
        piece.remove_suffix("\n")
        yield piece


def count_rows(drawn: RenderableType, width: int, console: Console, options: ConsoleOptions) -> int:
    """How many rows something fills."""
    match drawn:
        case Text():
            return sum(_rows_of(line, width, wraps=not drawn.no_wrap) for line in drawn.plain.split("\n"))
        case Padding():
            inner = count_rows(drawn.renderable, width - drawn.left - drawn.right, console, options)
            return drawn.top + inner + drawn.bottom
        case Quoted():
            mark = max(cell_len(drawn.first), cell_len(drawn.others))
            return count_rows(drawn.words, max(1, width - mark), console, options)
        case Marked():
            return count_rows(drawn.drawn, width, console, options)
    return len(console.render_lines(drawn, options.update(width=width, height=None), pad=False))


def _rows_of(line: str, width: int, *, wraps: bool) -> int:
    if not wraps:
        return 1
    if line.isascii():
        return _rows_of_letters(line.expandtabs(_TAB) if "\t" in line else line, width)
    if "\t" in line:
        text = Text(line)
        text.expand_tabs(_TAB)
        line = text.plain
    return 1 if cell_len(line) <= width else len(divide_line(line, width)) + 1


def _rows_of_letters(line: str, width: int) -> int:
    """The same where each character is as wide as the others. A row ends before the first word that does not fit; a
    word that is longer than a row, which is cut, is left to Rich."""
    if len(line) <= width:
        return 1
    first = _FIRST_WORD.match(line)
    if (first and first.end() > width) or _longer_word(width).search(line):
        return len(divide_line(line, width)) + 1
    begins, end, rows = 0, len(line.rstrip()), 1
    while end - begins > width:
        over = begins + width
        if line[over] == " " or line[over - 1] == " ":
            begins = over + len(line[over:]) - len(line[over:].lstrip())
        else:
            begins = line.rfind(" ", begins, over) + 1
        rows += 1
    return rows


_FIRST_WORD = re.compile(r"\s*\S*")
"""With the blanks before it, which are a part of it."""


@lru_cache(maxsize=2 * _WIDTHS)
def _longer_word(width: int) -> re.Pattern[str]:
    """Finds a word that is longer than a row."""
    return re.compile(rf"\S{{{width + 1}}}")
