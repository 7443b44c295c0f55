"""What a person would have seen: a stream of terminal output as lines of text.

Programs draw: a progress bar returns to the start of its line and writes over it, a spinner steps back over one
character, colours come and go. This keeps the last rows in memory as a terminal keeps its screen, applies what the
stream says, and gives away rows as plain text once they have scrolled off.

    plain text       written at the cursor, over what is there
    \\n               next row, first column (as on a terminal in its usual mode); \\r first column; \\b one column back
    ESC [ n A..G     cursor moves up, down, right, left, by rows or to a column, within the rows kept
    ESC [ n K        erase in the row; ESC [ 0 J erase below; ESC [ 2 J the screen scrolls off, nothing is lost
    ESC [ .. m       colours: kept with the columns that are written in them, if they are wanted
    other sequences  (titles, modes) and other control characters have no look, and go

A row has one character for each column. A wide one (世, 👋) takes two columns: the second is a mark that no text has,
and nobody sees. What is written over one half of it blanks the other. A combining character takes a column, too.

Rows that grow beyond a limit scroll off early, so that memory is bounded whatever comes. Not handled: programs
that take over the whole screen (editors, pagers).

How the stream is cut into chunks changes nothing: half a sequence waits for its other half.
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

from joey.tools.shell.colours import PLAIN, Pen

ROWS = 50
_MAX_SCREEN = 64 * 1024
_MAX_SEQUENCE = 4 * 1024
_MAX_COLUMN = 2_000
_SECOND_HALF = "\x00"
_MAYBE_WIDE = re.compile("[\u1100-\U0010ffff]")

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x08\x0a-\x1f\x7f\x80-\x9f]+)"
    r"|\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # a title, or another string for the terminal itself
    r"|\x1b[ -/]*[0-Z\\^-~]"
    r"|(?P<control>[\x00-\x1f\x7f\x80-\x9f])"
)
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)|\r)\Z")
_NEEDS_CARE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class TerminalScreen:
    """Feed it text; it returns what has scrolled off. `visible` is the rest, as it looks now. Both have no colours
    unless those are wanted."""

    def __init__(self, *, colours: bool = False) -> None:
        self._pen, self._colours = Pen(), colours
        self._rows = [""]
        self._looks = [""]
        """The colours of each row, see `Pen.painted`."""
        self._row = 0
        self._column = 0
        self._carry = ""

    @property
    def visible(self) -> str:
        """The rows still on the screen. All but the last are complete lines."""
        return "\n".join(map(self._seen, self._rows, self._looks))

    def _seen(self, row: str, looks: str) -> str:
        return self._pen.painted(row, looks).replace(_SECOND_HALF, "")

    def _clear(self) -> None:
        self._rows, self._looks, self._row, self._column = [""], [""], 0, 0

    def feed(self, text: str) -> str:
        """Take in the next piece of the stream, give back what has scrolled off by it."""
        text, self._carry = self._carry + text, ""
        if unfinished := _UNFINISHED.search(text, max(0, len(text) - _MAX_SEQUENCE)):
            self._carry, text = text[unfinished.start() :], text[: unfinished.start()]
        text = text.replace("\r\n", "\n")
        if self._at_end and not self._is_coloured and not _NEEDS_CARE.search(text):
            return self._append(text)
        return "".join(self._draw(text))

    def finish(self) -> str:
        """The stream has ended: everything that is left."""
        rest = self.visible
        self._clear()
        self._carry = ""
        return rest

    @property
    def _at_end(self) -> bool:
        """Whether the cursor stands behind the last character: then plain text is simply appended."""
        return self._row == len(self._rows) - 1 and self._column == len(self._rows[-1])

    @property
    def _is_coloured(self) -> bool:
        return self._pen.look != PLAIN or any(self._looks)

    def _append(self, text: str) -> str:
        """Plain text at the end, the common case: only the rows that stay are taken apart."""
        text = "\n".join(self._rows) + _columns(text)
        start = len(text)
        for _ in range(ROWS):
            start = text.rfind("\n", 0, start)
            if start < 0:
                break
        self._rows = text[start + 1 :].split("\n")
        self._looks = [""] * len(self._rows)
        self._row, self._column = len(self._rows) - 1, len(self._rows[-1])
        return text[: start + 1].replace(_SECOND_HALF, "") + self._scroll_off()

    def _draw(self, text: str) -> list[str]:
        gone = []
        for token in _TOKEN.finditer(text):
            if token["text"]:
                self._write(token["text"])
            elif token["final"]:
                gone.append(self._sequence(token["numbers"], token["final"]))
            elif token["control"]:
                self._control(token["control"])
            if len(self._rows) > ROWS:
                gone.append(self._scroll_off())
        gone.append(self._scroll_off())
        return gone

    def _write(self, text: str) -> None:
        row, text = self._rows[self._row], _columns(text)
        if self._column > len(row):
            row += " " * (self._column - len(row))
        before, after = row[: self._column], row[self._column + len(text) :]
        if row[self._column : self._column + 1] == _SECOND_HALF:
            before = f"{before[:-1]} "
        if after.startswith(_SECOND_HALF):
            after = f" {after[1:]}"
        self._rows[self._row] = before + text + after
        self._paint(len(text))
        self._column += len(text)

    def _paint(self, count: int) -> None:
        looks = self._looks[self._row]
        if looks or self._pen.look != PLAIN:
            before, after = looks[: self._column].ljust(self._column, PLAIN), looks[self._column + count :]
            self._looks[self._row] = before + self._pen.look * count + after

    def _control(self, character: str) -> None:
        if character == "\n":
            self._column = 0
            self._row += 1
            if self._row == len(self._rows):
                self._rows.append("")
                self._looks.append("")
        elif character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)

    def _sequence(self, numbers: str, final: str) -> str:
        count = _first_number(numbers)
        if final in "ABEF":
            self._move_rows(-(count or 1) if final in "AF" else (count or 1))
            self._column = 0 if final in "EF" else self._column
        elif final in "CD":
            step = (count or 1) if final == "C" else -(count or 1)
            self._column = min(max(0, self._column + step), _MAX_COLUMN)
        elif final == "G":
            self._column = min(max(0, (count or 1) - 1), _MAX_COLUMN)
        elif final == "K":
            self._erase_in_row(count or 0)
        elif final == "J":
            return self._erase_screen(count or 0)
        elif final == "m" and self._colours:
            self._pen.select(numbers)
        return ""

    def _move_rows(self, step: int) -> None:
        self._row = min(max(0, self._row + step), len(self._rows) - 1)

    def _erase_in_row(self, how: int) -> None:
        row = self._rows[self._row]
        if how == 0:
            self._rows[self._row] = row[: self._column]
            self._looks[self._row] = self._looks[self._row][: self._column]
        elif how == 1:
            self._rows[self._row] = " " * min(self._column + 1, len(row)) + row[self._column + 1 :]
        elif how == 2:
            self._rows[self._row] = self._looks[self._row] = ""

    def _erase_screen(self, how: int) -> str:
        if how == 0:
            self._erase_in_row(0)
            del self._rows[self._row + 1 :], self._looks[self._row + 1 :]
            return ""
        if how not in (2, 3) or self._rows == [""]:
            return ""
        gone = self.visible + "\n"
        self._clear()
        return gone

    def _scroll_off(self) -> str:
        """Give away what no longer fits: the uppermost rows, and everything if there is too much in the rest."""
        surplus = max(0, len(self._rows) - ROWS)
        gone = "".join(f"{self._seen(*each)}\n" for each in zip(self._rows[:surplus], self._looks, strict=False))
        del self._rows[:surplus], self._looks[:surplus]
        self._row = max(0, self._row - surplus)
        if sum(map(len, self._rows)) <= _MAX_SCREEN:
            return gone
        gone += self.visible
        self._clear()
        return gone


def _columns(text: str) -> str:
    """The text with a mark behind each wide character."""
    return text if text.isascii() else _MAYBE_WIDE.sub(_in_columns, text)


def _in_columns(found: re.Match[str]) -> str:
    return found[0] + _SECOND_HALF if east_asian_width(found[0]) in "WF" else found[0]


def _first_number(numbers: str) -> int | None:
    digits = numbers.partition(";")[0]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else None


def as_seen(text: str) -> str:
    """A whole stream as a person would have seen it in the end."""
    screen = TerminalScreen()
    return screen.feed(text) + screen.finish()
