"""A terminal for tests of plain lines: a stream that says it is one, and what stands on it in the end."""

from __future__ import annotations

import io
import re

_PIECE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b[78]|.|\n", re.DOTALL)


class Screen(io.StringIO):
    """A terminal, as far as a stream can tell."""

    def isatty(self) -> bool:
        return True

    @property
    def rows(self) -> list[str]:
        """What stands on it, with the codes that plain lines use carried out; nothing is wrapped."""
        rows, row, column, kept = [""], 0, 0, 0
        for piece in _PIECE.findall(self.getvalue()):
            match piece:
                case "\n":
                    row, column = row + 1, 0
                    rows += [""] * (row == len(rows))
                case "\r":
                    column = 0
                case "\x1b7":
                    kept = column
                case "\x1b8":
                    column = kept
                case "\x1b[2K":
                    rows[row] = ""
                case "\x1b[1A":
                    row -= 1
                case _ if len(piece) == 1:
                    rows[row] = rows[row].ljust(column)[:column] + piece + rows[row][column + 1 :]
                    column += 1
        return [line.rstrip() for line in rows]
