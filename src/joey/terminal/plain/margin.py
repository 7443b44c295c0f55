"""What others wrote, behind a bar: no row of it begins where Joey's own lines begin.

    ? Approval required: execute_command        Joey
      | command: echo hi                        what the model wants to run, each row of it
    | I will look at it.                        words of the model
    Approve? [y]es, …                           Joey

A model could otherwise write what looks like the end of one request and the beginning of another. A terminal wraps a
long line to its first column, so on a terminal of a known width the rows are made here.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells
from rich.text import Text

BAR = "| "
INDENT = "  "
BELOW = INDENT + BAR
"""What stands before words of others that belong to a call or a request,"""
WRAPPED = INDENT + "↪ "
"""and before what continues a line of them."""


class Margin:
    """A text that comes in pieces, behind a mark."""

    def __init__(self, mark: str, width: int | None) -> None:
        """`width` is that of the terminal; None where nothing wraps."""
        self._mark = mark
        self._width = max(len(mark) + 2, width) if width else None
        self._column = 0

    @property
    def is_open(self) -> bool:
        """Whether the last row has not ended."""
        return self._column > 0

    def add(self, text: str) -> str:
        first, *others = text.split("\n")
        rows = [self._row(first, ends=bool(others))]
        for number, line in enumerate(others, 1):
            self._column = 0
            rows.append(self._row(line, ends=number < len(others)))
        return "\n".join(rows)

    def _row(self, piece: str, *, ends: bool) -> str:
        if not piece:
            return self._mark.rstrip() if ends and not self._column else ""
        start = "" if self._column else self._mark
        self._column = self._column or len(self._mark)
        if self._width is None or self._column + cell_len(piece) <= self._width:
            self._column += cell_len(piece)
            return start + piece
        return start + self._wrapped(piece, self._width)

    def _wrapped(self, piece: str, width: int) -> str:
        room = width - len(self._mark)
        head = chop_cells(piece, width - self._column)[0] if self._column + 2 <= width else ""
        rows = [head, *chop_cells(piece[len(head) :], room)]
        self._column = len(self._mark) + cell_len(rows[-1])
        return f"\n{self._mark}".join(rows)


def behind(text: Text, first: str, others: str, width: int | None, *, wrapped: str = "") -> Text:
    """A whole text: the first row behind one mark, the others behind another; the rows that continue a line behind
    `wrapped`, if that is given, so that no end of a line looks like a wrap, and no wrap like the end of a line."""
    rows, marks = [], [first]
    for line in text.split("\n", allow_blank=True):
        chopped = list(_chopped(line, first, others, width))
        rows += chopped
        marks += [*[wrapped or others] * (len(chopped) - 1), others]
    marks = marks[: len(rows)]
    drawn = [Text(mark if row.plain else mark.rstrip()).append_text(row) for mark, row in zip(marks, rows, strict=True)]
    return Text("\n").join(drawn)


def _chopped(line: Text, first: str, others: str, width: int | None) -> Iterator[Text]:
    room = width - max(len(first), len(others)) if width else None
    if room is None or line.cell_len <= room:
        yield line
        return
    offset, places = 0, []
    for row in chop_cells(line.plain, max(2, room)):
        offset += len(row)
        places.append(offset)
    yield from line.divide(places[:-1])
