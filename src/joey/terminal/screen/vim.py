"""vim's keys in the input, for those who set `terminal.vim`: the everyday ones.

    insert --Esc--> normal --i a I A o O C c…--> insert
    normal: [count] h j k l w b 0 ^ $ gg G   move        x D dd dw db d0 d$, the same with c   delete, change
            u Ctrl+R   undo, redo            k on the first line and j on the last: earlier messages, as Up and Down

Enter sends in both. Esc in normal mode does what it does without vim: it interrupts Joey.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from textual.widgets import TextArea

NORMAL = "NORMAL"
_MAX_COUNT = 999
_WORD_END = "de"
"""What cw deletes: the word, and not the space behind it."""
_WORD = re.compile(r"\w+\s*|[^\w\s]+\s*|\s+")


class VimKeys:
    """The keys of one input. `look_back` is given `up` or `down` where there is no line to go to."""

    def __init__(self, area: TextArea, look_back: Callable[[str], object]) -> None:
        self._area = area
        self._look_back = look_back
        self._waiting = ""
        """An operator or a `g` that the next key completes."""
        self._count = ""
        self.is_normal = False
        self._subtitle = area.border_subtitle

    def took(self, key: str, character: str | None) -> bool:
        """Whether a key was vim's. In normal mode every character is."""
        if key == "escape" and not self.is_normal:
            self.set_normal(normal=True)
            return True
        if not self.is_normal:
            return False
        if key == "ctrl+r":
            self._area.action_redo()
            return True
        if not character or not character.isprintable():
            self._forget()
            return False
        self._typed(character)
        return True

    def set_normal(self, *, normal: bool) -> None:
        if normal and not self.is_normal:
            self._subtitle = self._area.border_subtitle
            row, column = self._area.cursor_location
            self._area.move_cursor((row, max(0, column - 1)))
        self.is_normal = normal
        self._area.border_subtitle = NORMAL if normal else self._subtitle
        self._forget()

    def _forget(self) -> None:
        self._waiting = self._count = ""

    def _typed(self, character: str) -> None:
        if character.isdecimal() and (character != "0" or self._count) and len(self._count) < 3:
            self._count += character
            return
        command = self._waiting + character
        if command in ("d", "c", "g"):
            self._waiting = command
            return
        times = min(int(self._count or 1), _MAX_COUNT)
        self._forget()
        self._do(command, times)

    def _do(self, command: str, times: int) -> None:
        changes = command[:1] == "c" and len(command) == 2
        same = f"d{command[1:].replace('c', 'd')}"
        step = self._steps().get(_WORD_END if command == "cw" else same if changes else command)
        if step is None:
            return
        for _ in range(times):
            step()
            if not changes and command not in _INSERTS:
                self._stand_on_character()
        if changes or command in _INSERTS:
            self.set_normal(normal=False)

    def _stand_on_character(self) -> None:
        """In normal mode the cursor is never behind the last character of a line."""
        row, column = self._area.cursor_location
        if column and column == len(self._area.document[row]):
            self._area.move_cursor((row, column - 1))

    def _steps(self) -> Mapping[str, Callable[[], object]]:
        area = self._area
        return {
            "h": area.action_cursor_left, "l": area.action_cursor_right,
            "j": lambda: self._vertical("down"), "k": lambda: self._vertical("up"),
            "w": lambda: area.move_cursor(self._next_word()), "b": area.action_cursor_word_left,
            "0": area.action_cursor_line_start, "^": area.action_cursor_line_start, "$": area.action_cursor_line_end,
            "gg": lambda: area.move_cursor((0, 0)), "G": lambda: area.move_cursor(area.document.end),
            "x": area.action_delete_right, "D": area.action_delete_to_end_of_line,
            "C": area.action_delete_to_end_of_line,
            "dd": area.action_delete_line, "dw": lambda: area.delete(area.cursor_location, self._word_end()),
            _WORD_END: area.action_delete_word_right,
            "db": area.action_delete_word_left,
            "d$": area.action_delete_to_end_of_line, "d0": area.action_delete_to_start_of_line,
            "u": area.action_undo,
            "i": lambda: None, "a": area.action_cursor_right,
            "I": area.action_cursor_line_start, "A": area.action_cursor_line_end,
            "o": self._open_below, "O": self._open_above,
        }  # fmt: skip

    def _next_word(self) -> tuple[int, int]:
        """Where the next word begins, if only in the next line."""
        row, end = self._word_end()
        is_last = end == len(self._area.document[row]) and row + 1 < self._area.document.line_count
        return (row + 1, 0) if is_last else (row, end)

    def _word_end(self) -> tuple[int, int]:
        """Where the word and the space behind it end."""
        row, column = self._area.cursor_location
        found = _WORD.match(self._area.document[row], column)
        return row, found.end() if found else len(self._area.document[row])

    def _vertical(self, key: str) -> None:
        row, _ = self._area.cursor_location
        if row == (0 if key == "up" else self._area.document.line_count - 1):
            self._look_back(key)
        else:
            (self._area.action_cursor_up if key == "up" else self._area.action_cursor_down)()

    def _open_below(self) -> None:
        self._area.action_cursor_line_end()
        self._area.insert("\n")

    def _open_above(self) -> None:
        self._area.action_cursor_line_start()
        self._area.insert("\n")
        self._area.action_cursor_up()


_INSERTS = ("i", "a", "I", "A", "o", "O", "C")
"""What ends in insert mode."""
