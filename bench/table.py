"""A table of strings, printed in columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Table:
    def __init__(self, title: str, columns: list[str]) -> None:
        self.title = title
        self._rows = [columns]

    def add(self, *cells: str) -> None:
        assert len(cells) == len(self._rows[0]), "a row has as many cells as the table has columns"
        self._rows.append(list(cells))

    def numbers(self, rows: re.Pattern[str], columns: Sequence[str]) -> Iterator[float]:
        """The figures in these columns of the rows whose names match; a cell of words has none."""
        places = [self._rows[0].index(column) for column in columns]
        for row in self._rows[1:]:
            if rows.fullmatch(row[0]):
                found = (_NUMBER.match(row[place]) for place in places)
                yield from (float(number.group().replace(",", "")) for number in found if number)

    @property
    def widths(self) -> list[int]:
        return [max(map(len, column)) for column in zip(*self._rows, strict=True)]

    def __str__(self) -> str:
        return self.drawn(self.widths)

    def drawn(self, widths: list[int]) -> str:
        lines = [
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=False))
            )
            for row in self._rows
        ]
        return "\n".join([self.title, lines[0], "-" * len(lines[0]), *lines[1:]])


def together(tables: Sequence[Table]) -> str:
    """The tables as parts of one, with columns of the same widths."""
    widths = [max(column) for column in zip_longest(*(table.widths for table in tables), fillvalue=0)]
    return "\n\n".join(table.drawn(widths) for table in tables)
