"""The menu below the transcript: what could be typed next. It holds every match and shows a window of them.

found --moved(by)--> the chosen one, in the middle of the window as far as there are others around it
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from joey.system.visible import one_line, visible
from joey.terminal.drawing import inked
from joey.terminal.fuzzy import ranked

ROWS = 8
"""How many matches are seen at a time."""
_WORD = re.compile(r"(?:^/|(?:(?<=\s)|^)@)(?:\\.|\S)*$")


def word_to_complete(before: str) -> str:
    """The command or mention that ends where the cursor is; empty if there is none."""
    found = _WORD.search(before)
    return found[0] if found else ""


def completions(word: str, candidates: Sequence[str]) -> list[str]:
    """The candidates that go on from the word, the best first. The word itself is not one of them."""
    if not word:
        return []
    known = [each[1:] for each in candidates if each[0] == word[0] and each != word]
    return [word[0] + each for each in ranked(word[1:], known)]


@dataclass(frozen=True, slots=True)
class Menu:
    """What would go on from what was typed, and which of it Enter takes (None: none yet; Tab takes the first)."""

    found: tuple[str, ...] = ()
    chosen: int | None = None

    def moved(self, by: int) -> Menu:
        at = (self.chosen + by) if self.chosen is not None else (0 if by > 0 else -1)
        return Menu(self.found, at % len(self.found))

    @property
    def best(self) -> str:
        """What Tab takes."""
        return self.found[self.chosen or 0]

    @property
    def window(self) -> range:
        """Which of them are seen."""
        first = max(0, min((self.chosen or 0) - ROWS // 2, len(self.found) - ROWS))
        return range(first, min(first + ROWS, len(self.found)))


def draw_menu(menu: Menu, hints: Mapping[str, str]) -> Text:
    """The window, one match a line. The chosen one is reversed, so that it is seen without colour, too."""
    width = max((cell_len(menu.found[at]) for at in menu.window), default=0)
    lines = []
    for at in menu.window:
        each = menu.found[at]
        name = visible(each) + " " * (width - cell_len(each))
        line = inked(f" {name} ", "reverse" if at == menu.chosen else "bold", cuts=True)
        lines.append(line.append(f" {one_line(hints.get(each, ''))}".rstrip(), "dim"))
    if len(menu.found) > ROWS:
        place = "" if menu.chosen is None else f"{menu.chosen + 1} of "
        lines.append(inked(f" {place}{len(menu.found)}; Up and Down show the others", "dim"))
    return Text("\n").join(lines)
