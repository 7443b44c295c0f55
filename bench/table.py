"""A table of strings, printed in columns."""

from __future__ import annotations


class Table:
    def __init__(self, title: str, columns: list[str]) -> None:
        self.title = title
        self._rows = [columns]

    def add(self, *cells: str) -> None:
        assert len(cells) == len(self._rows[0]), "a row has as many cells as the table has columns"
        self._rows.append(list(cells))

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in self._rows
        ]
        return "\n".join([self.title, lines[0], "-" * len(lines[0]), *lines[1:]])
